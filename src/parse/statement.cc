#include "parse/statement.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "parse/context.h"
#include "parse/lexicon.h"
#include "parse/sizes.h"

namespace oomdoctor {
namespace {

constexpr std::size_t reach_back = 8;    ///< words between a role and the size behind it
constexpr std::size_t reach_ahead = 4;   ///< words between a size and the role behind it
constexpr std::size_t short_front = 12;  ///< words in which a line says how loud it is
constexpr i64 least_bare = 1 << 16;      ///< a number without a unit below it counts no bytes
constexpr int goes_on = 3;               ///< lines behind the first that a statement may take

bool is_quote(char c) { return c == '\'' || c == '"' || c == '`' || c == '-'; }

/// The words, numbers and marks of a text, without hyphens and quotes.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text), lowered_(lower(text)) {
    TokenReader reader(text_, lowered_);
    while (auto token = reader.next())
      if (token->kind != Token::Kind::mark || !is_quote(token->text[0])) all_.push_back(*token);
  }
  std::span<const Token> all() const { return all_; }
  std::size_t size() const { return all_.size(); }
  const Token& operator[](std::size_t i) const { return all_[i]; }
  std::string_view text() const { return text_; }
  bool is_mark(std::size_t i, std::string_view marks) const {
    return i < size() && all_[i].kind == Token::Kind::mark && marks.find(all_[i].text[0]) != marks.npos;
  }
  /// A point that ends a sentence, not one inside of a name or a number.
  bool ends_sentence(std::size_t i) const {
    if (is_mark(i, ";?!")) return true;
    return is_mark(i, ".") && (all_[i].end == text_.size() || text_[all_[i].end] == ' ');
  }

 private:
  std::string_view text_;
  std::string lowered_;
  std::vector<Token> all_;
};

/// Sizes in words of their own: "MBytes", "gigabytes".
std::optional<std::string_view> unit_word(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> long_units{{{"kbytes", "KB"},
                                                                                             {"mbytes", "MB"},
                                                                                             {"gbytes", "GB"},
                                                                                             {"kilobytes", "KB"},
                                                                                             {"megabytes", "MB"},
                                                                                             {"gigabytes", "GB"},
                                                                                             {"kbyte", "KB"},
                                                                                             {"mbyte", "MB"},
                                                                                             {"gbyte", "GB"},
                                                                                             {"megabyte", "MB"},
                                                                                             {"gigabyte", "GB"},
                                                                                             {"terabytes", "TB"}}};
  for (const auto& [name_of, unit] : long_units)
    if (name_of == name) return unit;
  return std::nullopt;
}

struct Amount {
  std::size_t begin = 0, end = 0;  ///< tokens
  Bytes size;
  bool bare = false;  ///< without a unit
  std::optional<Role> role;
};

/// "(MB):", "[MiB] =": the unit that a label names for the number behind it.
std::optional<std::string_view> unit_of_label(const Tokens& tokens, std::size_t number) {
  std::size_t i = number;
  while (i > 0 && tokens.is_mark(i - 1, ":=|")) --i;
  if (i < 3 || !tokens.is_mark(i - 1, ")]") || !tokens.is_mark(i - 3, "([")) return std::nullopt;
  const Token& word = tokens[i - 2];
  return word.kind == Token::Kind::word && unit_bytes(word.text) ? std::optional(word.text) : std::nullopt;
}

