#include "text/scalar_line.h"

#include <cmath>

#include <fmt/format.h>

namespace oomdoctor {

void append_scalar(const Scalar& scalar, std::string_view name, std::string& out) {
  constexpr std::size_t longest_name = 200;
  constexpr double largest = 1e18;  // no count of bytes is larger, and its digits stay readable
  if (!std::isfinite(scalar.value) || std::abs(scalar.value) > largest) return;
  out += "oomdoctor scalar ";
  out += scalar.time && *scalar.time >= 0 && *scalar.time < 1e11 ? fmt::format("{:.3f} ", *scalar.time) : "- ";
  out += scalar.step ? fmt::format("{} ", *scalar.step) : "- ";
  // A whole number of bytes has no decimals; six are finer than any other unit needs.
  out += scalar.value == std::floor(scalar.value) ? fmt::format("{:.0f} ", scalar.value)
                                                  : fmt::format("{:.6f} ", scalar.value);
  for (const char c : name.substr(0, longest_name)) out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  out += '\n';
}

}  // namespace oomdoctor
