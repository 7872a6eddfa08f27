// A text that writers append to with compile-time checked fmt formats.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

namespace oomdoctor {

class Document {
 public:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }
  /// Moves the text out.
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace oomdoctor
