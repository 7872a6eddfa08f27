// A role is before its size ("tried to allocate 2 GiB", "free: 41.5 MB") or after it ("41.5 MB free"). A word before a
// colon, an equals sign, a bracket or the next size labels the next size, not the one before it.
#include "read/amounts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_before = 8;    ///< max tokens from a role to a size after it
constexpr std::size_t max_after = 4;     ///< max tokens from a size to a role after it
constexpr std::size_t max_bare_gap = 3;  ///< max tokens between a bare number and the word that makes it a size
constexpr i64 min_bare = 1 << 16;        ///< a smaller number without a unit is not a number of bytes

bool is_quote(char c) { return c == '\'' || c == '"' || c == '`' || c == '-'; }

/// Units written as words: "MBytes", "gigabytes".
std::optional<std::string_view> unit_word(std::string_view name) {
  using UnitWord = std::pair<std::string_view, std::string_view>;
  static constexpr auto units = std::to_array<UnitWord>({{"kbyte", "KB"},
                                                         {"mbyte", "MB"},
                                                         {"gbyte", "GB"},
                                                         {"kilobyte", "KB"},
                                                         {"megabyte", "MB"},
                                                         {"gigabyte", "GB"},
                                                         {"terabyte", "TB"}});
  if (name.ends_with('s')) name.remove_suffix(1);
  const auto unit = std::find_if(units.begin(), units.end(), [&](const UnitWord& u) { return u.first == name; });
  return unit == units.end() ? std::nullopt : std::optional(unit->second);
}

/// The unit in the label before a number: "(MB):", "[MiB] =".
std::optional<std::string_view> find_label_unit(const Sentence& sentence, std::size_t number) {
  std::size_t i = number;
  while (i > 0 && sentence.is_mark(i - 1, ":=|")) --i;
  if (i < 3 || !sentence.is_mark(i - 1, ")]") || !sentence.is_mark(i - 3, "([")) return std::nullopt;
  const Token& word = sentence[i - 2];
  return word.kind == Token::Kind::word && unit_bytes(word.text) ? std::optional(word.text) : std::nullopt;
}

constexpr std::array size_roles{Role::unallocated, Role::asked,      Role::free,     Role::largest,
                                Role::used,        Role::allocated,  Role::reserved, Role::total,
                                Role::limit,       Role::difference, Role::sized};

/// "Cache usage 21749760", "swap used: 3 GB": what the system keeps, not what a process uses.
bool is_kept_by_system(const Sentence& sentence, std::size_t use) {
  return use > 0 && one_of(sentence[use - 1].name, {"cache", "caches", "buffers", "swap"});
}

std::optional<Role> role_at(const Sentence& sentence, std::size_t i) {
  if (sentence[i].kind != Token::Kind::word) return std::nullopt;
  for (const Role role : size_roles)
    if (failure_lexicon().match(role, sentence.all(), i))
      return role == Role::used && is_kept_by_system(sentence, i) ? std::nullopt : std::optional(role);
  return std::nullopt;
}

/// A role, and the index of its token.
struct RoleAt {
  std::optional<Role> role;
  std::size_t at = 0;
};

/// Assigns roles to the sizes of a sentence, from left to right. A word that gave one size its role is not used for
/// the next.
class RoleFinder {
 public:
  RoleFinder(const Sentence& sentence, std::vector<Amount>& amounts) : sentence_(sentence), amounts_(amounts) {}

  void find() {
    for (current_ = 0; current_ < amounts_.size(); ++current_) {
      if (repeats()) {
        amount().role = amounts_[current_ - 1].role;
        continue;
      }
      choose(role_after(), role_before());
      compare();
      divide();
    }
  }

 private:
  Amount& amount() { return amounts_[current_]; }
  const Amount& amount() const { return amounts_[current_]; }
  /// The end of the size before this one, and the begin of the next one.
  std::size_t previous_end() const { return current_ > 0 ? amounts_[current_ - 1].end : 0; }
  std::size_t next_begin() const {
    return current_ + 1 < amounts_.size() ? amounts_[current_ + 1].begin : sentence_.size();
  }
  std::size_t search_end() const { return std::min(next_begin(), amount().end + max_after); }