std::optional<Amount> amount_at(const Tokens& tokens, std::size_t i) {
  const Token& token = tokens[i];
  if (token.kind != Token::Kind::number) return std::nullopt;
  const std::string_view rest = tokens.text().substr(token.begin);
  const auto token_behind = [&](std::size_t bytes) {
    std::size_t k = i;
    while (k < tokens.size() && tokens[k].begin < token.begin + bytes) ++k;
    return k;
  };
  if (rest.starts_with("0x")) {
    std::size_t digits = 2;
    i64 value = 0;
    for (; digits < rest.size() && std::isxdigit(static_cast<unsigned char>(rest[digits])) != 0 && digits < 17;
         ++digits)
      value = value * 16 + (rest[digits] <= '9' ? rest[digits] - '0' : (rest[digits] | 32) - 'a' + 10);
    return Amount{i, token_behind(digits), {value, 0}, true, {}};
  }
  std::size_t digits = rest.find_first_not_of("0123456789.,");
  digits = std::min(digits, rest.size());
  while (digits > 0 && (rest[digits - 1] == '.' || rest[digits - 1] == ',')) --digits;
  const std::string_view number = rest.substr(0, digits);
  const std::size_t behind = token_behind(digits);
  if (tokens.is_mark(behind, "%")) return std::nullopt;
  // "12.31/23.52 GiB": one unit for both.
  if (tokens.is_mark(behind, "/") && behind + 1 < tokens.size() && tokens[behind + 1].begin == token.begin + digits + 1)
    if (const auto whole = amount_at(tokens, behind + 1); whole && !whole->bare) {
      const Token& unit = tokens[whole->end - 1];
      if (const auto size = read_bytes(number, unit_word(unit.name).value_or(unit.text)))
        return Amount{i, behind, *size, false, {}};
    }
  // "273. GiB": numpy prints three digits and the point.
  const std::size_t unit = tokens.is_mark(behind, ".") && behind + 1 < tokens.size() ? behind + 1 : behind;
  for (const std::size_t at : {behind, unit}) {
    if (at >= tokens.size() || tokens[at].kind != Token::Kind::word) continue;
    const bool glued = tokens[at].begin == token.begin + digits;
    std::optional<std::string_view> word = unit_word(tokens[at].name);
    if (!word && unit_of(tokens[at].text, glued)) word = tokens[at].text;
    if (!word && glued &&
        (tokens[at].name == "t" || tokens[at].name == "gi" || tokens[at].name == "mi" || tokens[at].name == "ki"))
      word = tokens[at].text;
    if (!word) continue;
    if (const auto size = read_bytes(number, *word)) return Amount{i, at + 1, *size, false, {}};
  }
  if (const auto word = unit_of_label(tokens, i))
    if (const auto size = read_bytes(number, *word)) return Amount{i, behind, *size, false, {}};
  if (const std::size_t point = number.find('.');
      point != number.npos && number.find_first_not_of('0', point + 1) != number.npos)
    return std::nullopt;
  // A number that letters or a colon go on with is a name, a time or an address.
  if (behind < tokens.size() && tokens[behind].begin == token.begin + digits &&
      (tokens[behind].kind == Token::Kind::word || tokens.is_mark(behind, ":/")))
    return std::nullopt;
  const auto size = read_bytes(number.substr(0, number.find('.')), "bytes");
  if (!size || size->count < least_bare) return std::nullopt;
  return Amount{i, behind, *size, true, {}};
}

constexpr std::array size_roles{Role::unallocated, Role::asked,      Role::free,     Role::largest,
                                Role::used,        Role::allocated,  Role::reserved, Role::total,
                                Role::limit,       Role::difference, Role::sized};

std::optional<Role> role_at(const Tokens& tokens, std::size_t i) {
  if (tokens[i].kind != Token::Kind::word) return std::nullopt;
  for (const Role role : size_roles)
    if (failure_lexicon().match(role, tokens.all(), i)) return role;
  return std::nullopt;
}

