// Texts of the rules with the numbers of this log filled in: "of {oom.capacity} only {oom.free} was free". A place that
// cannot be filled is never printed as a blank: the sentence, or the whole text, is dropped instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "judge/expr.h"

namespace oomdoctor {

/// A place is {expression} or {expression:format}: it begins with a small letter or "(", any other brace is plain text,
/// and
/// "{{" is a brace before a small letter. Formats: "G" and "M" are whole gibi- and mebibytes rounded up, "n" a whole
/// number, ".2" two decimals, "%" a share; without a format a fact speaks in its own unit.
///
/// A phrase is checked when it is loaded and taken apart again when it is filled: of the many that the rules hold, a
/// log needs a few.
class Phrase {
 public:
  Phrase() = default;
  /// Throws ExprError; its column counts from the start of the text.
  static Phrase parse(std::string_view text);

  /// nullopt when a place is unknown.
  std::optional<std::string> fill(const Facts& facts) const;
  /// Only the sentences whose places are all known; "" when there is none.
  std::string fill_sentences(const Facts& facts) const;

  /// With letters for numbers, where there is no log: "tensors fill X% of the GPU". A later sentence with words that
  /// only a log has is left out.
  std::string with_letters() const;

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  template <typename Archive>
  friend void fields(Archive& archive, Phrase& phrase);

  std::string text_;
};

}  // namespace oomdoctor
