#include "read/traceback.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "read/context.h"

namespace oomdoctor {
namespace {

constexpr int max_lines = 200;
constexpr std::size_t max_frames = 64;
constexpr std::size_t min_frames = 2;  ///< fewer frames do not show the place of the failure
constexpr int max_gap = 14;  ///< max lines between two frames: one statement over several lines, with its markers

/// `File "train.py", line 97, in train_step`.
std::optional<Frame> python_frame(std::string_view s) {
  const std::size_t file = s.find("File \"");
  const std::size_t close = file == s.npos ? s.npos : s.find("\", line ", file + 6);
  if (close == s.npos) return std::nullopt;
  Frame frame;
  frame.file = std::string(s.substr(file + 6, close - file - 6));
  frame.line = leading_integer(s.substr(close + 8));
  if (s.find_first_not_of("0123456789", close + 8) == s.find(" in ", close + 8)) return std::nullopt;  // faulthandler's
  const std::size_t in = s.find(", in ", close);
  if (in != s.npos) frame.function = std::string(trimmed(s.substr(in + 5)));
  return frame;
}

/// IPython: `/path/norm_act.py in forward(self, x)`, `File /path/x.py:136, in forward(self)`, `Cell In[3], line 4`,
/// `<ipython-input-9-41fe22507abc> in train(epoch)`.
std::optional<Frame> ipython_frame(std::string_view s) {
  constexpr std::string_view cell_of = "Cell In[", line_of = "], line ";
  if (const std::size_t close = s.find(line_of); s.starts_with(cell_of) && close != s.npos) {
    Frame frame;
    frame.file = std::string(s.substr(0, close + 1));
    frame.line = leading_integer(s.substr(close + line_of.size()));
    return frame;
  }
  const std::size_t in = s.find(" in ");
  if (in == s.npos) return std::nullopt;
  std::string_view place = s.substr(0, in);
  if (place.starts_with("File ")) place.remove_prefix(5);
  if (const std::size_t link = place.find("](http"); place.starts_with('[') && link != place.npos)
    place = place.substr(1, link - 1);  // Colab's links
  const std::size_t py = place.find(".py");
  const bool cell = place.starts_with("<ipython-input-") && place.ends_with('>');
  if (!cell && (py == place.npos || place.find_first_of("/\\") == place.npos || place.find('"') != place.npos ||
                place.find(' ') < py))
    return std::nullopt;
  const std::size_t end =
      cell ? place.size() : std::min(place.find_first_not_of("pyx", py + 1), place.size());  // Cython's are .pyx
  Frame frame;
  frame.file = std::string(place.substr(0, end));
  std::string_view number = place.substr(end);
  if (number.starts_with(':')) {
    number.remove_prefix(1);
    frame.line = leading_integer(number);
    number.remove_prefix(std::min(number.find_first_not_of("0123456789"), number.size()));
  }
  if (number.starts_with(": ")) return std::nullopt;  // a warning: "x.py:624: UserWarning: 12 processes in total"
  const std::string_view rest = s.substr(in + 4);
  frame.function = std::string(rest.substr(0, std::min(rest.find('('), rest.size())));
  return frame;
}

/// `---> 136         x = F.batch_norm(`: the current line in IPython's listing.
bool arrow_line(std::string_view s, Frame& frame) {
  const std::size_t arrow = s.find("-> ");
  if (arrow == s.npos || s.substr(0, arrow).find_first_not_of('-') != s.npos) return false;
  std::string_view rest = trimmed(s.substr(arrow + 3));
  i64 line = 0;
  const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), line).ptr;
  if (line <= 0) return false;
  frame.line = line;
  frame.code = std::string(trimmed(rest.substr(static_cast<std::size_t>(end - rest.data()))));
  return true;
}

bool is_marker(std::string_view s) { return s.find_first_not_of("~^ ") == s.npos; }

/// The content of a line in the box that Rich draws around a traceback; nullopt outside of it. Its arrow becomes that
/// of IPython, and the guides of the indentation become blanks.
std::optional<std::string> unboxed(std::string_view body) {
  static constexpr std::string_view bar = "│", arrow = "❱";
  std::string_view inside = trimmed(body);
  if (!inside.starts_with(bar)) return std::nullopt;
  inside.remove_prefix(bar.size());
  if (inside.ends_with(bar)) inside.remove_suffix(bar.size());
  std::string text(trimmed(inside));
  if (text.starts_with(arrow)) text.replace(0, arrow.size(), "->");
  for (std::size_t at = text.find(bar); at != text.npos; at = text.find(bar, at)) text.replace(at, bar.size(), " ");
  return text;
}

