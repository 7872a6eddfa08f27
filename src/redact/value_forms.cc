#include "redact/value_forms.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

/// The longest run of letters and digits, and in it the changes between letters and digits and between the cases.
struct AlphanumericRun {
  std::size_t size = 0, digit_changes = 0, case_changes = 0;
};

AlphanumericRun longest_run(std::string_view value) {
  AlphanumericRun longest, run;
  char before = 0;
  for (const char c : value) {
    if (!is_alnum(c)) {
      run = {};
    } else {
      ++run.size;
      if (run.size > 1) {
        run.digit_changes += is_digit(c) != is_digit(before);
        run.case_changes += is_letter(c) && is_letter(before) && is_upper(c) != is_upper(before);
      }
      if (run.size > longest.size) longest = run;
    }
    before = c;
  }
  return longest;
}

/// Changes between letters and digits, over all separators.
std::size_t digit_changes(std::string_view value) {
  std::size_t changes = 0;
  char before = 0;
  for (const char c : value) {
    if (!is_alnum(c)) continue;
    changes += before != 0 && is_digit(c) != is_digit(before);
    before = c;
  }
  return changes;
}

/// States and types, which a log prints instead of a value; in lower case.
constexpr std::array<std::string_view, 43> states = {
    "undefined",  "unknown",        "default",   "required", "disabled",    "enabled",      "missing",
    "invalid",    "optional",       "expired",   "provided", "incorrect",   "rejected",     "revoked",
    "accepted",   "authentication", "forbidden", "string",   "integer",     "boolean",      "object",
    "number",     "secretstr",      "changed",   "removed",  "hidden",      "redacted",     "censored",
    "sanitized",  "not-set",        "not_set",   "notset",   "placeholder", "unauthorized", "authenticated",
    "configured", "detected",       "inherited", "mismatch", "deprecated",  "generated",    "unavailable",
    "unsupported"};

constexpr std::array<std::string_view, 24> units = {"%",  "b",  "k",   "m",   "g",   "t",   "kb", "mb",
                                                    "gb", "tb", "kib", "mib", "gib", "tib", "ki", "mi",
                                                    "gi", "s",  "ms",  "us",  "ns",  "min", "h",  "x"};

/// Ends of files that contain keys, or settings with keys.
constexpr std::array<std::string_view, 14> key_files = {".pem", ".key", ".json", ".txt", ".yaml", ".yml", ".crt",
                                                        ".pub", ".env", ".toml", ".ini", ".cfg",  ".p12", ".jks"};

/// Objects whose members hold settings.
constexpr std::array<std::string_view, 18> holders = {"self",  "args",    "cfg",    "config", "opt",     "opts",
                                                      "os",    "env",     "params", "kwargs", "options", "settings",
                                                      "flags", "hparams", "conf",   "ctx",    "process", "request"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_variable(std::string_view value) {  // $TOKEN, ${TOKEN}, $(cat token), %TOKEN%
  if (value.starts_with("${") || value.starts_with("$(") || value.starts_with("%(")) return true;
  const bool windows = value.size() > 2 && value.front() == '%' && value.back() == '%';
  if (!windows && !value.starts_with('$')) return false;
  const std::string_view name = value.substr(1, value.size() - (windows ? 2 : 1));
  return !name.empty() && is_letter_or_underscore(name[0]) && std::all_of(name.begin(), name.end(), is_word_char);
}

}  // namespace

bool is_number(std::string_view value) {
  constexpr std::size_t max_digits = 20;  // a longer one is a key of digits
  if (!value.empty() && (value[0] == '-' || value[0] == '+')) value.remove_prefix(1);
  if (value.empty() || value.size() > max_digits || !(is_digit(value[0]) || value[0] == '.')) return false;
  const std::size_t end = std::min(value.find_first_not_of("0123456789.,_"), value.size());
  std::string_view unit = value.substr(end);
  constexpr std::size_t max_exponent = 4;
  if (!unit.empty() && lower(unit[0]) == 'e' && unit.size() <= 1 + max_exponent)
    return unit.find_first_not_of("0123456789+-", 1) == unit.npos;
  return unit.empty() || is_one_of(lower(unit), units);
}

bool is_placeholder(std::string_view value) {
  constexpr std::string_view open = "<{[";  // <TOKEN>, {{ token }}, [redacted
  if (open.find(value[0]) != std::string_view::npos || is_variable(value)) return true;
  const bool masked = value.ends_with("***") || value.ends_with("...") || value.ends_with("\u2026");
  const bool same = value.find_first_not_of(value[0]) == std::string_view::npos;
  const std::string small = lower(value);
  return masked || (same && !is_digit(value[0])) || small.starts_with("your-") || small.starts_with("your_") ||
         is_one_of(small, states);
}

bool is_code(std::string_view value) {
  const std::size_t open = value.find_first_of("([");
  const std::string_view name = value.substr(0, open);
  const bool dotted = !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), is_dotted_name_char);
  if (value[0] == '(' || value[0] == '[' || value[0] == '{') return true;
  if (!dotted) return false;
  if (open != std::string_view::npos) return true;
  const std::size_t point = name.find('.');
  if (point == std::string_view::npos || point == 0) return false;
  const std::string last = lower(name.substr(name.rfind('.') + 1));
  const bool names_secret = last.ends_with("token") || last.ends_with("key") || last.ends_with("password") ||
                            last.ends_with("secret") || last.ends_with("auth");
  return is_one_of(lower(name.substr(0, point)), holders) || names_secret;
}

bool is_path(std::string_view value) {
  const std::string small = lower(value);
  const bool named = std::any_of(key_files.begin(), key_files.end(), [&](auto end) { return small.ends_with(end); });
  const bool rooted = value.starts_with('/') || value.starts_with("~/") || value.starts_with("./") ||
                      value.starts_with("../") ||
                      (value.size() > 2 && is_letter(value[0]) && value[1] == ':' && value[2] == '\\');
  if (value.find("://") != std::string_view::npos) return true;
  return (named || rooted) && value.find_first_of("+=") == std::string_view::npos && !is_opaque(value) &&
         digit_changes(value) < value.size() / 4;
}

bool is_opaque(std::string_view value) {
  constexpr std::size_t min_size = 16, min_changes = 3;
  const AlphanumericRun run = longest_run(value);
  return run.size >= min_size && run.digit_changes >= min_changes;
}

bool is_unlike_word(std::string_view value) {
  constexpr std::size_t min_changes = 3, min_case_changes = 6, max_word = 19;
  const AlphanumericRun run = longest_run(value);
  return digit_changes(value) >= min_changes || run.case_changes >= min_case_changes || run.size > max_word;
}

}  // namespace oomdoctor
