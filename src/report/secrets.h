// What looks like a secret in a text: tokens by their prefixes, passwords in URLs, headers, keys, and values whose name
// says that they are secret. A commit's hash, `max_tokens=4096` and `pad_token='</s>'` are none.
#pragma once

#include <string_view>
#include <vector>

namespace oomdoctor {

/// A piece of a text that a reader of the report must not see.
struct Secret {
  std::size_t begin = 0, end = 0;
  std::string_view kind;  ///< "Hugging Face token"
};

/// In the order of the text; none overlaps another.
std::vector<Secret> find_secrets(std::string_view text);

/// The regexes behind it, for the laws that hold for all patterns.
std::vector<std::string_view> secret_regexes();

}  // namespace oomdoctor
