// A role stands behind its size ("41.5 MB free") or in front of it ("tried to allocate 2 GiB", "free: 41.5 MB"). What a
// colon, an equals sign, a bracket or the next size follows is the label of what comes, not the end of what was.
#include "parse/amounts.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace oomdoctor {
namespace {

constexpr std::size_t reach_back = 8;   ///< words between a role and the size behind it
constexpr std::size_t reach_ahead = 4;  ///< words between a size and the role behind it
constexpr std::size_t near_by = 3;      ///< words between a bare number and the word that makes it a size
constexpr i64 min_bare = 1 << 16;       ///< a number without a unit below it counts no bytes

bool is_quote(char c) { return c == '\'' || c == '"' || c == '`' || c == '-'; }

/// Sizes in words of their own: "MBytes", "gigabytes".
std::optional<std::string_view> unit_word(std::string_view name) {
  using Unit = std::pair<std::string_view, std::string_view>;
  static constexpr auto units = std::to_array<Unit>({{"kbyte", "KB"},
                                                     {"mbyte", "MB"},
                                                     {"gbyte", "GB"},
                                                     {"kilobyte", "KB"},
                                                     {"megabyte", "MB"},
                                                     {"gigabyte", "GB"},
                                                     {"terabyte", "TB"}});
  if (name.ends_with('s')) name.remove_suffix(1);
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.first == name; });
  return unit == units.end() ? std::nullopt : std::optional(unit->second);
}

/// "(MB):", "[MiB] =": the unit that a label names for the number behind it.
std::optional<std::string_view> unit_of_label(const Sentence& sentence, std::size_t number) {
  std::size_t i = number;
  while (i > 0 && sentence.is_mark(i - 1, ":=|")) --i;
  if (i < 3 || !sentence.is_mark(i - 1, ")]") || !sentence.is_mark(i - 3, "([")) return std::nullopt;
  const Token& word = sentence[i - 2];
  return word.kind == Token::Kind::word && unit_bytes(word.text) ? std::optional(word.text) : std::nullopt;
}

constexpr std::array size_roles{Role::unallocated, Role::asked,      Role::free,     Role::largest,
                                Role::used,        Role::allocated,  Role::reserved, Role::total,
                                Role::limit,       Role::difference, Role::sized};

std::optional<Role> role_at(const Sentence& sentence, std::size_t i) {
  if (sentence[i].kind != Token::Kind::word) return std::nullopt;
  for (const Role role : size_roles)
    if (failure_lexicon().match(role, sentence.all(), i)) return role;
  return std::nullopt;
}

/// A role, and the token that tells it.
struct RoleAt {
  std::optional<Role> role;
  std::size_t at = 0;
};

/// Gives the sizes of a sentence their roles, one after the other.
class RoleFinder {
 public:
  RoleFinder(const Sentence& sentence, std::vector<Amount>& amounts) : sentence_(sentence), amounts_(amounts) {}

  void find() {
    for (k_ = 0; k_ < amounts_.size(); ++k_) {
      if (repeats()) {
        amount().role = amounts_[k_ - 1].role;
        continue;
      }
      choose(role_ahead(), role_behind());
      compare();
      divide();
    }
  }

 private:
  Amount& amount() { return amounts_[k_]; }
  const Amount& amount() const { return amounts_[k_]; }
  /// Where the size before it ends, and where the next one begins.
  std::size_t before() const { return k_ > 0 ? amounts_[k_ - 1].end : 0; }
  std::size_t next() const { return k_ + 1 < amounts_.size() ? amounts_[k_ + 1].begin : sentence_.size(); }
  std::size_t ahead_end() const { return std::min(next(), amount().end + reach_ahead); }

  /// The same in other words: "17.29M (18131712 bytes)".
  bool repeats() const {
    return k_ > 0 && amount().begin == before() + 1 && sentence_.is_mark(before(), "(") && amounts_[k_ - 1].role;
  }

