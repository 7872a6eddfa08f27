#include "parse/format_notation.h"

#include <algorithm>
#include <vector>

#include "base/edit_distance.h"
#include "parse/line_format.h"
#include "text/pattern.h"

namespace oomdoctor {
namespace {

constexpr std::size_t npos = std::string_view::npos;
/// Each part that may be absent doubles the ways to read a line.
constexpr std::ptrdiff_t max_optional_parts = 6;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

/// Where a repetition without an upper bound stands, or npos.
std::size_t unbounded_at(std::string_view regex) {
  bool repeats = false;  // what stands before is a repetition: a + behind it bounds it further
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

/// Where something stands that would make the groups' numbers others than named_groups() counts, or npos.
std::size_t foreign_at(std::string_view regex) {
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

/// What a user's regex may cost: a line format is a short text with a few numbers.
struct Limits {
  static constexpr std::size_t bytes = 600, repetitions = 32;
  static constexpr double count = 1000;       ///< of one repetition
  static constexpr double product = 100'000;  ///< of repetitions inside of each other
};

/// The highest count of the repetition at `at`, 1 where there is none; moves `at` behind it.
double count_at(std::string_view regex, std::size_t& at) {
  if (at >= regex.size()) return 1;
  const char c = regex[at];
  double most = 1;
  if (c == '?') {
    ++at;
  } else if (c == '{' && at + 1 < regex.size() && is_digit(regex[at + 1])) {
    const std::size_t end = std::min(regex.find('}', at), regex.size());
    const std::size_t comma = regex.substr(0, end).rfind(',');
    std::size_t digit = comma != npos && comma > at ? comma + 1 : at + 1;
    for (most = 0; digit < end && is_digit(regex[digit]) && most < 1e12; ++digit)
      most = most * 10 + (regex[digit] - '0');
    at = std::min(end + 1, regex.size());
  } else {
    return 1;
  }
  if (at < regex.size() && (regex[at] == '?' || regex[at] == '+')) ++at;  // how greedy it is
  return std::max(most, 1.0);
}

struct Cost {
  std::size_t too_much_at = npos;
  const char* why = "";
};

/// Repetitions, and those inside of others: together they may make a search endless.
Cost cost_of(std::string_view regex) {
  if (regex.size() > Limits::bytes) return {Limits::bytes, "a regex has at most 600 bytes"};
  std::vector<double> inside{1};  // by open group: the largest product of counts in it
  std::size_t repetitions = 0;
  for (std::size_t i = 0; i < regex.size();) {
    const std::size_t begin = i;
    double own = 1;
    if (regex[i] == '(') {
      inside.push_back(1);
      i += regex.substr(i + 1).starts_with('?') ? std::size_t{2} : 1;  // the mark of a kind is no repetition
      continue;
    }
    if (regex[i] == ')' && inside.size() > 1) {
      own = inside.back();
      inside.pop_back();
      ++i;
    } else if (regex[i] == '\\') {
      i = std::min(i + 2, regex.size());
    } else if (regex[i] == '[') {
      i = std::min(find_class_end(regex, i) + 1, regex.size());
    } else {
      ++i;
    }
    const std::size_t sign = i;
    const double count = count_at(regex, i);
    if (i != sign && ++repetitions > Limits::repetitions) return {sign, "a regex has at most 32 repetitions"};
    if (count > Limits::count) return {sign, "a repetition counts to 1000 at most"};
    if (own * count > Limits::product) return {begin, "repetitions inside of each other make too many"};
    inside.back() = std::max(inside.back(), own * count);
  }
  return {};
}

}  // namespace

void check_regex(const TomlTable& table, std::string_view regex) {
  if (const Cost cost = cost_of(regex); cost.too_much_at != npos)
    table.fail("regex", cost.why, "declare two formats, or match less", regex, cost.too_much_at);
  try {
    const Regex compiled(regex);
  } catch (const BadExpression& error) {
    table.fail("regex", "the regex cannot be read: " + error.reason, {}, regex, std::min(error.at, regex.size()));
  }
  if (const std::size_t at = foreign_at(regex); at != npos)
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
  if (names_of(gauge).empty())
    table.fail(form ? "form" : "regex", form ? "the form names no number" : "the regex names no number",
               form ? "write {allocated} in its place" : "name a group: (?<allocated>[\\d.]{1,12})");
}

}  // namespace oomdoctor
