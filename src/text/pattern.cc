#include "text/pattern.h"

#include <algorithm>
#include <boost/regex.hpp>

namespace oomdoctor {

bool digits_are_numbers(std::string_view expression) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\') {  // \x30 and the text of a group are digits, too
      if (i + 1 < expression.size() && (is_digit(expression[i + 1]) || expression[i + 1] == 'x')) return false;
      ++i;
    } else if (c == '{') {  // a count; a brace of the text is written \{
      i = std::min(expression.find('}', i), expression.size());
    } else if (expression.substr(i, 3) == "0-9") {
      i += 2;
    } else if (is_digit(c)) {  // a range between other characters holds all digits or none
      return false;
    }
  }
  return true;
}

struct Regex::Impl {
  boost::regex expression;
};

Regex::Regex(std::string_view expression) : impl_(std::make_unique<Impl>()) {
  try {
    impl_->expression.assign(expression.begin(), expression.end(), boost::regex::perl | boost::regex::no_mod_m);
  } catch (const boost::regex_error& e) {
    // Boost adds a copy of the expression to its reason.
    const std::string_view what = e.what();
    const std::string_view reason = what.substr(0, what.find("  The error occurred"));
    const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(e.position(), 0));
    throw BadExpression(expression, std::string(reason.substr(0, reason.find_last_not_of(". ") + 1)), at);
  }
  if (impl_->expression.mark_count() + 1 > max_captures)
    throw BadExpression(expression, "it has more than " + std::to_string(max_captures - 1) + " groups", 0);
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::size_t Regex::captures() const { return impl_->expression.mark_count(); }

Search Regex::search(std::string_view text, Captures& captures, std::size_t from) const {
  return find(text, captures, from, Begin::anywhere);
}

Search Regex::match(std::string_view text, Captures& captures, std::size_t at) const {
  return find(text, captures, at, Begin::here);
}

Search Regex::find(std::string_view text, Captures& captures, std::size_t from, Begin begin) const {
  if (from > text.size()) return Search::absent;
  const char* first = text.data() + from;
  const char* last = first + std::min(text.size() - from, max_window);
  boost::cmatch match;
  try {
    auto flags = boost::match_default;
    if (from > 0) flags |= boost::match_prev_avail;
    if (begin == Begin::here) flags |= boost::match_continuous;
    if (!boost::regex_search(first, last, match, impl_->expression, flags)) return Search::absent;
  } catch (const std::runtime_error&) {  // the complexity or the stack limit of one search
    return Search::too_costly;
  }
  captures = {};
  for (std::size_t i = 0; i < match.size() && i < max_captures; ++i)
    if (match[static_cast<int>(i)].matched)
      captures.group[i] = {match[static_cast<int>(i)].first,
                           static_cast<std::size_t>(match[static_cast<int>(i)].length())};
  captures.begin = static_cast<std::size_t>(match[0].first - text.data());
  captures.end = captures.begin + static_cast<std::size_t>(match[0].length());
  return Search::found;
}

}  // namespace oomdoctor