  RoleAt role_ahead() const {
    RoleAt ahead;
    for (std::size_t i = amount().end; i < ahead_end() && !ahead.role; ++i) {
      if (sentence_.ends_at(i) || sentence_.is_mark(i, ",:=([|")) break;
      if (const auto role = role_at(sentence_, i); role && *role != Role::sized && *role != Role::difference)
        ahead = {role, i};
    }
    // "reserved by PyTorch but unallocated": what it is not decides.
    for (std::size_t i = ahead.at; ahead.role == Role::reserved && i < std::min(next(), ahead.at + reach_ahead + 1);
         ++i)
      if (role_at(sentence_, i) == Role::unallocated) ahead.role = Role::unallocated;
    if (ahead.role && next() < sentence_.size() && labels_next(ahead.at)) ahead.role.reset();
    return ahead;
  }

  bool labels_next(std::size_t word) const {
    std::size_t i = word + 1;
    while (i < next() && sentence_[i].kind == Token::Kind::word && !sentence_.ends_at(i)) ++i;
    return i < next() ? sentence_.is_mark(i, ":=[(") : word + 2 >= next() && word > amount().end;
  }

  RoleAt role_behind() const {
    RoleAt behind;
    for (std::size_t i = amount().begin; i-- > std::max(taken_, before()) && amount().begin - i <= reach_back;) {
      if (sentence_.ends_at(i) || sentence_.is_mark(i, "|")) break;
      const auto role = role_at(sentence_, i);
      if (!role) continue;
      // A bare "size" is of what the words in front of it say.
      if (behind.role && (*role == Role::sized || behind.at > i + near_by)) break;
      if (behind.role)
        behind.role = role;
      else
        behind = {role, i};
      if (*role != Role::sized) break;
    }
    if (behind.role == Role::sized) behind.role = Role::asked;
    return behind;
  }

  void choose(const RoleAt& ahead, const RoleAt& behind) {
    const bool close = ahead.role && ahead.at <= amount().end + 2;
    if (ahead.role && (close || !behind.role)) {
      amount().role = ahead.role, taken_ = ahead.at + 1;
      // "cannot allocate 12 GB of 16 GB free": what was asked for stands in front of it.
      if (behind.role == Role::asked && behind.at + 1 == amount().begin &&
          std::none_of(amounts_.begin(), amounts_.end(), [](const Amount& a) { return a.role == Role::asked; }))
        amount().role = Role::asked;
    } else {
      amount().role = behind.role;
    }
    // "33817600kb exceeded limit 33554432kb", "(16988160 > 16777216)".
    const std::size_t end = amount().end;
    const bool over =
        end < sentence_.size() && (sentence_[end].name.starts_with("exceed") || sentence_.is_mark(end, ">"));
    if (over && amount().role != Role::asked) amount().role = Role::used;
    if (amount().bare && !over && !(behind.role && amount().begin - behind.at <= near_by)) amount().role.reset();
    if (k_ > 0 && amount().begin <= before() + near_by && sentence_.is_mark(before(), ">") &&
        amounts_[k_ - 1].role == Role::used)
      amount().role = Role::limit;
    said_free_ = amount().role == Role::free && (!behind.role || amount().begin - behind.at <= 2);
  }

  /// "larger than the available memory of the cache (9.42 GiB)": what is compared with bounds it, but for what was
  /// asked for, and what the next word calls free.
  void compare() {
    bool compared = false;
    for (std::size_t i = amount().begin; i-- > before() && amount().begin - i <= reach_back && !compared;)
      compared = sentence_[i].name == "than";
    if (compared && amount().role != Role::asked && !said_free_) amount().role = Role::limit;
  }

  /// "1.05 GiB of 79.25 GiB", "3.2 GB / 8 GB": the second is the whole.
  void divide() {
    const std::size_t from = before();
    const bool of = k_ > 0 && amount().begin > from && amount().begin - from <= near_by &&
                    sentence_[from].name == "of" && (amount().begin == from + 1 || sentence_[from + 1].name != "which");
    const bool per = k_ > 0 && amount().begin == from + 1 && sentence_.is_mark(from, "/");
    if (!of && !per) return;
    // "12.1 GB of 12 GB physical memory used": the last words are of the first size.
    std::optional<Role>& part = amounts_[k_ - 1].role;
    for (std::size_t i = amount().end; i < ahead_end() && !part; ++i)
      if (const auto role = role_at(sentence_, i); role == Role::used || role == Role::free || role == Role::allocated)
        part = role;
    if (amount().role != Role::limit) amount().role = Role::total;
  }

