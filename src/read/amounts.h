// Finds the sizes in a sentence and gives each a role by the words around it: requested, free, in use, a limit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "read/lexicon.h"
#include "read/tokens.h"

namespace oomdoctor {

/// The words, numbers and marks of a text, without hyphens and quotes. The tokens are views into the text, which must
/// outlive the sentence, and into its own lower-case copy.
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
  /// True if token `i` exists and is one of these marks.
  bool is_mark(std::size_t i, std::string_view marks) const;
  /// True for a mark that ends a sentence. False for a point within a name or a number.
  bool ends_at(std::size_t i) const;

 private:
  std::string_view text_;
  std::string lowered_;
  std::vector<Token> all_;
};

/// A size in tokens [begin, end).
struct Amount {
  std::size_t begin = 0, end = 0;
  Bytes size;
  bool bare = false;  ///< printed without a unit: bytes, if it is a size at all
  /// Absent if the words around it do not show a role.
  std::optional<Role> role;
};

/// The size that starts at token `i`. nullopt if the number is something else: a percentage, a time, an address, a
/// step.
std::optional<Amount> parse_amount(const Sentence& sentence, std::size_t i);

/// All sizes of a sentence, in order, with their roles.
std::vector<Amount> parse_amounts(const Sentence& sentence);

}  // namespace oomdoctor
