// Bytes inside lines of JSON as trackers, trainers and monitors write them.
#include <array>

#include "read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using oomdoctor::testing::Frame;
  static const std::array<Frame, 8> frames = {
      Frame{"{\"system.gpu.0.memoryAllocatedBytes\": ", ", \"_runtime\": 12.5, \"_timestamp\": 1738411205.1}\n"},
      Frame{"{\"epoch\": 1, \"update\": 0.5, \"num_updates\": \"100\", \"gb_free\": \"", "\"}\n"},
      Frame{"{\"current_steps\": 10, \"total_steps\": 100, \"vram_allocated\": ", "}\n"},
      Frame{"{'loss': 2.4113, 'learning_rate': 4.1e-05, 'epoch': 0.32, ", "}\n"},
      Frame{"{\"card0\": {\"VRAM Total Memory (B)\": \"68702699520\", \"VRAM Total Used Memory (B)\": \"", "\"}}\n"},
      Frame{"{\"hostname\": \"host1\", \"gpus\": [{\"index\": 0, \"memory.total\": 24576, \"memory.used\": ", "}]}\n"},
      Frame{"{\"message\": {\"message\": \"",
            "\", \"extraInfo\": {\"py_callstack\": \"\", \"timestamp\": \"1738411205\"}}}\n"},
      Frame{"{\"mem-allocated-bytes\": {\"start_step\": 0, \"values\": {\"1\": ", "}}}\n"},
  };
  oomdoctor::testing::read_framed(frames, data, size);
  return 0;
}
