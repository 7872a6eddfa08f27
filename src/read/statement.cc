#include "read/statement.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "read/amounts.h"
#include "read/context.h"
#include "read/translation.h"

namespace oomdoctor {
namespace {

constexpr std::size_t level_tokens = 12;  ///< tokens at the front that may contain the level
constexpr std::size_t level_words = 8;    ///< words there, before the message; clocks and places have many marks
constexpr int max_further_lines = 3;      ///< max further lines of a statement

/// "system RAM usage 61.9 GB", "62.1 GiB of 64.0 GiB used on the node": what all processes use. A process that is named
/// nearer to the size is the one that uses it.
bool is_of_machine(const Sentence& sentence, std::size_t begin, std::size_t end) {
  constexpr std::size_t reach = 6;
  const auto is_machine = [](const Token& t) {
    return one_of(t.name, {"node", "host", "system", "machine", "server"});
  };
  const auto is_process = [](const Token& t) { return one_of(t.name, {"process", "worker", "job", "task", "rss"}); };
  for (std::size_t i = begin; i-- > (begin > reach ? begin - reach : 0);) {
    if (is_machine(sentence[i])) return true;
    if (is_process(sentence[i])) return false;
  }
  const auto behind = sentence.all().subspan(end, std::min(reach, sentence.size() - end));
  return std::any_of(behind.begin(), behind.end(), is_machine);
}

/// Assigns the sizes to their fields. If a role occurs twice, the smaller free size or the more exact one stays.
void set_sizes(Statement& statement, const Sentence& sentence) {
  using RoleField = std::pair<Role, std::optional<Bytes> Statement::*>;
  static constexpr auto fields = std::to_array<RoleField>({{Role::asked, &Statement::asked},
                                                           {Role::free, &Statement::free},
                                                           {Role::used, &Statement::used},
                                                           {Role::allocated, &Statement::allocated},
                                                           {Role::reserved, &Statement::reserved},
                                                           {Role::unallocated, &Statement::unallocated},
                                                           {Role::total, &Statement::total},
                                                           {Role::limit, &Statement::limit}});
  std::optional<Bytes> resident;  // the kernel prints its parts separately
  for (const Amount& amount : parse_amounts(sentence)) {
    if (!amount.role) continue;
    const auto word_before = [&](std::size_t back) {
      return amount.begin >= back ? sentence[amount.begin - back].name : std::string_view();
    };
    if (amount.role == Role::used && word_before(2) == "rss") {
      // The kernel frees file pages before it kills a process.
      if (word_before(3) != "file") resident = resident ? *resident + amount.size : amount.size;
      continue;
    }
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const auto& p) { return p.first == amount.role; });
    if (field == fields.end()) continue;
    std::optional<Bytes>& known = statement.*field->second;
    // "available" may mean the total: then the smaller size is what is left. For other roles, the more exact form
    // wins.
    const bool better =
        known && (amount.role == Role::free ? amount.size.count < known->count
                                            : amount.size.slack < known->slack &&
                                                  std::abs(amount.size.count - known->count) <= 2 * known->slack);
    if (!known || better) known = amount.size;
    if (amount.role == Role::used) statement.of_machine |= is_of_machine(sentence, amount.begin, amount.end);
  }
  if (resident) statement.used = resident, statement.of_machine = false;
  if (statement.allocated && statement.unallocated && !statement.reserved)
    statement.reserved = *statement.allocated + *statement.unallocated;
  // A used size above the total is what the program wanted to use: the request.
  if (!statement.killed && !statement.asked && statement.used && statement.total &&
      statement.used->count > statement.total->count)
    statement.asked = std::exchange(statement.used, std::nullopt);
}

/// True if a word of the role is in the text, and no part of a path: "/opt/jenkins/workspace/build" is not a pool.
bool names_outside_paths(const Sentence& sentence, Role role) {
  const std::string_view text = sentence.text();
  std::size_t from = 0;
  while (const auto found = failure_lexicon().find(role, sentence.all(), from, sentence.size())) {
    const std::size_t begin = sentence[found->begin].begin;
    if (begin == 0 || (text[begin - 1] != '/' && text[begin - 1] != '\\')) return true;
    from = found->end;
  }
  return false;
}

/// True for the memory that a kernel shares on the chip: "CudaTileListKernel: maximum shared memory exceeded". A line
/// about /dev/shm names it or a file.
bool is_shared_on_chip(const Sentence& sentence) {
  const auto contains = [&](Role role) {
    return failure_lexicon().find(role, sentence.all(), 0, sentence.size()).has_value();
  };
  return contains(Role::shared) && contains(Role::device) && sentence.text().find("shm") == std::string_view::npos;
}