/// True for the last line of a traceback, "torch.OutOfMemoryError: …". Later lines belong to another one.
bool ends_traceback(std::string_view body) {
  const std::size_t colon = body.find(": ");
  if (colon == body.npos) return false;
  const std::string_view name = body.substr(0, colon);
  const bool word = std::all_of(name.begin(), name.end(), is_dotted_name_char);
  return word && (name.ends_with("Error") || name.ends_with("Exception"));
}

/// A statement of Python that calls something: "denom = (v.sqrt() / c).add_(eps)", "return F.linear(x, w)". A sentence
/// has a blank before a parenthesis.
bool is_statement(std::string_view s) {
  const std::size_t open = s.find('(');
  if (open == s.npos || !s.ends_with(')') || s.find(": ") != s.npos) return false;
  std::string_view head = s.substr(0, s.find_first_of(" ("));
  if (head == "return") return s.find_first_of('(', 7) != s.npos && is_word_char(s[open - 1]);
  if (head.empty() || is_digit(head[0]) || !std::all_of(head.begin(), head.end(), is_dotted_name_char)) return false;
  std::string_view rest = s.substr(head.size());
  if (rest.starts_with('(')) return head.find('.') != head.npos;
  if (!rest.starts_with(" = ")) return false;
  for (std::size_t at = open; at != s.npos; at = s.find('(', at + 1))
    if (at > 0 && is_word_char(s[at - 1])) return true;
  return false;
}

/// Walks up from the message to the outermost frame. The code of a frame is on the line after it, so the walk meets it
/// first.
std::vector<Frame> frames_above(const Cursor& cursor) {
  std::vector<Frame> found;  // innermost first
  Frame arrow;
  std::string code, code_line;  // the statement, and its whole line
  int gap = 0;
  bool marked_above = false;  // TorchScript marks the statement among its neighbours, in the line below it
  bool statement = false;     // `code` is that statement
  bool no_grad = false;       // in the lines of the frame whose head comes next
  std::string below;          // the line below in a box, which wraps a long place
  // A logger's line does not end a traceback that Python printed: it belongs to another exception.
  const bool dated = cursor.line().prefix.time.has_value();
  cursor.backward(max_lines, [&](const Line& line) {
    const std::optional<std::string> boxed = unboxed(line.body());
    const std::string_view s = boxed ? std::string_view(*boxed) : trimmed(line.body());
    auto frame = python_frame(s);
    bool ipython = !frame && (frame = ipython_frame(s)).has_value();
    if (boxed && !frame && s.starts_with('/'))
      ipython =
          (frame = ipython_frame(std::string(s) + below)) || (frame = ipython_frame(std::string(s) + ' ' + below));
    if (boxed) below = s;
    if (frame) {
      if (ipython && arrow.line > 0) frame->line = arrow.line, frame->code = arrow.code;
      // A logger's columns are on the line of the statement as well, which Python indents by two more.
      const std::size_t margin = line.body().find("File \"");
      if (!ipython && s[0] != 'F' && margin < code_line.size() && code_line.compare(margin, 2, "  ") == 0)
        code = std::string(trimmed(std::string_view(code_line).substr(margin)).substr(0, 200));
      if (!ipython) frame->code = code;
      frame->library = is_library_file(frame->file);
      frame->no_grad = std::exchange(no_grad, false);
      found.push_back(std::move(*frame));
      arrow = {};
      code.clear(), code_line.clear();
      marked_above = statement = false;
      gap = 0;
      return found.size() < max_frames;
    }
    if (s.find("Traceback (most recent call last)") != s.npos) return found.empty();
    if (found.empty() && dated && !line.prefix.time && ends_traceback(s)) return false;
    Frame marked;
    if (arrow_line(s, marked)) arrow = marked;
    no_grad |= s.find(".no_grad()") != s.npos || s.find(".inference_mode()") != s.npos;
    const bool marks = s.starts_with('~') && s.ends_with("<--- HERE");
    // The source of the frame above may be missing; the exception itself is not its statement.
    const bool ends = !boxed && !line.body().starts_with(' ') && ends_traceback(s);
    if (ends) code.clear(), code_line.clear();
    if (!s.empty() && !is_marker(s) && !marks && !statement && !ends) {
      code = std::string(s.substr(0, 200));
      code_line = boxed ? std::string() : std::string(line.body());
      statement = marked_above;
    }
    marked_above = marks;
    return boxed || ++gap <= max_gap;
  });
  std::reverse(found.begin(), found.end());
  return found;
}

