#include "parse/statement.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "parse/amounts.h"
#include "parse/context.h"

namespace oomdoctor {
namespace {

constexpr std::size_t short_front = 12;  ///< words in which a line says how loud it is
constexpr int goes_on = 3;               ///< lines behind the first that a statement may take

void set_sizes(Statement& statement, const Sentence& sentence) {
  using Place = std::pair<Role, std::optional<Bytes> Statement::*>;
  static constexpr auto places = std::to_array<Place>({{Role::asked, &Statement::asked},
                                                       {Role::free, &Statement::free},
                                                       {Role::used, &Statement::used},
                                                       {Role::allocated, &Statement::allocated},
                                                       {Role::reserved, &Statement::reserved},
                                                       {Role::unallocated, &Statement::unallocated},
                                                       {Role::total, &Statement::total},
                                                       {Role::limit, &Statement::limit}});
  std::optional<Bytes> resident;  // the kernel prints its parts
  for (const Amount& amount : parse_amounts(sentence)) {
    if (!amount.role) continue;
    const auto word_before = [&](std::size_t back) {
      return amount.begin >= back ? sentence[amount.begin - back].name : std::string_view();
    };
    if (amount.role == Role::used && word_before(2) == "rss") {
      // Pages of files are given back before anybody is killed.
      if (word_before(3) != "file") resident = resident ? *resident + amount.size : amount.size;
      continue;
    }
    const auto place =
        std::find_if(places.begin(), places.end(), [&](const auto& p) { return p.first == amount.role; });
    if (place == places.end()) continue;
    std::optional<Bytes>& known = statement.*place->second;
    // "available" may be all that there is: what is left of it is the smaller one. Else the more exact form counts.
    const bool better =
        known && (amount.role == Role::free ? amount.size.count < known->count
                                            : amount.size.slack < known->slack &&
                                                  std::abs(amount.size.count - known->count) <= 2 * known->slack);
    if (!known || better) known = amount.size;
  }
  if (resident) statement.used = resident;
  if (statement.allocated && statement.unallocated && !statement.reserved)
    statement.reserved = *statement.allocated + *statement.unallocated;
  // What was to be used of more than there is was asked for.
  if (!statement.killed && !statement.asked && statement.used && statement.total &&
      statement.used->count > statement.total->count)
    statement.asked = std::exchange(statement.used, std::nullopt);
}

std::optional<OomKind> kind_of(const Sentence& sentence, bool killed) {
  const Lexicon& words = failure_lexicon();
  const auto holds = [&](Role role) { return words.find(role, sentence.all(), 0, sentence.size()).has_value(); };
  if (holds(Role::shared)) return OomKind::shared_memory;
  if (killed) return OomKind::host;
  // "host memory", "system RAM": more exact than a device somewhere on the line.
  for (std::size_t i = 0; i + 1 < sentence.size(); ++i)
    if ((sentence[i].name == "host" || sentence[i].name == "system" || sentence[i].name == "cpu") &&
        (sentence[i + 1].name == "memory" || sentence[i + 1].name == "ram"))
      return OomKind::host;
  if (holds(Role::device)) return OomKind::device;
  if (holds(Role::host)) return OomKind::host;
  if (holds(Role::pool)) return OomKind::pool;
  return std::nullopt;
}

std::optional<int> device_in(const Sentence& sentence) {
  for (std::size_t i = 0; i + 1 < sentence.size(); ++i) {
    const std::string_view name = sentence[i].name;
    if (name != "gpu" && name != "device" && name != "cuda" && name != "gpu_id" && name != "device_id" &&
        name != "ordinal")
      continue;
    std::size_t k = i + 1;
    while (k < sentence.size() && k < i + 3 && sentence.is_mark(k, ":#=[(")) ++k;
    if (k >= sentence.size() || sentence[k].kind != Token::Kind::number || sentence[k].end - sentence[k].begin > 2)
      continue;
    const bool size =
        k + 1 < sentence.size() && sentence[k + 1].kind == Token::Kind::word && unit_of(sentence[k + 1].text, false);
    if (sentence[k].number.decimals == 0 && !size) return static_cast<int>(sentence[k].number.value);
  }
  return std::nullopt;
}

/// "Killed process 4411", "(pid: 812)".
std::optional<i64> pid_in(const Sentence& sentence) {
  for (std::size_t i = 0; i + 1 < sentence.size(); ++i) {
    if (sentence[i].name != "process" && sentence[i].name != "pid") continue;
    std::size_t k = i + 1;
    while (k < sentence.size() && k < i + 3 && sentence.is_mark(k, ":=(")) ++k;
    if (k >= sentence.size() || sentence[k].kind != Token::Kind::number || sentence[k].number.decimals > 0) continue;
    if (!parse_amount(sentence, k) && sentence[k].number.value >= 2) return whole_number(sentence[k].number.value);
  }
  return std::nullopt;
}

/// "kernel.cc:304", "memory.rs:88".
bool names_source(std::string_view text) {
  static constexpr std::array<std::string_view, 14> ends{".cc:", ".cpp:", ".cu:", ".c:",  ".h:",  ".hpp:", ".cuh:",
                                                         ".py:", ".rs:",  ".go:", ".jl:", ".mm:", ".cxx:", ".java:"};
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
    const std::size_t at = text.find(end);
    return at != text.npos && at + end.size() < text.size() && text[at + end.size()] >= '0' &&
           text[at + end.size()] <= '9';
  });
}