std::optional<OomKind> find_memory_kind(const Sentence& sentence, bool killed) {
  const Lexicon& words = failure_lexicon();
  const auto contains = [&](Role role) { return words.find(role, sentence.all(), 0, sentence.size()).has_value(); };
  if (contains(Role::shared)) return OomKind::shared_memory;
  if (killed) return OomKind::host;
  // "host memory", "system RAM" and "system out of memory" are more specific than a device somewhere on the line.
  for (std::size_t i = 0; i + 1 < sentence.size(); ++i)
    if ((sentence[i].name == "host" || sentence[i].name == "system" || sentence[i].name == "cpu") &&
        (sentence[i + 1].name == "memory" || sentence[i + 1].name == "ram" || sentence[i + 1].name == "out"))
      return OomKind::host;
  if (contains(Role::device)) return OomKind::device;
  if (contains(Role::host)) return OomKind::host;
  if (names_outside_paths(sentence, Role::pool)) return OomKind::pool;
  return std::nullopt;
}

/// "GPU 0", "device: 1", "cuda:0", not "GPU-3f9559e8-f031". A number of more than two digits or with a unit is not an
/// index.
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
    const bool more = k + 1 < sentence.size() && sentence[k + 1].kind == Token::Kind::word;
    const bool size = more && read_unit(sentence[k + 1].text, false);
    const bool part = more && sentence[k + 1].begin == sentence[k].end;  // "GPU-3f9559e8": a part of an identifier
    if (sentence[k].number.decimals == 0 && !size && !part) return static_cast<int>(sentence[k].number.value);
  }
  return std::nullopt;
}

/// True if the token says that a process was killed. A killer alone may be any program, or a song.
bool says_killed(const Sentence& sentence, std::size_t i) {
  const std::string_view name = sentence[i].name;
  if (name == "killer") return i > 0 && sentence[i - 1].name == "oom";
  return name.starts_with("kill") || name.find("oomkill") != name.npos || name.find("oom_kill") != name.npos ||
         one_of(name, {"evicted", "sigkill"});
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

/// True for a position in a source file: "kernel.cc:304", "memory.rs:88".
bool names_source(std::string_view text) {
  static constexpr std::array<std::string_view, 14> ends{".cc:", ".cpp:", ".cu:", ".c:",  ".h:",  ".hpp:", ".cuh:",
                                                         ".py:", ".rs:",  ".go:", ".jl:", ".mm:", ".cxx:", ".java:"};
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
    const std::size_t at = text.find(end);
    return at != text.npos && at + end.size() < text.size() && is_digit(text[at + end.size()]);
  });
}

/// True for the level of glog: "E0322 10:12:20.522087".
bool is_glog(const Sentence& sentence, char level) {
  const std::string_view name = sentence.size() > 0 ? sentence[0].name : std::string_view();
  return name.size() == 5 && name[0] == level && std::all_of(name.begin() + 1, name.end(), is_digit);
}

/// The number of tokens that may contain the level: "time=2025-12-05T20:51:16+08:00 level=DEBUG source=server.go:96"
/// has more marks than words.
std::size_t front_size(const Sentence& sentence, std::size_t trigger) {
  std::size_t size = std::min(sentence.size(), level_tokens), words = 0;
  for (std::size_t i = 0; i < trigger && words < level_words; ++i) {
    if (sentence[i].kind == Token::Kind::word) ++words;
    size = std::max(size, i + 1);
  }
  return size;
}

/// True if the trigger is part of a name: an option, a path, a function, a setting.
bool is_name(const Sentence& sentence, PhraseAt trigger) {
  const std::string_view text = sentence.text();
  const Token &first = sentence[trigger.begin], &last = sentence[trigger.end - 1];
  const char before = first.begin > 0 ? text[first.begin - 1] : ' ',
             after = last.end < text.size() ? text[last.end] : ' ';
  const bool single = trigger.end == trigger.begin + 1;
  // Statuses are in capitals, classes in mixed case. A lower-case word with "_" is a name.
  const bool small = first.text.find('_') != first.text.npos &&
                     first.text.find_first_of("abcdefghijklmnopqrstuvwxyz") != first.text.npos;
  if (single && small && first.name != "bad_alloc" && first.name != "out_of_memory") return true;
  if (single && before == '`' && after == '`') return true;
  // "-XX:+HeapDumpOnOutOfMemoryError": what is done then.
  if (single && first.text.find("OnOutOfMemory") != first.text.npos) return true;
  const bool error = is_upper(first.text[0]);
  if (single && (before == '/' || before == '\\' || (before == '-' && !error))) return true;
  // "oomkill-test-pod": the name of a pod.
  const bool names_object = first.name.starts_with("oomk") && after == '-' && last.end + 1 < text.size();
  if (single && names_object && is_word_char(text[last.end + 1])) return true;
  if (after == '+' || before == '_' || (before == '.' && !error)) return true;
  if (single && (after == '(' || after == '=' || after == '/') && !error) return true;
  if (single && (after == '=' || (after == '/' && before != ' '))) return true;
  if (single && sentence.is_mark(trigger.end, "=")) return true;
  // "oom: 0", "OOM: false": a counter or a switch. "OOMKilled: true" is what happened.
  if (single && sentence.is_mark(trigger.end, ":") && trigger.end + 1 < sentence.size()) {
    const Token& value = sentence[trigger.end + 1];
    const bool set = value.name == "true" && !first.name.ends_with("killed");
    const bool off = set || value.name == "false" || value.name == "null" || value.name == "none";
    if (off || (value.kind == Token::Kind::number && value.number.value == 0)) return true;
  }
  return false;
}