  /// The same size in other units: "17.29M (18131712 bytes)".
  bool repeats() const {
    if (current_ == 0 || amount().begin != previous_end() + 1 || !sentence_.is_mark(previous_end(), "(")) return false;
    const Amount& before = amounts_[current_ - 1];
    constexpr double rounding = 0.1;  // units of 2^30 and 10^9 bytes differ by 7%
    const auto a = static_cast<double>(amount().size.count), b = static_cast<double>(before.size.count);
    return before.role && std::abs(a - b) <= rounding * std::max(a, b);
  }

  /// The first role after the size. None if a mark ends the search, or if the word labels the next size.
  RoleAt role_after() const {
    RoleAt after;
    for (std::size_t i = amount().end; i < search_end() && !after.role; ++i) {
      if (sentence_.ends_at(i) || sentence_.is_mark(i, ",:=([|")) break;
      if (const auto role = role_at(sentence_, i); role && *role != Role::sized && *role != Role::difference)
        after = {role, i};
    }
    // "reserved by PyTorch but unallocated" means unallocated.
    for (std::size_t i = after.at; after.role == Role::reserved && i < std::min(next_begin(), after.at + max_after + 1);
         ++i)
      if (role_at(sentence_, i) == Role::unallocated) after.role = Role::unallocated;
    if (after.role && next_begin() < sentence_.size() && labels_next(after.at)) after.role.reset();
    return after;
  }

  /// True if the word is the label of the next size: a mark follows it, or the next size itself.
  bool labels_next(std::size_t word) const {
    std::size_t i = word + 1;
    while (i < next_begin() && sentence_[i].kind == Token::Kind::word && !sentence_.ends_at(i)) ++i;
    return i < next_begin() ? sentence_.is_mark(i, ":=[(") : word + 2 >= next_begin() && word > amount().end;
  }

  /// The nearest role before the size.
  RoleAt role_before() const {
    RoleAt before;
    for (std::size_t i = amount().begin;
         i-- > std::max(used_tokens_, previous_end()) && amount().begin - i <= max_before;) {
      if (sentence_.ends_at(i) || sentence_.is_mark(i, "|")) break;
      const auto role = role_at(sentence_, i);
      if (!role) continue;
      // "size" alone means what the words before it name, else the request.
      if (before.role && (*role == Role::sized || before.at > i + max_bare_gap)) break;
      if (before.role)
        before.role = role;
      else
        before = {role, i};
      if (*role != Role::sized) break;
    }
    if (before.role == Role::sized) before.role = Role::asked;
    return before;
  }

  /// A role close after the size wins, else one before it, else one farther after it.
  void choose(const RoleAt& after, const RoleAt& before) {
    const bool close = after.role && after.at <= amount().end + 2;
    if (after.role && (close || !before.role)) {
      amount().role = after.role, used_tokens_ = after.at + 1;
      // "cannot allocate 12 GB of 16 GB free": the role of the request is before it.
      if (before.role == Role::asked && before.at + 1 == amount().begin &&
          std::none_of(amounts_.begin(), amounts_.end(), [](const Amount& a) { return a.role == Role::asked; }))
        amount().role = Role::asked;
    } else {
      amount().role = before.role;
    }
    // "33817600kb exceeded limit 33554432kb", "(16988160 > 16777216)": the first is used, the second the limit.
    const std::size_t end = amount().end;
    const bool over =
        end < sentence_.size() && (sentence_[end].name.starts_with("exceed") || sentence_.is_mark(end, ">"));
    // "memory limit of 512 MB exceeded": the limit is named before it.
    const bool named = before.role == Role::limit && before.at + 2 == amount().begin &&
                       sentence_[before.at + 1].name == "of" && !sentence_.is_mark(end, ">");
    if (over && named)
      amount().role = Role::limit;
    else if (over && amount().role != Role::asked)
      amount().role = Role::used;
    if (amount().bare && !over && !(before.role && amount().begin - before.at <= max_bare_gap)) amount().role.reset();
    if (current_ > 0 && amount().begin <= previous_end() + max_bare_gap && sentence_.is_mark(previous_end(), ">") &&
        amounts_[current_ - 1].role == Role::used)
      amount().role = Role::limit;
    labelled_free_ = amount().role == Role::free && (!before.role || amount().begin - before.at <= 2);
  }