/// The frames of a traceback in the line of the message. A launcher printed it as a Python list of lines, or a logger
/// as a JSON string, in which each quote has a backslash as well:
/// ['Traceback (most recent call last):\n', '  File "train.py", line 9, in step\n    y = model(x)\n', …]
std::vector<Frame> frames_in_line(std::string_view body) {
  constexpr std::string_view newline = "\\n";
  std::vector<Frame> found;
  std::size_t at = body.find("Traceback (most recent call last):\\n");
  if (at == body.npos) return found;
  std::string unquoted;
  if (body.find("File \\\"", at) != body.npos) {
    for (std::size_t i = at; i < body.size(); ++i)
      if (body[i] != '\\' || i + 1 >= body.size() || body[i + 1] != '"') unquoted += body[i];
    body = unquoted, at = 0;
  }
  while ((at = body.find("File \"", at)) != body.npos && found.size() < max_frames) {
    const std::size_t end = body.find(newline, at);
    auto frame = end == body.npos ? std::nullopt : python_frame(body.substr(at, end - at));
    if (!frame) break;
    const std::string_view rest = body.substr(end + newline.size());
    if (rest.starts_with(' '))
      frame->code = std::string(trimmed(rest.substr(0, std::min<std::size_t>(rest.find(newline), 200))));
    frame->library = is_library_file(frame->file);
    found.push_back(std::move(*frame));
    at = end;
  }
  return found;
}

/// True for a line with a word of a failure, of what a program does about it, or of a heading: such a line is still
/// about the failure above it.
bool speaks_of_failure(std::string_view body) {
  static constexpr std::array<std::string_view, 22> words{
      "error", "exception", "fail",  "memory", "oom",  "trace", "abort", "exit", "kill", "stack", "crash",
      "stop",  "terminat",  "clean", "shut",   "warn", "http",  "see ",  "try ", "hint", "rank",  "---"};
  const std::string lowered = lower(trimmed(body));
  return lowered.empty() || lowered.ends_with(':') ||
         std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lowered.find(word) != lowered.npos; });
}

/// True for the last line of a traceback that is about no failure of memory, nor of the GPU.
bool names_other_exception(std::string_view body) {
  static constexpr std::array<std::string_view, 6> related{"emory", "CUDA", "HIP", "RuntimeError", "XLA", "alloc"};
  return ends_traceback(body) &&
         std::none_of(related.begin(), related.end(), [&](auto word) { return body.find(word) != body.npos; });
}

/// Walks down from the message. A traceback below must start within four lines, and no work between.
std::vector<Frame> frames_below(const Cursor& cursor) {
  std::vector<Frame> found;
  int gap = 0, lines = 0;
  bool ended = false;                 // otherwise the log ends within the traceback
  bool stripped = false;              // a wrapper printed the lines without their indentation
  std::optional<std::size_t> margin;  // width of the logger's prefix, which is on every line of the traceback
  cursor.forward(max_lines, [&](const Line& line) {
    ++lines;
    if (!margin) {
      const std::size_t begin = line.body().find("Traceback (most recent call last)");
      if (begin != std::string_view::npos) margin = begin;
      return margin || (++gap < 4 && speaks_of_failure(line.body()));
    }
    const std::string_view body = line.body().substr(std::min(*margin, line.body().size()));
    const std::string_view s = trimmed(body);
    if (auto frame = python_frame(s)) {
      frame->library = is_library_file(frame->file);
      found.push_back(std::move(*frame));
      stripped |= body.starts_with("File \"");
      gap = 0;
    } else if (stripped && found.back().code.empty() && !s.empty() && !ends_traceback(s)) {
      found.back().code = std::string(s.substr(0, 200));
    } else if (!body.starts_with(' ') && !body.starts_with('\t')) {
      if (names_other_exception(s)) found.clear();
      ended = true;
      return false;  // the exception itself
    } else if (!found.empty() && found.back().code.empty() && !is_marker(s)) {
      found.back().code = std::string(s.substr(0, 200));
    }
    ended = found.size() >= max_frames || ++gap > max_gap;
    return !ended;
  });
  if (!ended && lines < max_lines)
    for (Frame& frame : found) frame.outer = true;
  return found;
}

