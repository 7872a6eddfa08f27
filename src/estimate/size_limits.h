// The largest sizes that an estimate accepts, from options and from a config.json. Each is far above any real model or
// job, and small enough that no product of them loses its order of magnitude.
#pragma once

#include "base/bytes.h"

namespace oomdoctor::size_limits {

inline constexpr i64 parameters = 1'000'000'000'000'000;  ///< below 2^53, so a sum of them as doubles is exact
inline constexpr i64 layers = 100'000;
inline constexpr i64 width = 10'000'000;    ///< hidden size, heads, experts and other sides of a matrix
inline constexpr i64 rows = 1'000'000'000;  ///< of a table: the vocabulary, learned positions
inline constexpr i64 samples = 1'000'000'000, tokens = 1'000'000'000;
inline constexpr i64 samples_of_step = 1'000'000'000'000'000;
inline constexpr i64 ranks = 1'000'000;
inline constexpr i64 adapter_rank = 100'000;
inline constexpr i64 pixels = 1'000'000;  ///< per side of an image

}  // namespace oomdoctor::size_limits
