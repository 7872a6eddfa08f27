#include "formats/format_notation.h"

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "base/edit_distance.h"
#include "read/line_format.h"
#include "text/pattern.h"

namespace oomdoctor {
namespace {

constexpr std::size_t npos = std::string_view::npos;
/// Each optional part doubles the number of ways to read a line.
constexpr std::ptrdiff_t max_optional_parts = 6;

void check_name(const TomlTable& table, std::string_view key, std::string_view notation, std::string_view name,
                std::size_t at) {
  const auto known = number_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  table.fail(key, "there is no number \"" + std::string(name) + '"',
             nearest_or_all(name, std::vector<std::string>(known.begin(), known.end())), notation, at);
}

void check_form(const TomlTable& table, std::string_view form) {
  bool inside = false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '{') {
      const std::size_t close = form.find('}', i);
      if (close == npos) table.fail("form", "a { has no }", "write {skip} for a number that does not matter", form, i);
      check_name(table, "form", form, form.substr(i + 1, close - i - 1), i + 1);
      i = close;
    } else if (form[i] == '<') {
      if (inside) table.fail("form", "parts in < and > do not nest", {}, form, i);
      if (form.find('>', i) == npos)
        table.fail("form", "a < has no >", "a part between < and > may be absent; a line that has them needs a regex",
                   form, i);
      inside = true;
    } else if (form[i] == '>') {
      inside = false;
    }
  }
  if (std::count(form.begin(), form.end(), '<') > max_optional_parts)
    table.fail("form", "at most six parts may be absent", "declare two formats", form, form.rfind('<'));
}

/// The position of a repetition without an upper bound, or npos.
std::size_t unbounded_at(std::string_view regex) {
  bool repeats = false;  // the text before is a repetition: a + after it makes it possessive
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '*' || (c == '+' && !repeats)) return i;
    repeats = c == '?';
    if (c == '\\') {
      ++i;
    } else if (c == '[') {
      i = find_class_end(regex, i);
    } else if (c == '{') {
      std::size_t end = i + 1;
      while (end < regex.size() && is_digit(regex[end])) ++end;
      if (regex.substr(end).starts_with(",}")) return i;
      repeats = true;
    } else if (c == '}') {
      repeats = true;
    }
  }
  return npos;
}

/// The position of syntax that would break the group numbers of named_groups(), or npos.
std::size_t unsupported_at(std::string_view regex) {
  for (std::size_t i = 0; i + 1 < regex.size(); ++i) {
    if (regex[i] == '\\' && regex[i + 1] == 'Q') return i;
    if (regex[i] == '\\')
      ++i;
    else if (regex[i] == '[')
      i = find_class_end(regex, i);
    else if (regex.substr(i).starts_with("(?") && std::string_view(":=!<>i").find(regex[i + 2]) == npos)
      return i;
  }
  return npos;
}

/// Limits of a user's regex. A line format is a short text with a few numbers.
struct Limits {
  static constexpr std::size_t bytes = 600, repetitions = 32;
  static constexpr double count = 1000;       ///< of one repetition
  static constexpr double product = 100'000;  ///< of nested repetitions
};

/// The upper bound of the repetition at `at`, 1 if there is none. Moves `at` past it.
double count_at(std::string_view regex, std::size_t& at) {
  if (at >= regex.size()) return 1;
  const char c = regex[at];
  double bound = 1;
  if (c == '?') {
    ++at;
  } else if (c == '{' && at + 1 < regex.size() && is_digit(regex[at + 1])) {
    const std::size_t end = std::min(regex.find('}', at), regex.size());
    const std::size_t comma = regex.substr(0, end).rfind(',');
    std::size_t digit = comma != npos && comma > at ? comma + 1 : at + 1;
    for (bound = 0; digit < end && is_digit(regex[digit]) && bound < 1e12; ++digit)
      bound = bound * 10 + (regex[digit] - '0');
    at = std::min(end + 1, regex.size());
  } else {
    return 1;
  }
  return std::max(bound, 1.0);
}

/// The first excess over the limits; `too_much_at` is npos if there is none.
struct Cost {
  std::size_t excess_at = npos;
  const char* why = "";
};

/// Checks the number of repetitions and the product of nested ones. Nested repetitions can make a search take forever.
Cost check_cost(std::string_view regex) {
  if (regex.size() > Limits::bytes) return {Limits::bytes, "a regex has at most 600 bytes"};
  std::vector<double> inside{1};  // for each open group: the largest product within it
  std::size_t repetitions = 0;
  for (std::size_t i = 0; i < regex.size();) {
    const std::size_t begin = i;
    double nested = 1;
    if (regex[i] == '(') {
      inside.push_back(1);
      i += regex.substr(i + 1).starts_with('?') ? std::size_t{2} : 1;  // the ? of a group's kind is not a repetition
      continue;
    }
    if (regex[i] == ')' && inside.size() > 1) {
      nested = inside.back();
      inside.pop_back();
      ++i;
    } else if (regex[i] == '\\') {
      i = std::min(i + 2, regex.size());
    } else if (regex[i] == '[') {
      i = std::min(find_class_end(regex, i) + 1, regex.size());
    } else {
      ++i;
    }
    const std::size_t repetition_at = i;
    const double count = count_at(regex, i);
    if (i != repetition_at && ++repetitions > Limits::repetitions)
      return {repetition_at, "a regex has at most 32 repetitions"};
    if (count > Limits::count) return {repetition_at, "a repetition counts to 1000 at most"};
    if (nested * count > Limits::product) return {begin, "repetitions inside of each other make too many"};
    inside.back() = std::max(inside.back(), nested * count);
  }
  return {};
}

}  // namespace

void check_regex(const TomlTable& table, std::string_view regex) {
  if (const Cost cost = check_cost(regex); cost.excess_at != npos)
    table.fail("regex", cost.why, "declare two formats, or match less", regex, cost.excess_at);
  try {
    const Regex compiled(regex);
  } catch (const BadExpression& error) {
    table.fail("regex", "the regex cannot be read: " + error.reason, {}, regex, std::min(error.at, regex.size()));
  }
  if (const std::size_t at = unsupported_at(regex); at != npos)
    table.fail("regex", "a group is (?<name>…), (…) or (?:…)", "a number is named (?<allocated>[\\d.]{1,12})", regex,
               at);
  if (const std::size_t at = unbounded_at(regex); at != npos)
    table.fail("regex", "a repetition has no upper bound", "write {0,80} for *, {1,80} for +", regex, at);
  const auto groups = named_groups(regex);
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    check_name(table, "regex", regex, group->name, group->at);
    if (std::any_of(groups.begin(), group, [&](const NamedGroup& other) { return other.name == group->name; }))
      table.fail("regex", "there are two groups \"" + std::string(group->name) + '"', "each number is in a line once",
                 regex, group->at);
  }
}

std::string nearest_or_all(std::string_view word, std::span<const std::string> names) {
  if (const std::string near = did_you_mean(word, names); !near.empty()) return "did you mean " + near + "?";
  std::string all = "choose one of: ";
  for (const std::string& name : names) all += (&name == names.data() ? "" : ", ") + name;
  return all;
}

void check_notation(const TomlTable& table, const LineFormat& gauge) {
  const bool form = gauge.regex.empty();
  form ? check_form(table, gauge.form) : check_regex(table, gauge.regex);
  if (list_names(gauge).empty())
    table.fail(form ? "form" : "regex", form ? "the form names no number" : "the regex names no number",
               form ? "write {allocated} in its place" : "name a group: (?<allocated>[\\d.]{1,12})");
}

}  // namespace oomdoctor
