// What a value after a name looks like: a number, a placeholder, code, a path, or random characters.
#pragma once

#include <string_view>

namespace oomdoctor {

/// "4096", "1,234.5", "12.5GiB", "3e-5", "95%".
bool is_number(std::string_view value);

/// The replacement of a value that is not printed: $TOKEN, ${TOKEN}, <token>, {{ token }}, ****, hf_***, "required",
/// "unknown".
bool is_placeholder(std::string_view value);

/// Source code: args.password, os.environ[, get_token(.
bool is_code(std::string_view value);

/// A path or the name of a file with a key: /run/secrets/token, ~/.ssh/id_rsa, server.pem.
bool is_path(std::string_view value);

/// A long run of letters and digits that mixes them: a key, but also a hash.
bool is_opaque(std::string_view value);

/// Mixes letters and digits or upper and lower case in a way that no word does, or is longer than a word.
bool is_unlike_word(std::string_view value);

}  // namespace oomdoctor
