// The sizes of a sentence, each with what the words around it make of it: asked for, free, in use, a bound.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "parse/lexicon.h"
#include "parse/tokens.h"

namespace oomdoctor {

/// The words, numbers and marks of a text, without hyphens and quotes. Views into the text, which must outlive it.
class Sentence {
 public:
  explicit Sentence(std::string_view text);
  Sentence(const Sentence&) = delete;
  Sentence& operator=(const Sentence&) = delete;

  std::string_view text() const { return text_; }
  std::span<const Token> all() const { return all_; }
  std::span<const Token> front(std::size_t count) const { return all().first(std::min(count, all_.size())); }
  std::size_t size() const { return all_.size(); }
  const Token& operator[](std::size_t i) const { return all_[i]; }
  /// Is token `i`, if there is one, one of these marks?
  bool is_mark(std::size_t i, std::string_view marks) const;
  /// A point that ends a sentence, not one inside of a name or a number.
  bool ends_at(std::size_t i) const;

 private:
  std::string_view text_;
  std::string lowered_;
  std::vector<Token> all_;
};

/// A size on tokens [begin, end).
struct Amount {
  std::size_t begin = 0, end = 0;
  Bytes size;
  bool bare = false;  ///< without a unit: bytes, if it is a size at all
  std::optional<Role> role;
};

/// The size that token `i` begins; nullopt where its number is none: a share, a time, an address, a step.
std::optional<Amount> parse_amount(const Sentence& sentence, std::size_t i);

/// All of them, in order. A role is nothing where the words do not tell.
std::vector<Amount> parse_amounts(const Sentence& sentence);

}  // namespace oomdoctor