/// "ray::Worker.update() (pid=91987, ip=…": Ray's own first line of the traceback of a task.
bool is_task_header(std::string_view s) {
  const std::size_t task = s.find("ray::");
  return task != s.npos && s.find("(pid=", task) != s.npos;
}

/// The processes of a job fail at the same place and write over each other's output. So frames after the message,
/// without their own header or with another rank's tag, show the place of this failure as well. So does a traceback
/// that follows the message at once and that the end of the log cuts: it belongs to the next process, and shows only
/// the way to that place.
std::vector<Frame> frames_of_siblings(const Cursor& cursor) {
  constexpr int max_sibling_lines = 60, max_sibling_gap = 4;
  const std::optional<int> own_rank = cursor.line().prefix.rank;
  std::vector<Frame> found;
  int gap = 0, lines = 0;
  bool header = false, must_be_cut = false, ended = false;
  cursor.forward(max_sibling_lines, [&](const Line& line) {
    ++lines;
    const std::string_view s = trimmed(line.body());
    if (s.find("Traceback (most recent call last)") != s.npos || is_task_header(s)) {
      header = true;
      if (line.prefix.rank && own_rank != line.prefix.rank) return true;
      must_be_cut = found.empty() && gap == 0;
      return must_be_cut;
    }
    if (auto frame = python_frame(s)) {
      frame->library = is_library_file(frame->file);
      found.push_back(std::move(*frame));
      gap = 0;
      return found.size() < max_frames;
    }
    const bool last = ends_traceback(s);
    if (last && s.find("emory") == s.npos) found.clear();  // of another exception
    if (header && !found.empty() && found.back().code.empty() && !last && !is_marker(s))
      found.back().code = std::string(s.substr(0, 200));
    ended = last || ++gap > max_sibling_gap;
    return !ended;
  });
  if (must_be_cut && (ended || found.size() < min_frames)) found.clear();
  const bool own_is_cut = !header && !ended && lines < max_sibling_lines && found.size() < max_frames;
  for (Frame& frame : found) frame.outer = must_be_cut || own_is_cut;
  return found;
}

/// The traceback of another rank that begins right after the message: the ranks of a job do the same work, so it shows
/// where this one was too. Only where the end of the log cuts it, or where it ends with a failure of memory as well.
std::vector<Frame> frames_of_other_rank(const Cursor& cursor) {
  constexpr int max_distance = 3;
  if (!cursor.line().prefix.rank) return {};
  std::vector<Frame> found;
  std::optional<int> rank;
  int before = 0, lines = 0;
  bool ended = false, alike = false;
  cursor.forward_all(max_lines, [&](const Line& line) {
    ++lines;
    const std::string_view body = line.body(), s = trimmed(body);
    if (!rank) {
      const bool header = s.find("Traceback (most recent call last)") != s.npos;
      if (header && line.prefix.rank && line.prefix.rank != cursor.line().prefix.rank) rank = line.prefix.rank;
      return rank.has_value() || ++before < max_distance;
    }
    if (line.prefix.rank != rank) return true;
    if (auto frame = python_frame(s)) {
      frame->library = is_library_file(frame->file);
      found.push_back(std::move(*frame));
    } else if (ends_traceback(s)) {
      ended = true;
      alike = s.find("emory") != s.npos;
    } else if (!found.empty() && found.back().code.empty() && !is_marker(s)) {
      found.back().code = std::string(s.substr(0, 200));
    }
    ended |= found.size() >= max_frames;
    return !ended;
  });
  const bool cut = !ended && lines < max_lines;
  if (found.size() < min_frames || (!cut && !alike)) return {};
  for (Frame& frame : found) frame.outer = cut;
  return found;
}

/// A library's thread fails without the user's frames. They are in the exception that was raised while this one was
/// handled, above the statement that raises it.
std::vector<Frame> frames_of_handler(const Cursor& cursor) {
  constexpr int max_distance = 3;
  if (!find_after(cursor, max_distance, "During handling of the above exception") &&
      !find_after(cursor, max_distance, "direct cause of the following exception"))
    return {};
  std::vector<Frame> frames = frames_below(cursor);
  std::erase_if(frames, [](const Frame& frame) {
    const bool trainer = path_contains(frame.file, "/transformers/trainer") || path_contains(frame.file, "lightning/");
    return (frame.library && !trainer) || frame.code.starts_with("raise ");
  });
  return frames;
}

