// Bytes inside the elements of `nvidia-smi -q -x`.
#include <array>

#include "read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using oomdoctor::testing::Frame;
  static const std::string open =
      "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n\t<timestamp>Sat Feb  1 12:00:05 2025</timestamp>\n"
      "\t<gpu id=\"00000000:17:00.0\">\n";
  static const std::string close = "\n\t</gpu>\n</nvidia_smi_log>\n";
  static const std::array<Frame, 4> frames = {
      Frame{"<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n", "</nvidia_smi_log>\n"},
      Frame{open, close},
      Frame{open + "\t\t<fb_memory_usage>\n\t\t\t<total>24576 MiB</total>\n", "\n\t\t</fb_memory_usage>" + close},
      Frame{open + "\t\t<processes>\n\t\t\t<process_info>\n\t\t\t\t<pid>4711</pid>\n",
            "\n\t\t\t</process_info>\n\t\t</processes>" + close},
  };
  oomdoctor::testing::read_framed(frames, data, size);
  return 0;
}
