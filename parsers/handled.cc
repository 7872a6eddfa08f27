// Messages which show that the program continued: it reduced the batch, skipped the batch, or used another method.
//
// Most of them are near the allocator's own message and only mark that failure as handled (remarks handled/…). If the
// tool swallowed the allocator's message, this message is the only report: an Oom with `caught`. In both cases the run
// survived.
#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::handled {
namespace {

/// True if the allocator's own message is on the notice's line or up to 14 lines above it. Programs print at most that
/// many lines between the two. The scan stops at an earlier notice in the same words, because the message belongs to
/// that notice.
bool is_already_reported(const Match& m) {
  static constexpr std::array<std::string_view, 3> messages{"Tried to allocate", "would exceed allowed memory",
                                                            "THCudaCheck FAIL"};
  const auto has_message = [](std::string_view text) {
    return std::any_of(messages.begin(), messages.end(), [&](auto word) { return text.find(word) != text.npos; });
  };
  constexpr std::size_t max_notice_length = 20;
  const std::string_view words = m.text.substr(m.captures.begin, max_notice_length);
  const std::string_view notice = words.substr(0, words.find_first_of("0123456789"));
  bool found = has_message(m.text);
  if (found) return true;
  m.cursor.backward(14, [&](const Line& line) {
    found = has_message(line.text);
    return !found && line.text.find(notice) == line.text.npos;
  });
  return found;
}

/// If a logger writes the notice with its exception, the allocator's message is the last line of the traceback below.
std::optional<Line> find_own_message(const Cursor& cursor) {
  constexpr int max_traceback_lines = 120;
  if (!find_after(cursor, 1, "Traceback (most recent call last)")) return std::nullopt;
  return find_after(cursor, max_traceback_lines, "Tried to allocate");
}

/// Marks a failure as handled. Emits the failure itself only if the log does not contain its own message.
void emit_caught(const Match& m, EventSink& sink, std::string_view format, std::string_view remark,
                 std::string_view device = {}, std::optional<double> number = {}, std::string_view program = {}) {
  if (is_program_text(m.cursor.line().body())) return;
  Origin where;
  if (!device.empty()) where.device = static_cast<int>(leading_integer(device));
  sink.at(where);
  const auto own = find_own_message(m.cursor);
  if (own) sink.claim_through(own->number);
  sink.remark(remark, number);
  if (own || is_already_reported(m)) return;
  Oom oom;
  oom.framework = "pytorch";
  oom.message_format = std::string(format);
  oom.program = program;
  oom.caught = true;
  sink.oom(std::move(oom));
}

}  // namespace

namespace {

/// The first of the words that is not a part of a longer one; npos if there is none.
std::size_t find_word(std::string_view text, std::initializer_list<std::string_view> words) {
  std::size_t first = text.npos;
  for (const std::string_view word : words)
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      const bool begins = at == 0 || !is_word_char(text[at - 1]), ends = end == text.size() || !is_letter(text[end]);
      if (begins && ends) first = std::min(first, at);
    }
  return first;
}

/// "if OOM occurs, skipping batch is enabled": what the program would do.
bool states_policy(std::string_view text, std::size_t trigger) {
  return find_word(text, {"if", "when", "whenever", "unless", "would", "will", "may", "can"}) < trigger ||
         find_word(text, {"enabled", "disabled"}) != text.npos;
}

/// "batch is skipped: CUDA out of memory. …": the words before the message, which has a format of its own.
bool announces_message(std::string_view text) {
  for (const std::string_view words : {" is skipped: ", " was skipped: ", " will be skipped: "})
    if (text.find(words) != text.npos) return true;
  return false;
}

}  // namespace

bool skips_in_own_words(std::string_view line) {
  const std::string text = lower(line);
  const std::size_t trigger = find_word(text, {"oom", "out of memory", "outofmemoryerror"});
  return trigger != text.npos &&
         find_word(text, {"skip", "skipping", "skipped", "dropping", "dropped", "discarding", "discarded"}) !=
             text.npos &&
         find_word(text, {"batch", "minibatch", "step", "update", "sample", "iteration", "example", "sequence"}) !=
             text.npos &&
         !states_policy(text, trigger) && !announces_message(text);
}

void skips_batch(const Match& m, EventSink& sink) { emit_caught(m, sink, "skipped", "handled/skipped"); }

