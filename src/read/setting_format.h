// A setting of a run as programs print it: a row of parsers/*.toml. It is a key in all its spellings (key=8, key: 8,
// 'key': 8, "key": 8, --key 8, --key=8, `key ........ 8`, a cell │ key │ 8 │; in any letter case; a dash, a blank or
// nothing may replace an underscore, as in maxSeqLen), or a text that shows the setting. The last printed value wins.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "read/parser.h"

namespace oomdoctor {

enum class SettingType {
  text,          ///< as printed
  size,          ///< a size; of "16G", K to T are powers of 1,024; a number alone has the format's unit
  count,         ///< a whole number
  first_count,   ///< a whole number, or the first of a list of them
  longest_side,  ///< a number of pixels, or the largest of a list or of 640x480
  ratio,         ///< a share such as 0.9
  truth,         ///< emitted as "true" or "false"; --key without a value is true
  word,          ///< a name, without the prefix of an enumeration
  precision,     ///< a number type: float32, bfloat16, …
};

enum class SettingSpelling {
  key,     ///< every spelling of the key
  option,  ///< only --key
  text,    ///< the anchor, and the regex if there is one
};

struct SettingFormat {
  std::string_view name;     ///< "settings/batch_size"
  std::string_view setting;  ///< as analyses name it: the fact settings.NAME
  SettingType type = SettingType::text;
  SettingSpelling spelling = SettingSpelling::text;
  std::string_view value = {};  ///< emitted instead of the printed one, and of "true"; may be empty
  std::string_view unit = {};   ///< of a size that is printed without one
  std::string_view anchor;
  std::string_view second_anchor = {};                   ///< may be empty
  std::array<std::string_view, 2> further_anchors = {};  ///< with blanks, and without a separator; both may be empty
  std::string_view regex = {};                           ///< the first group is the value
  std::string_view example;
  std::string_view source = {};  ///< the code that prints it, if it differs from the parser's source
};

/// Fills in the anchors and the regex of a key.
struct KeyTexts {
  std::string anchor, dashed_anchor, spaced_anchor, joined_anchor, regex;
};
KeyTexts texts_of_key(std::string_view key, SettingType type, SettingSpelling spelling);

/// True if no word precedes the key at `at` of a block and a quote or a separator follows it. The regex requires both.
bool is_key(std::string_view block, std::size_t at, std::size_t size);

/// False for source code, usage texts and defaults. They contain keys that nobody set.
bool is_configuration(std::string_view line);
/// False for calls as well: "dtype=torch.float32" in a call is about one tensor.
bool is_precision_statement(std::string_view line);

/// A step line prints the length of its own batch, which is not a setting.
bool is_length_statement(std::string_view line);

/// Emits the setting in the spelling of the analyses. `printed` is empty if the format captures nothing.
void emit_setting(const SettingFormat& format, std::string_view printed, EventSink& sink);

/// The pattern that finds the setting. A step line may contain its batch size and is still read as a step line.
constexpr Pattern make_pattern(const SettingFormat& format) {
  Pattern pattern{.name = format.name, .anchor = format.anchor, .example = format.example};
  pattern.second_anchor = format.second_anchor;
  if (!format.further_anchors[0].empty()) pattern.more_anchors = format.further_anchors;
  pattern.regex = format.regex;
  pattern.non_exclusive = true;
  pattern.source = format.source;
  pattern.setting = &format;
  if (format.spelling != SettingSpelling::text)
    pattern.accepts = format.type == SettingType::precision ? is_precision_statement
                      : format.setting == "sequence_length" ? is_length_statement
                                                            : is_configuration;
  if (format.spelling != SettingSpelling::text) pattern.fold_case = true;
  if (format.spelling == SettingSpelling::key) {
    pattern.before_anchor = 2;  // for the "--" of an option
    pattern.digits_are_numbers = true;
  }
  return pattern;
}

}  // namespace oomdoctor
