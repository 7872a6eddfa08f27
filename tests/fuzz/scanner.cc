// Bytes as a log.
#include "read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  oomdoctor::testing::read_log(std::string(data, data + size));
  return 0;
}