void smaller(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body()))
    sink.remark("handled/smaller_batch", static_cast<double>(leading_integer(m[1])));
}
void lightning(const Match& m, EventSink& sink) {
  emit_caught(m, sink, "lightning-batch-size", "handled/smaller_batch", {}, static_cast<double>(leading_integer(m[1])));
}

void reduced(const Match& m, EventSink& sink) { emit_caught(m, sink, "ultralytics-batch", "handled/smaller_batch"); }
void assigner(const Match& m, EventSink& sink) { emit_caught(m, sink, "ultralytics-assigner", "handled/fallback"); }
void fairseq(const Match& m, EventSink& sink) {
  emit_caught(m, sink, "fairseq", "handled/skipped", m.has(1) ? m[1] : std::string_view{});
}
void composer(const Match& m, EventSink& sink) {
  const auto size = m.has(1) ? std::optional<double>(static_cast<double>(leading_integer(m[1]))) : std::nullopt;
  emit_caught(m, sink, "composer", "handled/smaller_batch", {}, size);
}
void detectron(const Match& m, EventSink& sink) { emit_caught(m, sink, "detectron2", "handled/fallback"); }
void comfyui(const Match& m, EventSink& sink) {
  emit_caught(m, sink, "comfyui", "handled/fallback", {}, {}, "comfyui");
}
void skips(const Match& m, EventSink& sink) {
  const std::string text = lower(m.cursor.line().body());
  if (!states_policy(text, find_word(text, {"oom", "out of memory"}))) skips_batch(m, sink);
}
void retries(const Match& m, EventSink& sink) { emit_caught(m, sink, "retried", "handled/retried"); }

namespace {

/// fairseq announces that it goes on before it does. A traceback directly below shows that it did not.
/// `below`: by how many lines the announcement is below the current one.
bool fails_to_recover(const Cursor& cursor, int below = 0) {
  constexpr int max_notes = 4;  // "NOTE: overflow detected, setting loss scale to: 64.0"
  const auto trace = find_after(cursor, below + max_notes, "Traceback (most recent call last)");
  return trace && trace->number > cursor.line().number + below && !find_after(cursor, below + max_notes, "num_updates");
}

}  // namespace

void fairseq_recover(const Match& m, EventSink& sink) {
  constexpr int max_summary_lines = 400;
  const bool in_step = m.text.find("recover from OOM in forward") != std::string_view::npos;
  if (in_step) sink.remark("phase/training");
  // From 0.10 on it is Python's logging: "… | WARNING | fairseq.trainer | attempting to recover …".
  if (m.cursor.line().body().starts_with("| WARNING: ")) sink.setting("old_fairseq", "true");
  if (!fails_to_recover(m.cursor)) return sink.remark("handled/skipped");
  for (const std::string_view message : {"Tried to allocate", "OOM: Ran out", "ran out of memory"})
    if (find_before(m.cursor, max_summary_lines, message)) return;
  Oom oom;
  oom.framework = "pytorch";
  oom.message_format = "fairseq";
  sink.oom(std::move(oom));
  if (in_step) sink.remark("for/step");
}

/// fairseq prints the exception before it decides what to do. The run continued if fairseq announces that below or
/// directly above. Memory summaries of 40 lines per device may come in between.
void fairseq_exception(const Match& m, EventSink& sink) {
  static constexpr int max_summary_lines = 400;
  const auto below = find_after(m.cursor, max_summary_lines, "attempting to recover from OOM");
  if (below && below->text.find("OOM in forward") != std::string_view::npos) sink.remark("for/step");
  if (below && fails_to_recover(m.cursor, static_cast<int>(below->number - m.cursor.line().number))) return;
  if (below || find_before(m.cursor, 6, "attempting to recover from OOM") ||
      find_after(m.cursor, max_summary_lines, "skipping batch") ||
      find_after(m.cursor, max_summary_lines, "retrying batch"))
    sink.remark("handled/skipped");
}

/// This line ends the text of the exception. A traceback below it shows that the process failed anyway.
void fairseq_skipping(const Match& m, EventSink& sink) {
  if (find_before(m.cursor, 2, "ran out of memory with exception") && !find_after(m.cursor, 2, "Traceback (most"))
    sink.remark("handled/skipped");
}

}  // namespace oomdoctor::parsers::handled