/// All sizes, each with what the words around it make of it.
std::vector<Amount> amounts_of(const Tokens& tokens) {
  std::vector<Amount> amounts;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (auto amount = amount_at(tokens, i)) {
      amounts.push_back(*amount);
      i = std::max(amount->end, i + 1) - 1;
    }
  std::size_t taken = 0;  // tokens whose role belongs to a size already
  for (std::size_t k = 0; k < amounts.size(); ++k) {
    Amount& amount = amounts[k];
    const std::size_t before = k > 0 ? amounts[k - 1].end : 0,
                      next = k + 1 < amounts.size() ? amounts[k + 1].begin : tokens.size();
    // The same in other words: "17.29M (18131712 bytes)".
    if (k > 0 && amount.begin == before + 1 && tokens.is_mark(before, "(") && amounts[k - 1].role) {
      amount.role = amounts[k - 1].role;
      continue;
    }
    std::optional<Role> ahead, behind;
    std::size_t ahead_at = 0, behind_at = 0;
    for (std::size_t i = amount.end; i < std::min(next, amount.end + reach_ahead) && !ahead; ++i) {
      if (tokens.ends_sentence(i) || tokens.is_mark(i, ",:=([|")) break;
      if (const auto role = role_at(tokens, i); role && *role != Role::sized && *role != Role::difference)
        ahead = role, ahead_at = i;
    }
    // "reserved by PyTorch but unallocated": what it is not decides.
    for (std::size_t i = ahead_at; ahead == Role::reserved && i < std::min(next, ahead_at + reach_ahead + 1); ++i)
      if (role_at(tokens, i) == Role::unallocated) ahead = Role::unallocated;
    // What a colon, an equals sign, a bracket or the next size follows is that one's label.
    if (ahead && next < tokens.size()) {
      std::size_t i = ahead_at + 1;
      while (i < next && tokens[i].kind == Token::Kind::word && !tokens.ends_sentence(i)) ++i;
      const bool label = i < next ? tokens.is_mark(i, ":=[(") : ahead_at + 2 >= next && ahead_at > amount.end;
      if (label) ahead.reset();
    }
    for (std::size_t i = amount.begin; i-- > std::max(taken, before) && amount.begin - i <= reach_back;) {
      if (tokens.ends_sentence(i) || tokens.is_mark(i, "|")) break;
      const auto role = role_at(tokens, i);
      if (!role) continue;
      // A bare "size" is of what the words in front of it say.
      if (behind && (*role == Role::sized || behind_at > i + 3)) break;
      if (!behind || behind == Role::sized) behind = role, behind_at = behind ? std::max(behind_at, i) : i;
      if (*role != Role::sized) break;
    }
    if (behind == Role::sized) behind = Role::asked;
    const bool close = ahead && ahead_at <= amount.end + 2;
    if (ahead && (close || !behind)) {
      amount.role = ahead, taken = ahead_at + 1;
      // "cannot allocate 12 GB of 16 GB free": what was asked for stands in front of it.
      if (behind == Role::asked && behind_at + 1 == amount.begin &&
          std::none_of(amounts.begin(), amounts.end(), [](const Amount& a) { return a.role == Role::asked; }))
        amount.role = Role::asked;
    } else {
      amount.role = behind;
    }
    // "33817600kb exceeded limit 33554432kb", "(16988160 > 16777216)".
    const bool over = amount.end < tokens.size() &&
                      (tokens[amount.end].name.starts_with("exceed") || tokens.is_mark(amount.end, ">"));
    if (over && amount.role != Role::asked) amount.role = Role::used;
    if (amount.bare && !over && !(behind && amount.begin - behind_at <= 3)) amount.role.reset();
    if (k > 0 && amount.begin <= before + 3 && tokens.is_mark(before, ">") && amounts[k - 1].role == Role::used)
      amount.role = Role::limit;
    // "larger than the available memory of the cache (9.42 GiB)": what is compared with bounds it, but for what was
    // asked for, and what the next word calls free.
    bool compared = false;
    for (std::size_t i = amount.begin; i-- > before && amount.begin - i <= reach_back && !compared;)
      compared = tokens[i].name == "than";
    const bool said_free = amount.role == Role::free && (!behind || amount.begin - behind_at <= 2);
    if (compared && amount.role != Role::asked && !said_free) amount.role = Role::limit;
    // "1.05 GiB of 79.25 GiB": the second is the whole.
    const bool of = k > 0 && amount.begin > before && amount.begin - before <= 3 && tokens[before].name == "of" &&
                    (amount.begin == before + 1 || tokens[before + 1].name != "which");
    const bool per = k > 0 && amount.begin == before + 1 && tokens.is_mark(before, "/");
    if (of || per) {
      // "12.1 GB of 12 GB physical memory used": the last words are of the first size.
      for (std::size_t i = amount.end; i < std::min(next, amount.end + reach_ahead) && !amounts[k - 1].role; ++i)
        if (const auto role = role_at(tokens, i); role == Role::used || role == Role::free || role == Role::allocated)
          amounts[k - 1].role = role;
      if (amount.role != Role::limit) amount.role = Role::total;
    }
  }
  return amounts;
}