/// True for "queue: oom", "see also: OutOfMemoryError" and "states: FAILED, OUT_OF_MEMORY": the value of a key, which
/// may be any name, or an item of a list. After a word of an end it is a reason: "state: OUT_OF_MEMORY", "rank 3:
/// oom".
bool is_value(const Sentence& sentence, PhraseAt trigger) {
  if (trigger.end != trigger.begin + 1 || trigger.end < sentence.size() || trigger.begin < 2) return false;
  const Token& own = sentence[trigger.begin];
  if (own.text == "OOM" || own.text == "OOMKilled") return false;  // as people write results: "resnet50: OOM"
  std::size_t at = trigger.begin;
  while (at >= 3 && sentence.is_mark(at - 1, ",") && sentence[at - 2].kind == Token::Kind::word) at -= 2;
  if (!sentence.is_mark(at - 1, ":")) return false;
  if (at < trigger.begin) return true;
  // "VkResult: ERROR_OUT_OF_DEVICE_MEMORY", "vk::Device::allocateMemory: ErrorOutOfDeviceMemory".
  if ((own.text.find('_') != own.text.npos && is_upper(own.text[0])) || own.text.starts_with("Error")) return false;
  const Token& key = sentence[at - 2];
  if (key.kind != Token::Kind::word) return false;
  static constexpr std::array<std::string_view, 20> ends{
      "error", "errors", "reason",  "status", "state", "exception", "result", "exit",   "cause",  "message",
      "msg",   "failed", "failure", "fatal",  "got",   "exitcode",  "killed", "raised", "caught", "verdict"};
  const bool exception = own.name.ends_with("error") && key.name.ends_with("error") && key.name != "on_error";
  const bool logged = key.end - key.begin == 1 || std::any_of(key.text.begin(), key.text.end(), is_digit);
  return !exception && !logged && !key.name.ends_with("_reason") && !key.name.ends_with("_status") &&
         std::find(ends.begin(), ends.end(), key.name) == ends.end();
}

/// True for "halve the batch on OutOfMemoryError": what is done then.
bool is_occasion(const Sentence& sentence, PhraseAt trigger, std::size_t begin) {
  if (trigger.end != trigger.begin + 1 || trigger.begin == begin) return false;
  if (!one_of(sentence[trigger.begin - 1].name, {"on", "upon"})) return false;
  return !failure_lexicon().find(Role::loud, sentence.all(), begin, trigger.begin);
}

/// The sentence that contains the trigger, as a token range.
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

/// True if the trigger itself names memory, beyond the word "allocate".
bool names_memory(std::span<const Token> trigger) {
  return std::any_of(trigger.begin(), trigger.end(), [](const Token& t) {
    const bool call = t.name.find("alloc") != t.name.npos && !t.name.starts_with("alloc");  // cudaMalloc
    return call || t.name.find("mem") != t.name.npos || one_of(t.name, {"ram", "vram", "oom", "rss", "heap", "shm"});
  });
}

/// True if the trigger names a request: "failed to allocate", "cannot reserve".
bool names_request(std::span<const Token> trigger) {
  return std::any_of(trigger.begin(), trigger.end(), [](const Token& t) {
    return t.name.find("alloc") != t.name.npos || one_of(t.name, {"reserve", "reservation", "request", "map", "mmap",
                                                                  "sbrk", "pin", "obtain", "acquire", "register"});
  });
}

/// True for "16 GiB out of the 23.34 GiB total CPU memory": a share. A program that "ran out of 16 GiB of memory" had
/// no more.
bool is_share(const Sentence& sentence, const PhraseAt& at) {
  if (at.begin == 0 || at.end < at.begin + 3 || sentence[at.begin].name != "out") return false;
  const Token& before = sentence[at.begin - 1];
  const bool amount = before.kind == Token::Kind::number || (at.begin > 1 && parse_amount(sentence, at.begin - 2));
  const auto phrase = sentence.all().subspan(at.begin, at.end - at.begin);
  return amount && std::any_of(phrase.begin(), phrase.end(),
                               [](const Token& token) { return token.kind == Token::Kind::number; });
}

