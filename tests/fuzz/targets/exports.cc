// Bytes as the input of a reader of structured exports: rows under the header of each known table, the box of
// nvidia-smi, the memory summary of PyTorch, elements of XML, values of JSON lines. The first byte chooses one of them.
#include "../logs.h"
#include "../target.h"

namespace oomdoctor::testing {
namespace {

struct Frame {
  std::string before, after;
};

std::vector<Frame> all_frames() {
  std::vector<Frame> all;
  for (const Parser* parser : all_parsers())
    for (const Table& table : parser->tables)
      all.push_back({std::string(table.example_header) + '\n' + std::string(table.example_row) + '\n', "\n"});
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

  const std::string open =
      "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n\t<timestamp>Sat Feb  1 12:00:05 2025</timestamp>\n"
      "\t<gpu id=\"00000000:17:00.0\">\n";
  const std::string close = "\n\t</gpu>\n</nvidia_smi_log>\n";
  all.push_back({open, close});
  all.push_back({open + "\t\t<fb_memory_usage>\n\t\t\t<total>24576 MiB</total>\n", "\n\t\t</fb_memory_usage>" + close});
  all.push_back({open + "\t\t<processes>\n\t\t\t<process_info>\n\t\t\t\t<pid>4711</pid>\n",
                 "\n\t\t\t</process_info>\n\t\t</processes>" + close});

  all.push_back({"{\"system.gpu.0.memoryAllocatedBytes\": ", ", \"_runtime\": 12.5, \"_timestamp\": 1738411205.1}\n"});
  all.push_back({"{\"epoch\": 1, \"update\": 0.5, \"num_updates\": \"100\", \"gb_free\": \"", "\"}\n"});
  all.push_back({"{\"current_steps\": 10, \"total_steps\": 100, \"vram_allocated\": ", "}\n"});
  all.push_back({"{'loss': 2.4113, 'learning_rate': 4.1e-05, 'epoch': 0.32, ", "}\n"});
  all.push_back(
      {"{\"card0\": {\"VRAM Total Memory (B)\": \"68702699520\", \"VRAM Total Used Memory (B)\": \"", "\"}}\n"});
  all.push_back(
      {"{\"hostname\": \"host1\", \"gpus\": [{\"index\": 0, \"memory.total\": 24576, \"memory.used\": ", "}]}\n"});
  all.push_back({"{\"message\": {\"message\": \"",
                 "\", \"extraInfo\": {\"py_callstack\": \"\", \"timestamp\": \"1738411205\"}}}\n"});
  all.push_back({"{\"mem-allocated-bytes\": {\"start_step\": 0, \"values\": {\"1\": ", "}}}\n"});
  return all;
}

const std::vector<Frame>& frames() {
  static const auto all = all_frames();
  return all;
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  const Frame& frame = frames()[static_cast<unsigned char>(bytes[0]) % frames().size()];
  const std::string text = frame.before + std::string(bytes.substr(1)) + frame.after;
  const ScanResult file = scan_text(text);
  demand(file.coverage.claimed <= file.coverage.lines);
}

constexpr std::size_t longest = 200;

/// For each frame, the last line before the position of the bytes.
std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < frames().size(); ++i) {
    const std::string& before = frames()[i].before;
    const std::size_t last = before.rfind('\n', before.size() < 2 ? 0 : before.size() - 2);
    all.push_back(static_cast<char>(i) + before.substr(last == before.npos ? 0 : last + 1).substr(0, longest - 1));
  }
  for (std::string& line :
       line_seeds({"samples/smi", "samples/smi_query", "samples/smi_monitor", "samples/wandb"}, 200))
    all.push_back(static_cast<char>(all.size() % frames().size()) + std::move(line));
  return all;
}

const Added target({.name = "exports", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