void set_sizes(Statement& statement, const Tokens& tokens) {
  const auto put = [](std::optional<Bytes>& place, Bytes size) {
    if (!place || (size.slack < place->slack && std::abs(size.count - place->count) <= 2 * place->slack)) place = size;
  };
  std::optional<Bytes> resident;  // the kernel prints its parts
  for (const Amount& amount : amounts_of(tokens)) {
    if (!amount.role) continue;
    const auto word_before = [&](std::size_t back) {
      return amount.begin >= back ? tokens[amount.begin - back].name : std::string_view();
    };
    if (amount.role == Role::used && word_before(2) == "rss") {
      // Pages of files are given back before anybody is killed.
      if (word_before(3) != "file") resident = resident ? *resident + amount.size : amount.size;
      continue;
    }
    switch (*amount.role) {
      case Role::asked:
        put(statement.asked, amount.size);
        break;
      case Role::free:
        // "available" may be all that there is; what is left of it is the smaller one.
        if (!statement.free || amount.size.count < statement.free->count) statement.free = amount.size;
        break;
      case Role::used:
        put(statement.used, amount.size);
        break;
      case Role::allocated:
        put(statement.allocated, amount.size);
        break;
      case Role::reserved:
        put(statement.reserved, amount.size);
        break;
      case Role::unallocated:
        put(statement.unallocated, amount.size);
        break;
      case Role::total:
        put(statement.total, amount.size);
        break;
      case Role::limit:
        put(statement.limit, amount.size);
        break;
      default:
        break;
    }
  }
  if (resident) statement.used = resident;
  if (statement.allocated && statement.unallocated && !statement.reserved)
    statement.reserved = *statement.allocated + *statement.unallocated;
  // What was to be used of more than there is was asked for.
  if (!statement.killed && !statement.asked && statement.used && statement.total &&
      statement.used->count > statement.total->count)
    statement.asked = std::exchange(statement.used, std::nullopt);
}

std::optional<OomKind> kind_of(const Tokens& tokens, bool killed) {
  const Lexicon& words = failure_lexicon();
  const auto holds = [&](Role role) { return words.find(role, tokens.all(), 0, tokens.size()).has_value(); };
  if (holds(Role::shared)) return OomKind::shared_memory;
  if (killed) return OomKind::host;
  // "host memory", "system RAM": more exact than a device somewhere on the line.
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
    if ((tokens[i].name == "host" || tokens[i].name == "system" || tokens[i].name == "cpu") &&
        (tokens[i + 1].name == "memory" || tokens[i + 1].name == "ram"))
      return OomKind::host;
  if (holds(Role::device)) return OomKind::device;
  if (holds(Role::host)) return OomKind::host;
  if (holds(Role::pool)) return OomKind::pool;
  return std::nullopt;
}

std::optional<int> device_in(const Tokens& tokens) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::string_view name = tokens[i].name;
    if (name != "gpu" && name != "device" && name != "cuda" && name != "gpu_id" && name != "device_id" &&
        name != "ordinal")
      continue;
    std::size_t k = i + 1;
    while (k < tokens.size() && k < i + 3 && tokens.is_mark(k, ":#=[(")) ++k;
    if (k >= tokens.size() || tokens[k].kind != Token::Kind::number || tokens[k].end - tokens[k].begin > 2) continue;
    const bool size =
        k + 1 < tokens.size() && tokens[k + 1].kind == Token::Kind::word && unit_of(tokens[k + 1].text, false);
    if (tokens[k].number.decimals == 0 && !size) return static_cast<int>(tokens[k].number.value);
  }
  return std::nullopt;
}