/// The first trigger of the text. A vague one needs memory in the line, a weak one memory or a size in its sentence.
std::optional<Triggered> find_trigger(const Sentence& sentence) {
  const Lexicon& words = failure_lexicon();
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    if (sentence[i].kind != Token::Kind::word) continue;
    for (const Role role : {Role::trigger, Role::vague, Role::weak}) {
      const auto found = words.match(role, sentence.all(), i);
      if (!found || is_name(sentence, *found) || is_share(sentence, *found)) continue;
      const bool vague = role == Role::vague;
      if (vague && !words.find(Role::memory, sentence.all(), 0, sentence.size())) continue;
      if (vague || role == Role::trigger) return Triggered{*found, false};
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

/// True for "to continue, reset the GPU" and "failed to retry": a purpose, not an act. "Going to retry" is an act.
bool is_purpose(const Sentence& sentence, std::size_t at) {
  if (at == 0 || sentence[at - 1].name != "to") return false;
  return at < 2 || !one_of(sentence[at - 2].name, {"going", "about", "trying", "attempting", "decided", "have", "had"});
}

/// True for "caught exception: …" and "Caught RuntimeError in replica 0": the words of the failure's own report.
bool introduces_error(const Sentence& sentence, std::size_t at) {
  if (sentence[at].name != "caught") return false;
  std::size_t next = at + 1;
  if (next < sentence.size() && one_of(sentence[next].name, {"a", "an", "the"})) ++next;
  return next < sentence.size() &&
         (sentence[next].name.ends_with("exception") || sentence[next].name.ends_with("error"));
}

/// True if the program says after the trigger that it goes on. "Will not retry" says the opposite. C++ prints what()
/// of an exception that nothing caught.
bool goes_on(const Sentence& sentence, std::size_t from) {
  constexpr std::size_t reach = 3;  // words: "will not be retried"
  if (sentence.text().find("what():") != std::string_view::npos) return false;
  while (const auto found = failure_lexicon().find(Role::handled, sentence.all(), from, sentence.size())) {
    const std::size_t begin = std::max(from, found->begin > reach ? found->begin - reach : 0);
    const auto words = sentence.all().subspan(begin, found->begin - begin);
    if (!is_purpose(sentence, found->begin) && !introduces_error(sentence, found->begin) &&
        std::none_of(words.begin(), words.end(), [](const Token& t) {
          return one_of(t.name, {"not", "no", "never", "cannot", "without", "t", "won", "stop", "stopped", "unable"});
        }))
      return true;
    from = found->end;
  }
  return false;
}

/// True if something shows that a program printed the line (see the header).
bool is_program_report(const Sentence& sentence, const Triggered& trigger, const Statement& statement) {
  const Lexicon& words = failure_lexicon();
  const std::size_t front = std::min(sentence.size(), std::max(level_tokens, trigger.at.end));
  if (statement.status || statement.asked || (statement.free && !trigger.weak) || (statement.used && statement.limit) ||
      names_source(sentence.text()))
    return true;
  if (is_glog(sentence, 'e') || is_glog(sentence, 'f') || words.find(Role::loud, sentence.all(), 0, front)) return true;
  const auto [begin, end] = sentence_around(sentence, trigger.at);
  if (words.find(Role::loud, sentence.all(), begin, end)) return true;
  // "Job 12 exceeded its memory limit": the line is about a process.
  if ((statement.killed || trigger.weak) && words.find(Role::victim, sentence.all(), begin, end)) return true;
  // Nothing else is on the line: the trigger starts it, or follows a colon, and ends the sentence.
  const std::size_t announced =
      trigger.at.begin >= 2 && sentence.is_mark(trigger.at.begin - 2, ":])>") ? trigger.at.begin - 1 : trigger.at.begin;
  const bool opens = announced <= begin + 1 || sentence.is_mark(announced - 1, ":])>");
  return opens && end <= trigger.at.end + 4;
}

}  // namespace

namespace {

/// True for "May" in a date: "May 12 09:14:07", "12-May-2025".
bool is_month(const Sentence& sentence, std::size_t i) {
  const auto is_number = [&](std::size_t k) { return k < sentence.size() && sentence[k].kind == Token::Kind::number; };
  return sentence[i].name == "may" && (is_number(i + 1) || (i > 0 && is_number(i - 1)));
}

/// True if the program only guesses that memory was the reason: "possibly because the system ran out of memory". Words
/// after the trigger are about something else. "Could not allocate" is a refusal.
bool is_guess(const Sentence& sentence, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const std::string_view next = i + 1 < sentence.size() ? sentence[i + 1].name : std::string_view();
    const bool modal = one_of(sentence[i].name, {"could", "may", "might"}) && (next == "be" || next == "have");
    if (modal || one_of(sentence[i].name,
                        {"probably", "possibly", "perhaps", "maybe", "likely", "presumably", "reasons", "suspected"}))
      return true;
  }
  return false;
}

}  // namespace

