#include "read/sizes.h"

#include <array>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

bool is_number_char(char c) { return is_digit(c) || c == '.' || c == ','; }

/// Longest first, so that "GiB" is not read as "G".
constexpr std::array<std::string_view, 28> units{
    "bytes", "Bytes", "byte", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "kiB", "KB", "MB", "GB", "TB",
    "PB",    "EB",    "kB",   "Ki",  "Mi",  "Gi",  "Ti",  "kb",  "K",   "M",   "G",  "T",  "k",  "B"};

constexpr i64 exabyte = GiB * GiB;

}  // namespace

std::string dense(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (!is_blank(c)) out.push_back(c);
  return out;
}

std::optional<Bytes> read_size(std::string_view text, std::size_t* length, Radix radix) {
  std::size_t n = 0;
  while (n < text.size() && n < 32 && is_number_char(text[n])) ++n;
  while (n > 0 && (text[n - 1] == '.' || text[n - 1] == ',')) --n;
  if (n == 0) return std::nullopt;
  std::size_t u = n;
  if (u < text.size() && text[u] == '.') ++u;  // "273. GiB": numpy prints three digits and a point
  for (const std::string_view unit : units)
    if (text.substr(u, unit.size()) == unit) {
      if (length != nullptr) *length = u + unit.size();
      return read_bytes(text.substr(0, n), unit, radix);
    }
  if (length != nullptr) *length = n;
  return read_bytes(text.substr(0, n), "bytes", radix);
}

void read_request(std::string_view text, Oom& oom) {
  oom.request = read_size(text);
  const bool is_number = !text.empty() && is_digit(text[0]);
  oom.beyond_exabyte |= oom.request ? oom.request->count > exabyte : is_number;
}

std::optional<Bytes> size_after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == text.npos) return std::nullopt;
  return read_size(text.substr(at + label.size()));
}

std::optional<Bytes> size_before(std::string_view text, std::string_view label) {
  for (std::size_t at = text.find(label); at != text.npos; at = text.find(label, at + 1)) {
    std::size_t unit = at;
    while (unit > 0 && !is_number_char(text[unit - 1]) && at - unit < 6) --unit;
    std::size_t number = unit;
    while (number > 0 && is_number_char(text[number - 1]) && unit - number < 24) --number;
    while (number < unit && (text[number] == '.' || text[number] == ',')) ++number;
    std::size_t read = 0;
    if (number == unit) continue;
    const auto size = read_size(text.substr(number, at - number), &read);
    if (size && number + read == at) return size;
  }
  return std::nullopt;
}

}  // namespace oomdoctor
