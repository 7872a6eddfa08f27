// The line of text for one value of a tracker's file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oomdoctor {

struct Scalar {
  std::optional<double> time;  ///< seconds since 1970
  std::optional<std::int64_t> step;
  double value = 0;
};

/// Appends "oomdoctor scalar TIME STEP VALUE NAME" and a line end. Nothing for a value that is not finite. Characters
/// of `name` that could end the line become blanks.
void append_scalar(const Scalar& scalar, std::string_view name, std::string& out);

}  // namespace oomdoctor