namespace {

bool warns(const Sentence& sentence, std::span<const Token> front) {
  return is_glog(sentence, 'w') || std::any_of(front.begin(), front.end(), [](const Token& t) {
           return t.name == "w" || t.name.starts_with("warn");
         });
}

}  // namespace

Statement read_statement(std::string_view text) {
  Statement statement;
  const std::string english = in_english(text);
  const Sentence sentence(english.empty() ? text : english);
  const Lexicon& words = failure_lexicon();
  const auto trigger = find_trigger(sentence);
  if (!trigger || is_program_text(text)) return statement;
  const auto [begin, end] = sentence_around(sentence, trigger->at);
  for (std::size_t i = begin; i < trigger->at.begin; ++i)
    if (words.match(Role::unreal, sentence.all(), i) && !is_month(sentence, i)) return statement;
  if (is_value(sentence, trigger->at) || is_occasion(sentence, trigger->at, begin)) return statement;
  if (words.find(Role::other, sentence.all(), 0, sentence.size())) return statement;
  if (is_shared_on_chip(sentence)) return statement;
  if (trigger->at.end < sentence.size() && words.match(Role::idle, sentence.all(), trigger->at.end)) return statement;
  // A guess in parentheses asks nobody: "(compiled for a different GPU?)".
  const bool in_parentheses = end + 1 < sentence.size() && sentence.is_mark(end + 1, ")");
  if (end < sentence.size() && sentence.is_mark(end, "?") && !in_parentheses) return statement;
  const Token& first = sentence[trigger->at.begin];
  const bool one_word = trigger->at.end == trigger->at.begin + 1;
  statement.status = one_word && !trigger->weak && first.name.size() > 6 &&
                     (first.text.find('_') != first.text.npos || first.name.ends_with("error") ||
                      is_upper(first.text[0]) || first.name != first.text);
  for (std::size_t i = begin; i < end && !statement.killed; ++i) statement.killed = says_killed(sentence, i);
  set_sizes(statement, sentence);
  statement.guessed = !statement.asked && !statement.status && !(statement.used && statement.limit) &&
                      is_guess(sentence, begin, trigger->at.end);
  if (statement.asked && statement.asked->count <= 0) return Statement();  // no lack of memory refuses nothing
  statement.kind = find_memory_kind(sentence, statement.killed);
  statement.device = statement.kind == OomKind::host ? std::nullopt : device_in(sentence);
  if (statement.killed) statement.pid = pid_in(sentence);
  // A size that a killed process may use is its limit, not the machine's total.
  if (statement.killed && statement.used && statement.total && !statement.limit &&
      statement.total->count <= statement.used->count)
    statement.limit = std::exchange(statement.total, std::nullopt);
  statement.handled = goes_on(sentence, trigger->at.end);
  const std::span<const Token> front = sentence.front(front_size(sentence, trigger->at.begin));
  const bool calm = (is_glog(sentence, 'i') || words.find(Role::calm, sentence.all(), 0, front.size()).has_value()) &&
                    !words.find(Role::loud, sentence.all(), begin, end);
  // A warning about something large is not a failure.
  if (warns(sentence, front) && trigger->weak && !statement.killed &&
      !words.find(Role::loud, sentence.all(), begin, end))
    return statement;
  const bool shown = is_program_report(sentence, *trigger, statement);
  // "INFO … the checkpoint (92 GiB) exceeds the available RAM" compares two sizes; nothing was refused.
  const bool compares =
      trigger->weak && !names_request(sentence.all().subspan(trigger->at.begin, trigger->at.end - trigger->at.begin));
  const bool asked = statement.asked && !(calm && compares);
  statement.voice = shown && (!calm || asked || statement.status) ? Voice::statement : Voice::unclear;
  statement.bare = sentence.size() <= 2 && one_word && !statement.killed && !statement.asked;
  return statement;
}