/// True for an installed command, which pip writes into a bin folder: torchrun, accelerate, deepspeed and the like.
bool is_installed_script(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  if (slash == file.npos) return file.find("\\Scripts\\") != file.npos;
  return file.substr(0, slash).ends_with("/bin") && file.find('.', slash) == file.npos;
}

/// A launcher raises its own error in its own process after another one died, and the client of Dask or Ray the error
/// of a task. Their frames say nothing of the failure.
bool is_of_launcher(const std::vector<Frame>& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const Frame& frame) {
    return frame.code.starts_with("raise ChildFailedError(") ||
           frame.code.starts_with("raise subprocess.CalledProcessError(") ||
           frame.code.starts_with("raise exception.with_traceback(") ||
           (frame.code == "raise value" && path_contains(frame.file, "/ray/_private/worker.py")) ||
           (frame.function != "_wrap" && path_contains(frame.file, "/torch/multiprocessing/spawn.py")) ||
           path_contains(frame.file, "/torch/distributed/launcher/");
  });
}

}  // namespace

bool quotes_worker(std::string_view message) {
  static constexpr std::string_view words = "failed with error ";
  const std::size_t quote = message.find(words);
  return quote != message.npos && message.substr(quote + words.size()).find_first_of("'\"") == 0;
}

std::optional<Line> find_work_before_traceback(const Cursor& cursor, i64 from) {
  std::optional<Line> work;
  bool header = false;
  cursor.backward(max_lines, [&](const Line& line) {
    if (line.number <= from) return false;
    if (header) {
      if (speaks_of_failure(line.body())) return true;
      work = line;
      return false;
    }
    header = line.body().find("Traceback (most recent call last)") != std::string_view::npos;
    return true;
  });
  return work;
}

std::optional<Line> find_later_work(const Cursor& cursor, i64 from, double seconds) {
  std::optional<Line> work;
  bool later = false;
  cursor.backward(max_lines, [&](const Line& line) {
    if (line.number <= from) return false;
    if (line.prefix.time && work) later = *work->prefix.time - *line.prefix.time >= seconds;
    if (line.prefix.time && !work && !speaks_of_failure(line.body())) work = line;
    return !later;
  });
  return later ? work : std::nullopt;
}

/// "C:\Python310\lib\threading.py", "D:\anaconda3\envs\vision\lib\queue.py": Python's own library.
bool is_in_python_of_windows(std::string_view file) {
  const std::string path = lower(file);
  const std::size_t library = path.find("\\lib\\");
  const std::string_view above = std::string_view(path).substr(0, library == path.npos ? 0 : library);
  return above.find("\\python") != above.npos || above.find("conda") != above.npos;
}

bool is_library_file(std::string_view file) {
  static constexpr std::array<std::string_view, 11> marks{
      "site-packages", "dist-packages", "/lib/python",   "<frozen",      "/torch/",        "<string>",
      "/tensorflow/",  "/vllm/vllm/",   "/vllm_ascend/", "/sglang/srt/", "/torchinductor_"};  // code that the compiler
                                                                                              // wrote
  return is_installed_script(file) || file.ends_with(".pyx") || is_in_python_of_windows(file) ||
         std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) { return path_contains(file, mark); });
}

/// True if a debugger paused at the exception. It prints the innermost frame first.
bool is_paused(const Cursor& cursor) {
  static constexpr std::string_view words = "Exception has occurred: ";
  return cursor.line().text.find(words) != std::string_view::npos || find_before(cursor, 2, words);
}

/// Drops the frames in which TensorFlow 1 recorded where the graph was built. Nothing was requested there.
void drop_recorder(std::vector<Frame>& frames) {
  if (frames.empty() || frames.back().code.find("extract_stack()") == std::string::npos) return;
  while (!frames.empty() && frames.back().library) frames.pop_back();
}