/// glog's "E0322 10:12:20.522087".
bool is_glog(const Sentence& sentence, char level) {
  const std::string_view name = sentence.size() > 0 ? sentence[0].name : std::string_view();
  return name.size() == 5 && name[0] == level &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The trigger is a part of a name: of an option, a path, a function, a setting.
bool is_name(const Sentence& sentence, PhraseAt trigger) {
  const std::string_view text = sentence.text();
  const Token &first = sentence[trigger.begin], &last = sentence[trigger.end - 1];
  const char before = first.begin > 0 ? text[first.begin - 1] : ' ',
             behind = last.end < text.size() ? text[last.end] : ' ';
  const bool single = trigger.end == trigger.begin + 1;
  // Statuses are written in capitals, classes in mixed case; words joined by "_" in small letters are a name.
  const bool small = first.text.find('_') != first.text.npos &&
                     first.text.find_first_of("abcdefghijklmnopqrstuvwxyz") != first.text.npos;
  if (single && small && first.name != "bad_alloc" && first.name != "out_of_memory") return true;
  if (single && before == '`' && behind == '`') return true;
  const bool error = first.text[0] >= 'A' && first.text[0] <= 'Z';
  if (single && (before == '/' || before == '\\' || (before == '-' && !error))) return true;
  if (behind == '+' || before == '_' || (before == '.' && !error)) return true;
  if (single && (behind == '(' || behind == '=' || behind == '/') && !error) return true;
  if (single && (behind == '=' || (behind == '/' && before != ' '))) return true;
  if (single && sentence.is_mark(trigger.end, "=")) return true;
  // "oom: 0", "OOM: false": a counter or a switch.
  if (single && sentence.is_mark(trigger.end, ":") && trigger.end + 1 < sentence.size()) {
    const Token& value = sentence[trigger.end + 1];
    const bool off = value.name == "false" || value.name == "true" || value.name == "null" || value.name == "none";
    if (off || (value.kind == Token::Kind::number && value.number.value == 0)) return true;
  }
  return false;
}

/// The part of the text that the trigger stands in, as sentence.
std::pair<std::size_t, std::size_t> sentence_around(const Sentence& sentence, PhraseAt trigger) {
  std::size_t begin = trigger.begin, end = trigger.end;
  while (begin > 0 && !sentence.ends_at(begin - 1)) --begin;
  while (end < sentence.size() && !sentence.ends_at(end)) ++end;
  return {begin, end};
}

struct Triggered {
  PhraseAt at;
  bool weak = false;
};

/// Memory that the trigger itself names is enough where it is more than the act of allocating.
bool names_memory(std::span<const Token> trigger) {
  return std::any_of(trigger.begin(), trigger.end(), [](const Token& t) {
    const bool call = t.name.find("alloc") != t.name.npos && !t.name.starts_with("alloc");  // cudaMalloc
    return call || t.name.find("mem") != t.name.npos || one_of(t.name, {"ram", "vram", "oom", "rss", "heap"});
  });
}

std::optional<Triggered> trigger_of(const Sentence& sentence) {
  const Lexicon& words = failure_lexicon();
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    if (sentence[i].kind != Token::Kind::word) continue;
    for (const bool weak : {false, true}) {
      const auto found = words.match(weak ? Role::weak : Role::trigger, sentence.all(), i);
      if (!found || is_name(sentence, *found)) continue;
      if (!weak) return Triggered{*found, false};
      const auto [begin, end] = sentence_around(sentence, *found);
      const bool memory = words.find(Role::memory, sentence.all(), begin, found->begin) ||
                          words.find(Role::memory, sentence.all(), found->end, end) ||
                          names_memory(sentence.all().subspan(found->begin, found->end - found->begin));
      bool size = false;
      for (std::size_t k = begin; k < end && !size; ++k)
        if (const auto amount = parse_amount(sentence, k)) size = !amount->bare || amount->size.count >= MiB;
      if (memory || size) return Triggered{*found, true};
    }
  }
  return std::nullopt;
}