  /// "has exceeded maxRSS: 4096 MB"; but "exceeded by 4 MB", "exceeded, used 4 MB".
  bool is_exceeded() const {
    for (std::size_t i = amount().begin; i-- > previous_end() && amount().begin - i <= max_bare_gap;) {
      if (sentence_.is_mark(i, ",") || role_at(sentence_, i) == Role::difference) return false;
      if (sentence_[i].name.starts_with("exceed")) return true;
    }
    return false;
  }

  /// "larger than the available memory of the cache (9.42 GiB)": the size after "than" is a limit, unless it is the
  /// request or a word next to it marks it as free. So is the object of "exceeded".
  void compare() {
    bool compared = !amount().role && is_exceeded();
    for (std::size_t i = amount().begin; i-- > previous_end() && amount().begin - i <= max_before && !compared;)
      compared = sentence_[i].name == "than";
    if (compared && amount().role != Role::asked && !labelled_free_) amount().role = Role::limit;
    if (amount().role == Role::limit && is_floor()) amount().role.reset();
  }

  /// "cache usage is less than minimum 400 MB", "below the threshold of 2 GB": a least size does not limit what a
  /// process may use. "Below the allowed maximum" is a limit.
  bool is_floor() const {
    bool below = false;
    for (std::size_t i = amount().begin; i-- > previous_end() && amount().begin - i <= max_before;) {
      const std::string_view name = sentence_[i].name;
      if (sentence_.ends_at(i) || name.starts_with("limit") || name.starts_with("max") ||
          one_of(name, {"allowed", "permitted", "quota", "cap", "ceiling"}))
        return false;
      below |= one_of(name, {"minimum", "min", "floor", "below", "beneath", "under"});
    }
    return below;
  }

  /// "1.05 GiB of 79.25 GiB", "3.2 GB / 8 GB": the second is the total.
  void divide() {
    const std::size_t from = previous_end();
    const bool of = current_ > 0 && amount().begin > from && amount().begin - from <= max_bare_gap &&
                    sentence_[from].name == "of" && sentence_[from + 1].name != "which";
    const bool per = current_ > 0 && amount().begin == from + 1 && sentence_.is_mark(from, "/");
    if (!of && !per) return;
    // "12.1 GB of 12 GB physical memory used": "used" belongs to the first size.
    std::optional<Role>& part = amounts_[current_ - 1].role;
    for (std::size_t i = amount().end; i < search_end() && !part; ++i)
      if (const auto role = role_at(sentence_, i); role == Role::used || role == Role::free || role == Role::allocated)
        part = role;
    if (amount().role != Role::limit) amount().role = Role::total;
  }

  const Sentence& sentence_;
  std::vector<Amount>& amounts_;
  std::size_t current_ = 0;      ///< index of the current size
  std::size_t used_tokens_ = 0;  ///< tokens before this index belong to sizes that have a role
  bool labelled_free_ = false;   ///< a word next to the size marks it as free
};

/// "7 B parameters", "70B weights" are billions.
bool counts_billions(const Sentence& sentence, std::size_t word) {
  constexpr std::array<std::string_view, 4> counted = {"param", "weight", "model", "token"};
  return word < sentence.size() &&
         std::ranges::any_of(counted, [&](std::string_view stem) { return sentence[word].name.starts_with(stem); });
}

}  // namespace

Sentence::Sentence(std::string_view text) : text_(text), lowered_(lower(text)) {
  TokenReader reader(text_, lowered_);
  while (auto token = reader.next())
    if (token->kind != Token::Kind::mark || !is_quote(token->text[0])) all_.push_back(*token);
}

bool Sentence::is_mark(std::size_t i, std::string_view marks) const {
  return i < size() && all_[i].kind == Token::Kind::mark && marks.find(all_[i].text[0]) != marks.npos;
}

bool Sentence::ends_at(std::size_t i) const {
  if (is_mark(i, ";?!")) return true;
  return is_mark(i, ".") && (all_[i].end == text_.size() || text_[all_[i].end] == ' ');
}

