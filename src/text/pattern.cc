#include "text/pattern.h"

#include <algorithm>
#include <boost/regex.hpp>

#include "base/ascii.h"

namespace oomdoctor {

bool digits_are_numbers(std::string_view expression) {
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\') {  // \x30 and backreferences contain digits
      if (i + 1 < expression.size() && (is_digit(expression[i + 1]) || expression[i + 1] == 'x')) return false;
      ++i;
    } else if (c == '{') {  // a count; a literal brace is written \{
      i = std::min(expression.find('}', i), expression.size());
    } else if (expression.substr(i, 3) == "0-9") {
      i += 2;
    } else if (is_digit(c)) {  // a range between other characters contains all digits or none
      return false;
    }
  }
  return true;
}

namespace {

/// An iterator that counts each dereference and comparison as a step, and throws when no step remains.
class CountedPlace {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedPlace() = default;
  CountedPlace(const char* at, std::size_t& left) : at_(at), left_(&left) {}

  const char* at() const { return at_; }
  reference operator*() const {
    step();
    return *at_;
  }
  CountedPlace& operator++() {
    ++at_;
    return *this;
  }
  CountedPlace& operator--() {
    --at_;
    return *this;
  }
  CountedPlace operator++(int) { return {at_++, *left_}; }
  CountedPlace operator--(int) { return {at_--, *left_}; }
  friend bool operator==(const CountedPlace& a, const CountedPlace& b) {
    a.step();
    return a.at_ == b.at_;
  }

 private:
  void step() const {
    if (left_ == nullptr) return;  // not attached to a text
    if (*left_ == 0) throw std::runtime_error("no step is left");
    --*left_;
  }

  const char* at_ = nullptr;
  std::size_t* left_ = nullptr;
};

const char* place_of(const char* at) { return at; }
const char* place_of(const CountedPlace& place) { return place.at(); }

/// Finds the match of `expression` in [first, last), with lookbehind up to `text`.
template <typename Place>
Search find_between(Place text, Place first, Place last, Captures& captures, const boost::regex& expression,
                    boost::match_flag_type flags) {
  boost::match_results<Place> match;
  try {
    if (!boost::regex_search(first, last, match, expression, flags, text)) return Search::absent;
  } catch (const std::runtime_error&) {  // the complexity limit, the stack or the step limit of one search
    return Search::too_costly;
  }
  captures = {};
  for (std::size_t i = 0; i < match.size() && i < max_captures; ++i) {
    const auto& group = match[static_cast<int>(i)];
    if (group.matched)
      captures.group[i] = {place_of(group.first),
                           static_cast<std::size_t>(place_of(group.second) - place_of(group.first))};
  }
  captures.begin = static_cast<std::size_t>(captures.group[0].data() - place_of(text));
  captures.end = captures.begin + captures.group[0].size();
  return Search::found;
}

}  // namespace

struct Regex::Impl {
  boost::regex expression;
  Steps steps;
};

Regex::Regex(std::string_view expression, Steps steps) : impl_(std::make_unique<Impl>()) {
  impl_->steps = steps;
  try {
    impl_->expression.assign(expression.begin(), expression.end(), boost::regex::perl | boost::regex::no_mod_m);
  } catch (const boost::regex_error& e) {
    // Boost appends a copy of the expression to its message.
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
  const auto flags = begin == Begin::here ? boost::match_continuous : boost::match_default;
  const boost::regex& expression = impl_->expression;
  if (impl_->steps == Steps::free) return find_between(text.data(), first, last, captures, expression, flags);
  std::size_t left = counted_steps + counted_steps_per_byte * static_cast<std::size_t>(last - first);
  const auto counted = [&](const char* at) { return CountedPlace(at, left); };
  return find_between(counted(text.data()), counted(first), counted(last), captures, expression, flags);
}

}  // namespace oomdoctor