/// "Killed process 4411", "(pid: 812)".
std::optional<i64> pid_in(const Tokens& tokens) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].name != "process" && tokens[i].name != "pid") continue;
    std::size_t k = i + 1;
    while (k < tokens.size() && k < i + 3 && tokens.is_mark(k, ":=(")) ++k;
    if (k >= tokens.size() || tokens[k].kind != Token::Kind::number || tokens[k].number.decimals > 0) continue;
    if (!amount_at(tokens, k) && tokens[k].number.value >= 2) return whole_number(tokens[k].number.value);
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
bool is_glog(const Tokens& tokens, char level) {
  const std::string_view name = tokens.size() > 0 ? tokens[0].name : std::string_view();
  return name.size() == 5 && name[0] == level &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The trigger is a part of a name: of an option, a path, a function, a setting.
bool is_name(const Tokens& tokens, PhraseAt trigger) {
  const std::string_view text = tokens.text();
  const Token &first = tokens[trigger.begin], &last = tokens[trigger.end - 1];
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
  if (single && tokens.is_mark(trigger.end, "=")) return true;
  // "oom: 0", "OOM: false": a counter or a switch.
  if (single && tokens.is_mark(trigger.end, ":") && trigger.end + 1 < tokens.size()) {
    const Token& value = tokens[trigger.end + 1];
    const bool off = value.name == "false" || value.name == "true" || value.name == "null" || value.name == "none";
    if (off || (value.kind == Token::Kind::number && value.number.value == 0)) return true;
  }
  return false;
}

/// The part of the text that the trigger stands in, as tokens.
std::pair<std::size_t, std::size_t> sentence_around(const Tokens& tokens, PhraseAt trigger) {
  std::size_t begin = trigger.begin, end = trigger.end;
  while (begin > 0 && !tokens.ends_sentence(begin - 1)) --begin;
  while (end < tokens.size() && !tokens.ends_sentence(end)) ++end;
  return {begin, end};
}

struct Triggered {
  PhraseAt at;
  bool weak = false;
};

std::optional<Triggered> trigger_of(const Tokens& tokens) {
  const Lexicon& words = failure_lexicon();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != Token::Kind::word) continue;
    for (const bool weak : {false, true}) {
      const auto found = words.match(weak ? Role::weak : Role::trigger, tokens.all(), i);
      if (!found || is_name(tokens, *found)) continue;
      if (!weak) return Triggered{*found, false};
      const auto [begin, end] = sentence_around(tokens, *found);
      // Memory that the trigger itself names is enough where it is a call's name.
      const bool memory =
          words.find(Role::memory, tokens.all(), begin, found->begin) ||
          words.find(Role::memory, tokens.all(), found->end, end) ||
          std::any_of(tokens.all().begin() + static_cast<std::ptrdiff_t>(found->begin),
                      tokens.all().begin() + static_cast<std::ptrdiff_t>(found->end), [](const Token& t) {
                        return t.name.find("mem") != t.name.npos ||
                               (t.name.find("alloc") != t.name.npos && !t.name.starts_with("alloc")) ||
                               t.name == "ram" || t.name == "vram" || t.name == "oom" || t.name == "rss" ||
                               t.name == "heap";
                      });
      bool size = false;
      for (std::size_t k = begin; k < end && !size; ++k)
        if (const auto amount = amount_at(tokens, k)) size = !amount->bare || amount->size.count >= MiB;
      if (memory || size) return Triggered{*found, true};
    }
  }
  return std::nullopt;
}

bool shows_a_program(const Tokens& tokens, const Triggered& trigger, const Statement& statement) {
  const Lexicon& words = failure_lexicon();
  const std::size_t front = std::min(tokens.size(), std::max(short_front, trigger.at.end));
  if (statement.status || statement.asked || (statement.free && !trigger.weak) || names_source(tokens.text()))
    return true;
  if (is_glog(tokens, 'e') || is_glog(tokens, 'f') || words.find(Role::loud, tokens.all(), 0, front)) return true;
  const auto [begin, end] = sentence_around(tokens, trigger.at);
  if (words.find(Role::loud, tokens.all(), begin, end)) return true;
  // "Job 12 exceeded its memory limit": somebody speaks of a process.
  if ((statement.killed || trigger.weak) && words.find(Role::victim, tokens.all(), begin, end)) return true;
  // It says nothing else: the trigger begins the line or what a colon announces, and the sentence ends with it.
  const std::size_t announced =
      trigger.at.begin >= 2 && tokens.is_mark(trigger.at.begin - 2, ":])>") ? trigger.at.begin - 1 : trigger.at.begin;
  const bool opens = announced <= begin + 1 || tokens.is_mark(announced - 1, ":])>");
  return opens && end <= trigger.at.end + 4;
}

}  // namespace