bool only_passes_on(const Frame& frame) {
  static constexpr std::array<std::string_view, 6> waiting{"/selectors.py",  "/threading.py",     "/queue.py",
                                                           "/subprocess.py", "/multiprocessing/", "/concurrent/"};
  if (!frame.library) return false;
  const std::string_view code = frame.code;
  if (frame.file == "<string>") return true;  // text that a library runs
  if (code == "raise" || code == "raise e" || (code.starts_with("raise ") && code.find(" from ") != code.npos))
    return true;
  const bool standard = frame.file.find("-packages") == std::string::npos;
  return standard && std::any_of(waiting.begin(), waiting.end(),
                                 [&](std::string_view name) { return path_contains(frame.file, name); });
}

/// Calls the function that it was given, with all its arguments: a decorator, or a worker that calls a method by name.
bool is_wrapper(const Frame& frame) {
  static constexpr auto given = std::to_array<std::string_view>({"func", "fn", "f", "function", "method", "callback"});
  constexpr std::string_view everything = "(*args, **kwargs)";
  std::string_view call = frame.code;
  if (!call.ends_with(everything)) return false;
  call.remove_suffix(everything.size());
  for (const std::string_view before : {"return ", "await "})
    if (call.starts_with(before)) call.remove_prefix(before.size());
  if (const std::size_t at = call.find(" = "); at != call.npos) call.remove_prefix(at + 3);
  return call.starts_with("getattr(") || std::find(given.begin(), given.end(), call) != given.end();
}

bool runs_any(const Frame& frame) {
  if (is_wrapper(frame)) return true;
  static constexpr auto runtimes = std::to_array<std::string_view>(
      {"/jax/_src/", "/jax/interpreters/", "/torch/autograd/", "/torch/_ops.py", "/torch/nn/modules/module.py",
       "/torch/_dynamo/", "/torch/_inductor/", "/tensorflow/python/eager/", "/tensorflow/python/framework/"});
  return std::any_of(runtimes.begin(), runtimes.end(),
                     [&](std::string_view folder) { return path_contains(frame.file, folder); });
}

/// Code of a traceback without its places, as people paste it, or the end of one that was cut. Such frames show what
/// was done, and not where. Not every line above a message is code: it must be indented, or be a statement of PyTorch.
std::vector<Frame> loose_frames(const Cursor& cursor) {
  constexpr int most_lines = 5;
  static constexpr std::array<std::string_view, 5> operations{"exp_avg", ".backward(", "optimizer.step(", "torch.",
                                                              "F."};
  if (!ends_traceback(cursor.line().body())) return {};
  std::vector<Frame> found;
  cursor.backward(most_lines, [&](const Line& line) {
    const std::string_view body = line.body(), code = trimmed(body);
    if (code.empty() || line.prefix.time) return false;
    if (is_marker(code)) return true;
    const bool calls = code.ends_with(')') || code.ends_with('(') || code.find("(  #") != code.npos;
    const bool indented = is_space(body.front()) && is_letter(code.front()) && calls;
    const bool of_torch = std::any_of(operations.begin(), operations.end(),
                                      [&](std::string_view word) { return code.find(word) != code.npos; });
    if (!indented && !(found.empty() && of_torch && is_statement(code))) return false;
    Frame frame;
    frame.code = std::string(code.substr(0, 200));
    found.push_back(std::move(frame));
    return true;
  });
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<Frame> read_traceback(const Cursor& cursor) {
  std::vector<Frame> frames = frames_in_line(cursor.line().body());
  if (!frames.empty()) return frames;
  frames = frames_above(cursor);
  if (frames.empty() && !ends_traceback(cursor.line().body())) frames = frames_below(cursor);
  if (frames.size() < min_frames) {
    std::vector<Frame> siblings = frames_of_siblings(cursor);
    if (is_paused(cursor)) std::reverse(siblings.begin(), siblings.end());
    std::move(siblings.begin(), siblings.end(), std::back_inserter(frames));
  }
  if (frames.empty()) frames = frames_of_other_rank(cursor);
  if (frames.empty()) frames = loose_frames(cursor);
  drop_recorder(frames);
  if (is_of_launcher(frames) || quotes_worker(cursor.line().body())) frames.clear();
  if (!frames.empty() && std::all_of(frames.begin(), frames.end(), [](const Frame& f) { return f.library; })) {
    std::vector<Frame> callers = frames_of_handler(cursor);
    frames.insert(frames.begin(), std::make_move_iterator(callers.begin()), std::make_move_iterator(callers.end()));
  }
  for (Frame& frame : frames) frame.passes_on = only_passes_on(frame), frame.runs_any = runs_any(frame);
  return frames;
}

}  // namespace oomdoctor