std::optional<Amount> parse_amount(const Sentence& sentence, std::size_t i) {
  const Token& token = sentence[i];
  if (token.kind != Token::Kind::number) return std::nullopt;
  const std::string_view rest = sentence.text().substr(token.begin);
  const auto token_after = [&](std::size_t bytes) {
    std::size_t k = i;
    while (k < sentence.size() && sentence[k].begin < token.begin + bytes) ++k;
    return k;
  };
  if (rest.starts_with("0x")) {
    constexpr std::size_t max_digits = 15;  // 15 hex digits always fit into 63 bits
    const char* const first = rest.data() + 2;
    i64 value = 0;
    const auto [end, error] = std::from_chars(first, first + std::min(max_digits, rest.size() - 2), value, 16);
    if (error != std::errc() || value < 0) return std::nullopt;  // "0x-8" is not a size
    constexpr i64 least_address = i64{1} << 40;  // programs print larger sizes in decimals; addresses lie above it
    if (value >= least_address || (i > 0 && sentence[i - 1].name == "at")) return std::nullopt;
    return Amount{i, token_after(static_cast<std::size_t>(end - rest.data())), {value, 0}, true, {}};
  }
  std::size_t digits = rest.find_first_not_of("0123456789.,");
  digits = std::min(digits, rest.size());
  while (digits > 0 && (rest[digits - 1] == '.' || rest[digits - 1] == ',')) --digits;
  const std::string_view number = rest.substr(0, digits);
  const std::size_t after = token_after(digits);
  if (sentence.is_mark(after, "%")) return std::nullopt;
  // "12.31/23.52 GiB": both share one unit.
  if (sentence.is_mark(after, "/") && after + 1 < sentence.size() &&
      sentence[after + 1].begin == token.begin + digits + 1)
    if (const auto whole = parse_amount(sentence, after + 1); whole && !whole->bare) {
      const Token& unit = sentence[whole->end - 1];
      if (const auto size = read_bytes(number, unit_word(unit.name).value_or(unit.text)))
        return Amount{i, after, *size, false, {}};
    }
  // "273. GiB": numpy prints three digits and a point.
  const std::size_t unit = sentence.is_mark(after, ".") && after + 1 < sentence.size() ? after + 1 : after;
  for (const std::size_t at : {after, unit}) {
    if (at >= sentence.size() || sentence[at].kind != Token::Kind::word) continue;
    const bool glued = sentence[at].begin == token.begin + digits;
    if (sentence[at].name == "b" && counts_billions(sentence, at + 1)) continue;
    std::optional<std::string_view> word = unit_word(sentence[at].name);
    if (!word && read_unit(sentence[at].text, glued)) word = sentence[at].text;
    if (!word && sentence[at].name == "b") word = "bytes";
    if (!word && glued &&
        (sentence[at].name == "t" || sentence[at].name == "gi" || sentence[at].name == "mi" ||
         sentence[at].name == "ki"))
      word = sentence[at].text;
    if (!word) continue;
    if (const auto size = read_bytes(number, *word)) return Amount{i, at + 1, *size, false, {}};
  }
  if (const auto word = find_label_unit(sentence, i))
    if (const auto size = read_bytes(number, *word)) return Amount{i, after, *size, false, {}};
  if (const std::size_t point = number.find('.');
      point != number.npos && number.find_first_not_of('0', point + 1) != number.npos)
    return std::nullopt;
  // A number followed directly by letters, a slash, or a colon with more, is a name, a time or an address.
  if (after < sentence.size() && sentence[after].begin == token.begin + digits) {
    const std::string_view tail = rest.substr(digits);
    const bool ends_label = tail == ":" || tail.starts_with(": ");
    if (sentence[after].kind == Token::Kind::word || (sentence.is_mark(after, ":/") && !ends_label))
      return std::nullopt;
  }
  // "job 3264830 exceeded its limit": the number is a name.
  if (i > 0 &&
      one_of(sentence[i - 1].name, {"job", "jobid", "pid", "process", "task", "step", "container", "id", "uid"}))
    return std::nullopt;
  const auto size = read_bytes(number.substr(0, number.find('.')), "bytes");
  if (!size || size->count < min_bare) return std::nullopt;
  return Amount{i, after, *size, true, {}};
}

std::vector<Amount> parse_amounts(const Sentence& sentence) {
  std::vector<Amount> amounts;
  for (std::size_t i = 0; i < sentence.size(); ++i)
    if (auto amount = parse_amount(sentence, i)) {
      amounts.push_back(*amount);
      i = std::max(amount->end, i + 1) - 1;
    }
  RoleFinder(sentence, amounts).find();
  return amounts;
}

}  // namespace oomdoctor
