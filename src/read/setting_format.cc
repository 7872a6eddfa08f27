#include "read/setting_format.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

/// The regex of a value, with the one captured group.
std::string_view value_regex(SettingType type) {
  switch (type) {
    case SettingType::first_count:
      return R"(\[? ?(\d{1,9})(?!\.?\d|[A-Za-z_%]))";
    case SettingType::count:
      return R"((\d{1,9})(?!\.?\d|[A-Za-z_%]))";
    case SettingType::longest_side:
      return R"([(\[]? ?(\d{2,5}(?:(?:, ?| ?(?:x|×) ?)\d{2,5}){0,2})(?!\.?\d|[A-Za-z_%]))";
    case SettingType::ratio:
      return R"(([01]?\.\d{1,4}|1)(?![\d.]))";
    case SettingType::truth:  // also of an object: bf16: {enabled: true}
      return R"((?:\{ ?enabled: )?((?i:true|false|none|null|full|selective|yes|no|on|off|enabled|disabled))\b)";
    case SettingType::word:
      return R"(([A-Za-z][\w+.-]{1,48}))";
    case SettingType::precision:
      return R"((?:torch\.)?(b?float(?:16|32)|bf16|fp16|fp32|half|16-mixed|bf16-mixed|16-true|bf16-true|32-true|no|int8|fp8|(?:16|32|64)(?![.\d-]))\b)";
    case SettingType::text:
    case SettingType::size:
      break;
  }
  return {};
}

std::string replaced(std::string_view key, std::string_view underscore) {
  std::string out;
  for (const char c : key) c == '_' ? out += underscore : out += c;
  return out;
}

/// The key as an option, or also as a name or as words with a separator, then the value. An option of a truth needs no
/// value. Words need a colon and no word before them: "Eval batch size: 8" and "Total batch size: 64" are other
/// settings.
std::string key_regex(std::string_view key, SettingType type, SettingSpelling spelling) {
  const std::string spelled = "(?i:" + replaced(key, "[_-]?") + ')';
  const bool truth = type == SettingType::truth;
  std::string regex = "(?:--" + spelled;
  regex += truth ? R"((?![\w-])(?: {0,3}$|(?= --)|(?= \\)|[ =]{1,3}['"]?))" : R"([ =]{1,3}['"]?)";
  if (spelling == SettingSpelling::key)
    regex +=
        R"(|(?<![\w-]))" + spelled + R"(['"]?(?: {0,40}[:=] {0,8}| ?\.{3,80} ?| {1,40}(?:\||│|┃) {1,40}| {2,40})['"]?)";
  if (const std::string words = replaced(key, " "); spelling == SettingSpelling::key && words != key)
    regex += R"(|(?<![\w-])(?<!\w )(?i:)" + words + R"()['"]?(?:: {0,4}| ?\.{3,80} ?| {1,40}(?:\||│|┃) {1,40})['"]?)";
  regex += ")(?:";
  if (type == SettingType::word) regex += R"((?:<?[A-Z]\w{1,30}\.)?)";
  regex += value_regex(type);
  regex += truth ? R"(|(?= --)|(?= \\)|(?<=[A-Za-z0-9]) {0,3}$))" : ")";
  return regex;
}

/// "224, 448" or "640x480" becomes the largest of the numbers.
std::string largest_number(std::string_view list) {
  int largest = 0;
  for (std::size_t at = 0; at < list.size(); ++at) {
    int number = 0;
    const auto [end, error] = std::from_chars(list.data() + at, list.data() + list.size(), number);
    if (error != std::errc{}) continue;
    largest = std::max(largest, number);
    at = static_cast<std::size_t>(end - list.data());
  }
  return std::to_string(largest);
}

/// One spelling per type: "bfloat16" and "bf16-mixed" become "bf16".
std::string precision_name(std::string_view text) {
  const std::string t = lower(text);
  if (t.find("bf16") != t.npos || t == "bfloat16") return "bf16";
  if (t.find("16") != t.npos || t == "half") return "fp16";
  if (t.find("32") != t.npos || t == "no") return "fp32";
  return t;
}

/// "16G" becomes "16 GiB", as Slurm and the shells mean it. "4000" gets the unit.
std::string with_unit(std::string_view size, std::string_view unit) {
  if (size.empty() || is_digit(size.back())) return std::string(size).append(" ").append(unit);
  return std::string(size.substr(0, size.size() - 1)).append(" ").append(1, upper(size.back())).append("iB");
}

/// digits; 1048576 is the block size of an asynchronous reader, not a sequence length
constexpr std::size_t too_many_digits = 7;

bool is_plausible_count(std::string_view setting, std::string_view text) {
  if (setting == "sequence_length" && (text.size() < 2 || text.size() >= too_many_digits)) return false;
  return text != "0" || setting == "num_workers" || setting == "zero_stage";
}

/// A text in small letters that says what to set, not what is set.
bool gives_advice(std::string_view text) {
  static constexpr auto words = std::to_array<std::string_view>(
      {"try ",       "rerunning with ", "consider ",  "hint:",     "tip:",      "please ", "you can ",  "you may ",
       "you might ", "you should ",     "you could ", "you need ", "you want ", "if you ", "recommend", "suggest",
       "e.g.",       "for example",     "example:",   "usage:",    "use --",    "pass --", "add --"});
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    const std::size_t at = text.find(word);
    return at != text.npos && (at == 0 || !is_word_char(text[at - 1]));
  });
}

}  // namespace