namespace {

/// True if this line continues the statement before it.
bool continues(std::string_view so_far, const Line& line) {
  // "[requested: 12 B]" has the form of a logger's prefix.
  const std::string_view text = trimmed(trimmed(line.body()).empty() ? line.text : line.body());
  if (text.empty() || text.starts_with("Traceback") || text.starts_with("File \"") || text.starts_with("at "))
    return false;
  const Sentence sentence(text);
  // A warning below it says how much was requested.
  if (const auto trigger = find_trigger(sentence);
      trigger && !(trigger->weak && warns(sentence, sentence.front(front_size(sentence, trigger->at.begin)))))
    return false;
  const char last = so_far.back();
  if (is_digit(last) || last == ',' || last == '(' || last == ':' || last == '=') return !line.prefix.time;
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
  cursor.forward(max_further_lines, [&](const Line& line) {
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

/// What a line looks like: code, prose, a log line, or none of them.
enum class TextKind { other, program, prose, log };

bool is_sentence(std::string_view text) {
  static constexpr std::array<std::string_view, 28> small{
      "the",   "a",   "an",   "of",   "to", "that", "is", "are", "it",  "in",  "and",  "or", "for", "with",
      "which", "you", "your", "this", "so", "as",   "by", "if",  "not", "may", "from", "be", "was", "has"};
  // Items of a list may be short.
  const std::size_t item = text.find_first_not_of("-*#0123456789. \t");
  if (item == text.npos || text[0] == '.') return false;
  const int min_words = item > 0 ? 5 : 8, min_small_words = item > 0 ? 1 : 2;
  text.remove_prefix(item);
  if (text.find("  ") != text.npos || text.find('=') != text.npos || text[0] == '[') return false;
  int words = 0, known = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    ++words;
    known += std::find(small.begin(), small.end(), text.substr(at, end - at)) != small.end() ? 1 : 0;
    at = end + 1;
  }
  return words >= min_words && known >= min_small_words;
}

/// A clock near the front ("24/11/19 03:18:52", "7月 03 09:14:51 srv2"), or a level in capitals.
bool has_logger_front(std::string_view text) {
  constexpr std::size_t front = 48;
  static constexpr std::array<std::string_view, 7> levels{"INFO",  "WARN",     "WARNING", "ERROR",
                                                          "DEBUG", "CRITICAL", "FATAL"};
  text = text.substr(0, front);
  for (std::size_t i = 0; i + 8 <= text.size(); ++i)
    if (looks_like_clock(text.substr(i))) return true;
  return std::any_of(levels.begin(), levels.end(), [&](std::string_view level) {
    const std::size_t at = text.find(level), end = at + level.size();
    return at != text.npos && (at == 0 || !is_word_char(text[at - 1])) && end < text.size() &&
           std::string_view(" :]|").find(text[end]) != std::string_view::npos;
  });
}

bool is_logged(const Line& line) {
  return line.prefix.time || line.prefix.rank || has_logger_front(trimmed(line.body()));
}

TextKind classify_line(const Line& line) {
  static constexpr std::array<std::string_view, 21> code{
      "def ",    "class ", "import ",    "return ", "@",        "try:",  "#include",
      "static ", "const ", "constexpr ", "public ", "private ", "func ", "fn ",
      "let ",    "var ",   "namespace ", "using ",  "elif ",    "else:", "yield "};
  const std::string_view text = trimmed(line.body());
  if (is_logged(line) || text.starts_with("File \"") || text.starts_with("Traceback") || text.starts_with("at "))
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

namespace {

/// True for {"code": "E103", "text": "…"}, the form of such an entry. A log's record has a time or a level.
bool has_form_of_entry(std::string_view body) {
  const std::string_view text = trimmed(body);
  if (!text.starts_with('{') || !(text.ends_with('}') || text.ends_with("},"))) return false;
  const auto has = [&](std::span<const std::string_view> keys) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](std::string_view key) { return text.find("\"" + std::string(key) + "\":") != text.npos; });
  };
  static constexpr std::array<std::string_view, 4> numbers{"code", "id", "errno", "pattern"};
  static constexpr std::array<std::string_view, 5> texts{"text", "title", "description", "message", "regex"};
  static constexpr std::array<std::string_view, 12> logged{"time",  "ts",       "timestamp", "@timestamp",
                                                           "level", "severity", "host",      "hostname",
                                                           "pid",   "rank",     "step",      "exit_code"};
  return has(numbers) && has(texts) && !has(logged);
}

}  // namespace

bool is_raised_in_code(std::string_view body) {
  std::string_view text = trimmed(body);
  const std::size_t number = std::min(text.find_first_not_of("-> "), text.size());
  std::size_t end = number;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end > number) text = trimmed(text.substr(end));
  static constexpr std::array<std::string_view, 4> openings{"raise ", "throw ", "return ", "except "};
  return std::any_of(openings.begin(), openings.end(), [&](auto opening) { return text.starts_with(opening); });
}

bool is_catalogue_entry(const Cursor& cursor) {
  if (!has_form_of_entry(cursor.line().body())) return false;
  bool beside = false;
  const auto look = [&](const Line& line) {
    beside |= has_form_of_entry(line.body());
    return false;
  };
  cursor.backward(1, look);
  cursor.forward(1, look);
  return beside;
}

bool is_in_patch(const Cursor& cursor) {
  constexpr int longest_hunk = 120;
  static constexpr std::string_view header = "@@ -", marks = " +-\\";
  bool found = false;
  const auto is_part = [&](std::string_view text) { return text.empty() || marks.find(text.front()) != marks.npos; };
  if (!is_part(cursor.line().text)) return false;
  cursor.backward(longest_hunk, [&](const Line& line) {
    found = line.text.starts_with(header) && line.text.find(" @@", header.size()) != line.text.npos;
    return !found && is_part(line.text);
  });
  return found;
}

