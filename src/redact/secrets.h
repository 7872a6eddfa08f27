// Finds secrets in a text: tokens by their prefixes, passwords in URLs, headers, keys, and values with a secret name. A
// commit hash, `max_tokens=4096` and `pad_token='</s>'` are not secrets.
#pragma once

#include <string_view>
#include <vector>

namespace oomdoctor {

/// A piece of a text that readers of a shared report must not see; byte positions.
struct Secret {
  std::size_t begin = 0, end = 0;
  std::string_view kind;  ///< for example "Hugging Face token"
};

/// In the order of the text, without overlaps. Thread-safe.
std::vector<Secret> find_secrets(std::string_view text);

/// The regexes that find_secrets() uses, for the tests that check all patterns.
std::vector<std::string_view> secret_regexes();

}  // namespace oomdoctor
