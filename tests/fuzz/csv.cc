// Bytes as rows under the header of a known comma-separated export.
#include "headed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto frames = oomdoctor::testing::headed_frames(true);
  oomdoctor::testing::read_framed(frames, data, size);
  return 0;
}
