// Bytes as rows of a table: under the header of a known one, or in the box of nvidia-smi.
#include "headed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oomdoctor::testing;
  static const auto frames = [] {
    auto all = headed_frames(false);
    all.push_back(
        {"Sat Feb  1 12:00:05 2025\n"
         "+---------------------------------------------------------------------------------------+\n"
         "| NVIDIA-SMI 535.161.08             Driver Version: 535.161.08   CUDA Version: 12.2     |\n"
         "|-----------------------------------------+----------------------+----------------------+\n"
         "| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
         "| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |\n"
         "|                                         |                      |               MIG M. |\n"
         "|=========================================+======================+======================|\n"
         "|   0  NVIDIA A30                     On  | 00000000:17:00.0 Off |                    0 |\n"
         "| N/A   41C    P0              31W / 165W |",
         "|      0%      Default |\n|                                         |                      |             "
         "Disabled |\n"});
    all.push_back(
        {"|===========================================================================|\n"
         "|                  PyTorch CUDA memory summary, device ID 0                 |\n"
         "|---------------------------------------------------------------------------|\n"
         "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
         "|---------------------------------------------------------------------------|\n",
         "\n|===========================================================================|\n"});
    return all;
  }();
  read_framed(frames, data, size);
  return 0;
}