Statement read_statement(std::string_view text) {
  Statement statement;
  const Tokens tokens(text);
  const Lexicon& words = failure_lexicon();
  const auto trigger = trigger_of(tokens);
  if (!trigger || is_program_text(text)) return statement;
  const auto [begin, end] = sentence_around(tokens, trigger->at);
  for (std::size_t i = begin; i < trigger->at.begin; ++i)
    if (words.match(Role::unreal, tokens.all(), i)) return statement;
  if (words.find(Role::other, tokens.all(), 0, tokens.size())) return statement;
  if (trigger->at.end < tokens.size() && words.match(Role::idle, tokens.all(), trigger->at.end)) return statement;
  if (end < tokens.size() && tokens.is_mark(end, "?")) return statement;
  const Token& first = tokens[trigger->at.begin];
  const bool one_word = trigger->at.end == trigger->at.begin + 1;
  statement.status = one_word && !trigger->weak && first.name.size() > 6 &&
                     (first.text.find('_') != first.text.npos || first.name.ends_with("error") ||
                      (first.text[0] >= 'A' && first.text[0] <= 'Z') || first.name != first.text);
  for (std::size_t i = begin; i < end && !statement.killed; ++i)
    statement.killed = tokens[i].name.starts_with("kill") || tokens[i].name.find("oomkill") != std::string_view::npos ||
                       tokens[i].name.find("oom_kill") != std::string_view::npos || tokens[i].name == "evicted";
  set_sizes(statement, tokens);
  statement.kind = kind_of(tokens, statement.killed);
  statement.device = statement.kind == OomKind::host ? std::nullopt : device_in(tokens);
  if (statement.killed) statement.pid = pid_in(tokens);
  // What a killed process may hold is its limit, not the size of the machine.
  if (statement.killed && statement.used && statement.total && !statement.limit &&
      statement.total->count <= statement.used->count)
    statement.limit = std::exchange(statement.total, std::nullopt);
  statement.handled = words.find(Role::handled, tokens.all(), trigger->at.end, tokens.size()).has_value();
  const bool calm = words.find(Role::calm, tokens.all(), 0, std::min(tokens.size(), short_front)).has_value() &&
                    !words.find(Role::loud, tokens.all(), begin, end);
  // A warning of something large is none of a failure.
  const bool warns =
      is_glog(tokens, 'w') ||
      std::any_of(tokens.all().begin(),
                  tokens.all().begin() + static_cast<std::ptrdiff_t>(std::min(tokens.size(), short_front)),
                  [](const Token& t) { return t.name == "w" || t.name.starts_with("warn"); });
  if (warns && trigger->weak && !statement.killed && !words.find(Role::loud, tokens.all(), begin, end))
    return statement;
  const bool shown = shows_a_program(tokens, *trigger, statement);
  statement.voice = shown && (!calm || statement.asked || statement.status) ? Voice::statement : Voice::unclear;
  statement.bare = tokens.size() <= 2 && one_word && !statement.killed && statement.status && !statement.asked;
  return statement;
}

namespace {

/// Does this line go on with the statement of the line before it?
bool continues(std::string_view so_far, const Line& line) {
  const std::string_view text = trimmed(line.body());
  if (text.empty() || text.starts_with("Traceback") || text.starts_with("File \"") || text.starts_with("at "))
    return false;
  const Tokens tokens(text);
  if (trigger_of(tokens)) return false;
  const char last = so_far.back();
  if ((last >= '0' && last <= '9') || last == ',' || last == '(' || last == ':' || last == '=')
    return !line.prefix.time;
  const auto amounts = amounts_of(tokens);
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
  const int least_words = item > 0 ? 5 : 8, least_small = item > 0 ? 1 : 2;
  text.remove_prefix(item);
  if (text.find("  ") != text.npos || text.find('=') != text.npos || text[0] == '[') return false;
  int words = 0, known = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    ++words;
    known += std::find(small.begin(), small.end(), text.substr(at, end - at)) != small.end() ? 1 : 0;
    at = end + 1;
  }
  return words >= least_words && known >= least_small;
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

bool stands_in_text(const Cursor& cursor) {
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