namespace {

/// The bytes of a line in lower case, between blanks, without marks of HTML in front.
std::string prose_of(std::string_view line) {
  std::string_view text = trimmed(line);
  while (text.starts_with('<')) text = trimmed(text.substr(std::min(text.find('>'), text.size() - 1) + 1));
  std::string out = " ";
  for (const char c : text) out += lower(c);
  return out + " ";
}

bool contains_one(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return text.find(word) != text.npos; });
}

/// True if the prose before the line is somebody's report: "I am trying to launch … and receive the following errors:".
bool is_reported_by_writer(const Cursor& cursor) {
  constexpr int reach = 12;
  static constexpr std::array<std::string_view, 6> persons{" i ", " i'm ", " i've ", " i'd ", " my ", " me "};
  bool reported = false;
  cursor.backward(reach, [&](const Line& line) {
    const bool heading = trimmed(line.text).starts_with('#');  // "# My job is killed"
    reported = !heading && classify_line(line) == TextKind::prose && contains_one(prose_of(line.text), persons);
    return !reported;
  });
  return reported;
}

/// True for a mark of Markdown, reStructuredText or HTML.
bool is_document_mark(std::string_view line) {
  static constexpr std::array<std::string_view, 8> marks{"# ", "## ", "### ", "```", "<p>", "<h", "<html", "<pre>"};
  const std::string_view text = trimmed(line);
  return text.ends_with("::") || std::any_of(marks.begin(), marks.end(), [&](auto m) { return text.starts_with(m); });
}

/// True for a heading of reStructuredText: a line of marks, as long as it, is below, and then prose.
bool is_heading(const Cursor& cursor) {
  constexpr std::size_t shortest = 8;
  const std::string_view text = cursor.line().text;
  bool marked = false, prose = false;
  cursor.forward(3, [&](const Line& line) {
    if (marked) {
      prose |= classify_line(line) == TextKind::prose;
      return !prose;
    }
    marked = line.text.size() == text.size() &&
             std::string_view("-=~").find(line.text.front()) != std::string_view::npos &&
             line.text.find_first_not_of(line.text.front()) == line.text.npos;
    return marked;
  });
  return prose && text.size() >= shortest && is_upper(text.front()) && text.find(':') == text.npos;
}

/// True for a line of a block of code in Markdown without a fence.
bool is_indented(const Line& line) { return line.text.starts_with("    "); }

/// True for the question of a list of questions, "**Q: …**", whose answer is below.
bool is_question(const Cursor& cursor) {
  const auto begins_with = [](std::string_view text, char letter) {
    text.remove_prefix(std::min(text.find_first_not_of("*_#>- "), text.size()));
    return text.size() > 3 && text[0] == letter && (text[1] == ':' || text[1] == '.') &&
           text.substr(2).find_first_not_of("* ") != text.npos;
  };
  bool answered = false;
  cursor.forward(2, [&](const Line& line) {
    answered = begins_with(line.text, 'A');
    return trimmed(line.text).empty();
  });
  return answered && begins_with(cursor.line().text, 'Q');
}

}  // namespace

bool is_manual_example(const Cursor& cursor) {
  if (is_heading(cursor) || is_question(cursor)) return true;
  constexpr int reach = 10, near = 3;  // lines with text
  static constexpr std::array<std::string_view, 27> introductions{
      " if you see", " you may see", " you might see", " you will see", " if your ", " you may get", " if you get",
      "fails with", " error like ", " errors like ", " line like ", " looks like ", " shows: ", " what does ",
      " prints ",
      // Chinese, Japanese, Korean, German, French, Spanish
      "如果出现", "如果遇到", "若出现", "如下错误", "のようなエラー", "같은 오류", " falls sie ", " wenn sie ",
      " wenn die ", " si vous ", " si ves ", " si aparece "};
  static constexpr std::array<std::string_view, 29> instructions{
      "use ",        "reduce ",   "lower ",       "raise ",
      "try ",        "decrease ", "increase ",    "solutions include",
      "then your ",  "your ",     "you need ",    "you can",
      "you may ",    "request ",  "then reduce ", "请",
      "可以",        "建议",      "减小",         "降低",
      "バッチ",      "배치",      "reduzieren",   "verringern",
      "verkleinern", "réduisez",  "diminuez",     "reduce el ",
      "reduzca "};
  static constexpr std::array<std::string_view, 15> writers{
      " i ",        " my ", " we ",   " our ",   " i'm ",     " i've ",           " me ",
      " us ",       " hi ", " hello", " thanks", "reproduce", "expected behavio", "describe the bug",
      "environment"};
  const bool block = is_indented(cursor.line());
  bool marked = false, introduced = false, instructed = false, told = false;
  int seen = 0;
  const auto is_text = [&](const Line& line) {
    marked |= is_document_mark(line.text);
    const std::string text = prose_of(line.text);
    const bool heading = trimmed(line.text).starts_with('#');  // "# My job is killed"
    const bool quoted = block && is_indented(line);
    told |= (!quoted && classify_line(line) == TextKind::log) || (!heading && contains_one(text, writers));
    return text;
  };
  cursor.backward(reach, [&](const Line& line) {
    if (trimmed(line.text).empty()) return true;
    const bool is_near = seen++ < near;
    introduced |= contains_one(is_text(line), introductions) && is_near;
    return !told;
  });
  if (!introduced || told) return false;
  seen = 0;
  cursor.forward(reach, [&](const Line& line) {
    if (trimmed(line.text).empty()) return true;
    const std::string text = is_text(line);
    const bool is_near = seen++ < near;
    instructed |= is_near && std::any_of(instructions.begin(), instructions.end(), [&](std::string_view word) {
                    const std::size_t at = text.find(" " + std::string(word));
                    return block ? at != text.npos : at == 0;
                  });
    return !told;
  });
  return marked && instructed && !told;
}

