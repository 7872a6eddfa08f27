// Decides by a name whether its value is a secret, in any spelling: API_KEY, apiKey, api-key, fs.s3a.secret.key. Many
// names of a training job only sound like one: pad_token, key_padding_mask, sort_key.
#pragma once

#include <optional>
#include <string_view>

namespace oomdoctor {

/// What the value must look like, so that it is a secret. In the order of their strictness.
enum class Demand {
  any,          ///< any value that is not a number, placeholder or code
  unlike_word,  ///< no word: it mixes letters and digits or cases, or is very long
  opaque,       ///< a long run of mixed letters and digits
};

struct SecretName {
  std::string_view kind;  ///< for example "password"
  Demand demand = Demand::any;
  bool only_called = false;  ///< a function such as Client("…"); its name means nothing in other places
};

/// Where a name is. An option or a parameter of a URL is rarely the vocabulary of a language model.
enum class NamePlace { text, option, parameter };

/// `before` is the word in front of the name, for "API key: …"; "" if there is none.
std::optional<SecretName> read_secret_name(std::string_view name, std::string_view before, NamePlace place);

}  // namespace oomdoctor