bool shows_a_program(const Sentence& sentence, const Triggered& trigger, const Statement& statement) {
  const Lexicon& words = failure_lexicon();
  const std::size_t front = std::min(sentence.size(), std::max(short_front, trigger.at.end));
  if (statement.status || statement.asked || (statement.free && !trigger.weak) || names_source(sentence.text()))
    return true;
  if (is_glog(sentence, 'e') || is_glog(sentence, 'f') || words.find(Role::loud, sentence.all(), 0, front)) return true;
  const auto [begin, end] = sentence_around(sentence, trigger.at);
  if (words.find(Role::loud, sentence.all(), begin, end)) return true;
  // "Job 12 exceeded its memory limit": somebody speaks of a process.
  if ((statement.killed || trigger.weak) && words.find(Role::victim, sentence.all(), begin, end)) return true;
  // It says nothing else: the trigger begins the line or what a colon announces, and the sentence ends with it.
  const std::size_t announced =
      trigger.at.begin >= 2 && sentence.is_mark(trigger.at.begin - 2, ":])>") ? trigger.at.begin - 1 : trigger.at.begin;
  const bool opens = announced <= begin + 1 || sentence.is_mark(announced - 1, ":])>");
  return opens && end <= trigger.at.end + 4;
}

}  // namespace

Statement read_statement(std::string_view text) {
  Statement statement;
  const Sentence sentence(text);
  const Lexicon& words = failure_lexicon();
  const auto trigger = trigger_of(sentence);
  if (!trigger || is_program_text(text)) return statement;
  const auto [begin, end] = sentence_around(sentence, trigger->at);
  for (std::size_t i = begin; i < trigger->at.begin; ++i)
    if (words.match(Role::unreal, sentence.all(), i)) return statement;
  if (words.find(Role::other, sentence.all(), 0, sentence.size())) return statement;
  if (trigger->at.end < sentence.size() && words.match(Role::idle, sentence.all(), trigger->at.end)) return statement;
  if (end < sentence.size() && sentence.is_mark(end, "?")) return statement;
  const Token& first = sentence[trigger->at.begin];
  const bool one_word = trigger->at.end == trigger->at.begin + 1;
  statement.status = one_word && !trigger->weak && first.name.size() > 6 &&
                     (first.text.find('_') != first.text.npos || first.name.ends_with("error") ||
                      (first.text[0] >= 'A' && first.text[0] <= 'Z') || first.name != first.text);
  for (std::size_t i = begin; i < end && !statement.killed; ++i)
    statement.killed = sentence[i].name.starts_with("kill") ||
                       sentence[i].name.find("oomkill") != std::string_view::npos ||
                       sentence[i].name.find("oom_kill") != std::string_view::npos || sentence[i].name == "evicted";
  set_sizes(statement, sentence);
  statement.kind = kind_of(sentence, statement.killed);
  statement.device = statement.kind == OomKind::host ? std::nullopt : device_in(sentence);
  if (statement.killed) statement.pid = pid_in(sentence);
  // What a killed process may hold is its limit, not the size of the machine.
  if (statement.killed && statement.used && statement.total && !statement.limit &&
      statement.total->count <= statement.used->count)
    statement.limit = std::exchange(statement.total, std::nullopt);
  statement.handled = words.find(Role::handled, sentence.all(), trigger->at.end, sentence.size()).has_value();
  const bool calm = words.find(Role::calm, sentence.all(), 0, std::min(sentence.size(), short_front)).has_value() &&
                    !words.find(Role::loud, sentence.all(), begin, end);
  // A warning of something large is none of a failure.
  const std::span<const Token> front = sentence.front(short_front);
  const bool warns = is_glog(sentence, 'w') || std::any_of(front.begin(), front.end(), [](const Token& t) {
                       return t.name == "w" || t.name.starts_with("warn");
                     });
  if (warns && trigger->weak && !statement.killed && !words.find(Role::loud, sentence.all(), begin, end))
    return statement;
  const bool shown = shows_a_program(sentence, *trigger, statement);
  statement.voice = shown && (!calm || statement.asked || statement.status) ? Voice::statement : Voice::unclear;
  statement.bare = sentence.size() <= 2 && one_word && !statement.killed && statement.status && !statement.asked;
  return statement;
}