bool is_in_back_ticks(const Cursor& cursor) {
  constexpr int reach = 8;
  const std::string_view text = trimmed(cursor.line().body());
  const auto ticks = std::count(text.begin(), text.end(), '`');
  if (ticks == 0 || ticks % 2 != 0 || is_logged(cursor.line())) return false;
  std::string outside;
  bool open = false;
  for (const char c : text) {
    if (c == '`')
      open = !open;
    else if (!open && c != '*')
      outside += c;
  }
  static constexpr std::array<std::string_view, 6> failures{"memory", "OOM", "oom", "rror:", "illed", "alloc"};
  if (contains_one(outside, failures)) return false;
  const bool listed = text.starts_with("- ") || text.starts_with("* ") || text.starts_with("| ") ||
                      text.starts_with("> ") || (is_digit(text[0]) && text.find(". ") < 3);
  const auto words = std::count(outside.begin(), outside.end(), ' ');
  constexpr int min_words = 3;
  if (!listed || words < min_words) return false;
  bool logged = false;
  const auto look = [&](const Line& line) {
    logged |= classify_line(line) == TextKind::log;
    return !logged;
  };
  cursor.backward(reach, look);
  cursor.forward(reach, look);
  static constexpr std::array<std::string_view, 7> persons{" i ",  " i'm ",     " i've ", " my ",
                                                           " me ", " it fails", " got "};
  return !logged && !contains_one(" " + prose_of(outside), persons) && !is_reported_by_writer(cursor);
}

bool is_in_literal_block(const Cursor& cursor) {
  constexpr int reach = 12;
  const auto indent = [](std::string_view text) { return text.find_first_not_of(" \t"); };
  if (const std::size_t own = indent(cursor.line().text); own == 0 || own == std::string_view::npos) return false;
  bool introduced = false;
  cursor.backward(reach, [&](const Line& line) {
    if (trimmed(line.text).empty() || indent(line.text) > 0) return true;
    introduced = trimmed(line.text).ends_with("::") && classify_line(line) != TextKind::log &&
                 trimmed(line.text).find(' ') != std::string_view::npos;
    return false;
  });
  return introduced && !is_logged(cursor.line()) && !is_reported_by_writer(cursor);
}

// Counts code, prose and log lines around the current one. One log line or a tag decides against text. A line that is
// code itself needs fewer of them.
bool is_quoted_in_text(const Cursor& cursor, bool exact) {
  constexpr int radius = 8;
  const bool code = is_program_text(cursor.line().body());
  const int min_lines = code ? 3 : 4;
  std::array<int, 4> lines{};
  const auto of = [&](TextKind kind) { return lines[static_cast<std::size_t>(kind)]; };
  const auto count = [&](const Line& line) {
    // A job's log may begin with its script. What the script printed is below.
    if (!trimmed(line.body()).empty() && (code || !is_shell_text(line.body())))
      ++lines[static_cast<std::size_t>(classify_line(line))];
    return true;
  };
  bool introduced = false;
  cursor.backward(2, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    introduced = text.ends_with(':') || text.starts_with("```");
    return text.empty();
  });
  cursor.backward(radius, count);
  const int above = of(TextKind::prose);
  cursor.forward(radius, count);
  const bool encloses =
      !(exact && introduced && is_reported_by_writer(cursor)) && (!exact || introduced || of(TextKind::prose) > above);
  const int prose = encloses ? of(TextKind::prose) : 0;
  return !is_logged(cursor.line()) && of(TextKind::log) == 0 && std::max(of(TextKind::program), prose) >= min_lines;
}

}  // namespace oomdoctor