  const Sentence& sentence_;
  std::vector<Amount>& amounts_;
  std::size_t k_ = 0;       ///< the size that is looked at
  std::size_t taken_ = 0;   ///< tokens in front of it belong to sizes that have a role
  bool said_free_ = false;  ///< a word beside it says so
};

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
  const auto token_behind = [&](std::size_t bytes) {
    std::size_t k = i;
    while (k < sentence.size() && sentence[k].begin < token.begin + bytes) ++k;
    return k;
  };
  if (rest.starts_with("0x")) {
    constexpr std::size_t max_digits = 15;  // of what 63 bits hold
    const char* const first = rest.data() + 2;
    i64 value = 0;
    const auto [end, error] = std::from_chars(first, first + std::min(max_digits, rest.size() - 2), value, 16);
    if (error != std::errc() || value < 0) return std::nullopt;  // "0x-8" is no size
    return Amount{i, token_behind(static_cast<std::size_t>(end - rest.data())), {value, 0}, true, {}};
  }
  std::size_t digits = rest.find_first_not_of("0123456789.,");
  digits = std::min(digits, rest.size());
  while (digits > 0 && (rest[digits - 1] == '.' || rest[digits - 1] == ',')) --digits;
  const std::string_view number = rest.substr(0, digits);
  const std::size_t behind = token_behind(digits);
  if (sentence.is_mark(behind, "%")) return std::nullopt;
  // "12.31/23.52 GiB": one unit for both.
  if (sentence.is_mark(behind, "/") && behind + 1 < sentence.size() &&
      sentence[behind + 1].begin == token.begin + digits + 1)
    if (const auto whole = parse_amount(sentence, behind + 1); whole && !whole->bare) {
      const Token& unit = sentence[whole->end - 1];
      if (const auto size = read_bytes(number, unit_word(unit.name).value_or(unit.text)))
        return Amount{i, behind, *size, false, {}};
    }
  // "273. GiB": numpy prints three digits and the point.
  const std::size_t unit = sentence.is_mark(behind, ".") && behind + 1 < sentence.size() ? behind + 1 : behind;
  for (const std::size_t at : {behind, unit}) {
    if (at >= sentence.size() || sentence[at].kind != Token::Kind::word) continue;
    const bool glued = sentence[at].begin == token.begin + digits;
    std::optional<std::string_view> word = unit_word(sentence[at].name);
    if (!word && unit_of(sentence[at].text, glued)) word = sentence[at].text;
    if (!word && glued &&
        (sentence[at].name == "t" || sentence[at].name == "gi" || sentence[at].name == "mi" ||
         sentence[at].name == "ki"))
      word = sentence[at].text;
    if (!word) continue;
    if (const auto size = read_bytes(number, *word)) return Amount{i, at + 1, *size, false, {}};
  }
  if (const auto word = unit_of_label(sentence, i))
    if (const auto size = read_bytes(number, *word)) return Amount{i, behind, *size, false, {}};
  if (const std::size_t point = number.find('.');
      point != number.npos && number.find_first_not_of('0', point + 1) != number.npos)
    return std::nullopt;
  // A number that letters or a colon go on with is a name, a time or an address.
  if (behind < sentence.size() && sentence[behind].begin == token.begin + digits &&
      (sentence[behind].kind == Token::Kind::word || sentence.is_mark(behind, ":/")))
    return std::nullopt;
  const auto size = read_bytes(number.substr(0, number.find('.')), "bytes");
  if (!size || size->count < min_bare) return std::nullopt;
  return Amount{i, behind, *size, true, {}};
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
