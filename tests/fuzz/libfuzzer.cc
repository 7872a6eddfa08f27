// Searches for inputs that break a target:   oomdoctor_search NAME [libFuzzer's options] FOLDER
//
// oomdoctor_search --list           names of the targets, each with the length of its inputs
// oomdoctor_search --seeds NAME DIR   writes the first inputs of this target's search
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "target.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace oomdoctor::testing {
namespace {

constexpr const char* variable = "OOMDOCTOR_FUZZ_TARGET";  // for the processes that libFuzzer starts
const Target* chosen = nullptr;

[[noreturn]] void list() {
  for (const Target& target : targets()) std::printf("%s %zu\n", std::string(target.name).c_str(), target.longest);
  std::exit(0);
}

[[noreturn]] void write_seeds(const Target& target, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::size_t number = 0;
  const auto write = [&](const std::string& seed) {
    std::ofstream(folder / std::to_string(number++), std::ios::binary) << seed;
  };
  for (const std::string& seed : target.seeds()) write(seed);
  for (const std::string& finding : findings(target.name)) write(finding);
  std::exit(0);
}

void choose(int& argc, char**& argv) {
  if (argc == 2 && argv[1] == std::string_view("--list")) list();
  if (argc == 4 && argv[1] == std::string_view("--seeds") && find_target(argv[2]) != nullptr)
    write_seeds(*find_target(argv[2]), argv[3]);
  if (argc > 1 && find_target(argv[1]) != nullptr) {
    setenv(variable, argv[1], 1);
    argv[1] = argv[0];
    ++argv;
    --argc;
  }
  const char* name = std::getenv(variable);
  chosen = name != nullptr ? find_target(name) : nullptr;
  if (chosen != nullptr) return;
  std::fprintf(stderr, "usage: oomdoctor_search --list | --seeds NAME DIR | NAME [options] DIR\n");
  std::exit(2);
}

}  // namespace
}  // namespace oomdoctor::testing

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  oomdoctor::testing::choose(*argc, *argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  oomdoctor::testing::chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