namespace {

/// Does this line go on with the statement of the line before it?
bool continues(std::string_view so_far, const Line& line) {
  const std::string_view text = trimmed(line.body());
  if (text.empty() || text.starts_with("Traceback") || text.starts_with("File \"") || text.starts_with("at "))
    return false;
  const Sentence sentence(text);
  if (trigger_of(sentence)) return false;
  const char last = so_far.back();
  if ((last >= '0' && last <= '9') || last == ',' || last == '(' || last == ':' || last == '=')
    return !line.prefix.time;
  const auto amounts = parse_amounts(sentence);
  return std::any_of(amounts.begin(), amounts.end(), [](const Amount& a) { return a.role && !a.bare; });
}

}  // namespace

Statement read_statement(const Cursor& cursor) {
  std::string text(cursor.line().text);
  Statement alone = read_statement(text);
  if (alone.voice == Voice::other) return alone;
  const std::size_t own = text.size();
  const bool timed = cursor.line().prefix.time.has_value();
  cursor.forward(goes_on, [&](const Line& line) {
    if (!continues(text, line) || (timed && !line.prefix.time && alone.asked)) return false;
    text += " ";
    text += trimmed(line.body());
    return true;
  });
  if (text.size() == own) return alone;
  Statement whole = read_statement(text);
  return whole.voice == Voice::other ? alone : whole;
}

namespace {

/// How a line of a text looks that is no log.
enum class TextKind { other, program, prose, log };

bool is_sentence(std::string_view text) {
  static constexpr std::array<std::string_view, 28> small{
      "the",   "a",   "an",   "of",   "to", "that", "is", "are", "it",  "in",  "and",  "or", "for", "with",
      "which", "you", "your", "this", "so", "as",   "by", "if",  "not", "may", "from", "be", "was", "has"};
  // An item of a list may be short.
  const std::size_t item = text.find_first_not_of("-*#0123456789. \t");
  if (item == text.npos || text[0] == '.') return false;
  const int min_words = item > 0 ? 5 : 8, min_small = item > 0 ? 1 : 2;
  text.remove_prefix(item);
  if (text.find("  ") != text.npos || text.find('=') != text.npos || text[0] == '[') return false;
  int words = 0, known = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    ++words;
    known += std::find(small.begin(), small.end(), text.substr(at, end - at)) != small.end() ? 1 : 0;
    at = end + 1;
  }
  return words >= min_words && known >= min_small;
}

TextKind kind_of(const Line& line) {
  static constexpr std::array<std::string_view, 21> code{
      "def ",    "class ", "import ",    "return ", "@",        "try:",  "#include",
      "static ", "const ", "constexpr ", "public ", "private ", "func ", "fn ",
      "let ",    "var ",   "namespace ", "using ",  "elif ",    "else:", "yield "};
  const std::string_view text = trimmed(line.body());
  if (line.prefix.time || line.prefix.rank || text.starts_with("File \"") || text.starts_with("Traceback") ||
      text.starts_with("at "))
    return TextKind::log;
  const bool opens = std::any_of(code.begin(), code.end(), [&](std::string_view c) { return text.starts_with(c); });
  const bool closes = text.ends_with(") {") || text.ends_with("):");
  const bool heading = text.starts_with("# ") || text.starts_with("## ");
  if (!heading && (opens || closes || is_program_text(text)))
    return text.starts_with("$ ") ? TextKind::other : TextKind::program;
  if (heading) return TextKind::prose;
  return is_sentence(text) ? TextKind::prose : TextKind::other;
}

}  // namespace

bool is_quoted_in_text(const Cursor& cursor) {
  constexpr int around = 8, enough = 4;
  std::array<int, 4> lines{};
  const auto count = [&](const Line& line) {
    if (!trimmed(line.body()).empty()) ++lines[static_cast<std::size_t>(kind_of(line))];
    return true;
  };
  cursor.backward(around, count);
  cursor.forward(around, count);
  const auto of = [&](TextKind kind) { return lines[static_cast<std::size_t>(kind)]; };
  const bool timed = cursor.line().prefix.time || cursor.line().prefix.rank;
  return !timed && of(TextKind::log) == 0 && (of(TextKind::program) >= enough || of(TextKind::prose) >= enough);
}

}  // namespace oomdoctor
