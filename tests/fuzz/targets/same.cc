// Bytes as a log that is read in another way: in blocks of other sizes, on several threads, with the vector code of
// another instruction set, from a file, a pipe, or packed. The result is the same.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "../../instruction_set.h"
#include "../../packed.h"
#include "../logs.h"
#include "../target.h"
#include "serialize/partial.h"
#include "text/decoder.h"

namespace oomdoctor::testing {
namespace {

/// Name, size and compression of the input are cleared: they differ between the ways.
std::string part_of(Source source, const ScanOptions& options) {
  ScanResult file = shipped_scanner().scan(source, options);
  for (Input& input : file.inputs) {
    input.bytes = 0;
    input.compression.clear();
    input.path.clear();
  }
  for (LostEvidence& lost : file.lost) lost.path.clear();
  for (Note& note : file.notes)
    if (note.text.starts_with(source.name())) note.text.erase(0, source.name().size());
  return partial_line({"fuzz.log", ""}, file);
}

void put(int to, std::string_view text) {
  demand(to >= 0 && write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

Source open_file(std::string_view text) {
  const int file = memfd_create("log", 0);
  put(file, text);
  Source source = Source::open("/proc/self/fd/" + std::to_string(file));
  close(file);
  return source;
}

/// The text must be shorter than the capacity of a pipe.
Source open_pipe(std::string_view text) {
  std::array<int, 2> ends{};
  demand(pipe(ends.data()) == 0);
  put(ends[1], text);
  Source source = Source::open("/proc/self/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  close(ends[1]);
  return source;
}

constexpr std::size_t pipe_size = 1 << 16;

void run(std::string_view bytes) {
  const std::size_t chance = std::hash<std::string_view>{}(bytes);
  std::string text(bytes);
  if (chance % 4 == 0)  // only a long text has several blocks
    while (text.size() < 200'000 && !bytes.empty()) text.append(bytes).append("\n");
  const auto in_memory = [&] { return Source::of_text("fuzz.log", text); };
  const std::string expected = part_of(in_memory(), {.jobs = 1});

  switch (chance / 4 % 6) {
    case 0:
      demand(part_of(in_memory(), {.jobs = 1, .block_bytes = 1 + chance / 24 % 100'000}) == expected);
      break;
    case 1:
      demand(part_of(in_memory(), {.jobs = 3, .block_bytes = 1 << 14}) == expected);
      break;
    case 2:
      for (const std::int64_t target : instruction_sets()) {
        use_instruction_set(target);
        const bool same = part_of(in_memory(), {.jobs = 1}) == expected;
        use_instruction_set(0);
        demand(same);
      }
      break;
    case 3:
      demand(part_of(open_file(text), {.jobs = 1}) == expected);
      break;
    case 4:
      if (text.size() < pipe_size) demand(part_of(open_pipe(text), {.jobs = 1}) == expected);
      break;
    default:
      if (find_packer(text).empty())  // a packed text gives only a note, but inside another archive it is read
        demand(part_of(Source::of_text("fuzz.log", chance % 8 < 4 ? gzipped(text) : zstandard(text)), {.jobs = 1}) ==
               expected);
  }
}

constexpr std::size_t longest = 2048;
std::vector<std::string> seeds() { return file_seeds({"samples"}, longest); }

const Added target({.name = "same", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