KeyTexts texts_of_key(std::string_view key, SettingType type, SettingSpelling spelling) {
  const std::string_view dashes = spelling == SettingSpelling::option ? "--" : "";
  const bool is_key = spelling == SettingSpelling::key;
  KeyTexts texts{std::string(dashes).append(key), std::string(dashes) + replaced(key, "-"),
                 is_key ? replaced(key, " ") : "", is_key ? replaced(key, "") : "", key_regex(key, type, spelling)};
  if (texts.dashed_anchor == texts.anchor) texts.dashed_anchor.clear();
  if (texts.spaced_anchor == texts.anchor) texts.spaced_anchor.clear(), texts.joined_anchor.clear();
  return texts;
}

bool is_key(std::string_view block, std::size_t at, std::size_t size) {
  constexpr char vertical = '\xE2';  // the first byte of │ and ┃, which separate the cells of a table
  const bool option = at >= 2 && block.substr(at - 2, 2) == "--";
  const bool begins = at == 0 || option || !is_dashed_name_char(block[at - 1]);
  const std::string_view after = block.substr(at + size, 2);
  const char next = after.empty() ? '\n' : after[0];
  const bool blank =
      next == ' ' &&
      (option || (after.size() > 1 &&
                  (std::string_view(" :=.|").find(after[1]) != std::string_view::npos || after[1] == vertical)));
  return begins && (blank || std::string_view("'\":=.\n\r\\").find(next) != std::string_view::npos);
}

bool is_configuration(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == line.npos) return false;
  const std::string_view text_start = line.substr(start);
  for (const std::string_view head :
       {"def ", "class ", "import ", "from ", "#", "return ", "assert ", "raise ", "if ", "File \""})
    if (text_start.starts_with(head)) return false;
  for (const std::string_view piece : {"add_argument", "Optional[", ": int", ": float", ": bool", ": str",
                                       "default=", "(default", "[default", "self.", "lambda "})
    if (line.find(piece) != line.npos) return false;
  return !gives_advice(lower(line));
}

bool is_precision_statement(std::string_view line) {
  const bool call = line.find("dtype=torch.") != line.npos && line.find("config") == line.npos &&
                    line.find("torch_dtype=") == line.npos;
  return is_configuration(line) && !call && line.find("tensor(") == line.npos;
}

bool is_length_statement(std::string_view line) {
  for (const std::string_view counter : {"step", "Step", "iter", "Iter", "loss"})
    for (std::size_t at = line.find(counter); at != line.npos; at = line.find(counter, at + 1)) {
      const std::string_view after = line.substr(at + counter.size());
      const std::size_t value = after.find_first_not_of(" =:");
      const bool word = at == 0 || !is_dashed_name_char(line[at - 1]);
      if (word && value != after.npos && value > 0 && is_digit(after[value])) return false;
    }
  return is_configuration(line);
}

void emit_setting(const SettingFormat& format, std::string_view printed, EventSink& sink) {
  switch (format.type) {
    case SettingType::text:
      return sink.setting(format.setting, format.value.empty() ? printed : format.value);
    case SettingType::size:
      return sink.setting(format.setting, with_unit(printed, format.unit));
    case SettingType::truth: {
      const std::string t = lower(printed);
      const bool on = t != "false" && t != "none" && t != "null" && t != "no" && t != "off" && t != "disabled";
      if (format.value.empty()) return sink.setting(format.setting, on ? "true" : "false");
      if (on) sink.setting(format.setting, format.value);
      return;
    }
    case SettingType::precision:
      return sink.setting(format.setting, precision_name(printed));
    case SettingType::word:
      if (const std::string w = lower(printed); w != "none" && w != "null" && w != "true" && w != "false")
        sink.setting(format.setting, w);
      return;
    case SettingType::longest_side:
      return sink.setting(format.setting, largest_number(printed));
    case SettingType::count:
    case SettingType::first_count:
    case SettingType::ratio:
      if (is_plausible_count(format.setting, printed)) sink.setting(format.setting, printed);
  }
}

}  // namespace oomdoctor
