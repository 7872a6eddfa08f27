// Bytes as a part, and parts of logs with damage: refused with an Error, or a case that every analysis and writer can
// take, and that reads back as it was written.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "base/error.h"
#include "oomdoctor/diagnose.h"
#include "report/partial.h"
#include "report/writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace oomdoctor {
namespace {

/// A file in memory, because parts are read from files.
class Part {
 public:
  explicit Part(std::string_view text) : file_(memfd_create("part", 0)) {
    if (file_ < 0 || write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  }
  ~Part() { close(file_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

Options alone() {
  Options options;
  options.jobs = 1;
  return options;
}

void merge_text(const std::string& text) {
  const Part part(text);
  try {
    const Report report = merge({part.path()}, alone());
    for (const Writer& writer : writers()) writer.write(report, {.width = 40, .color = true, .verbose = true});
  } catch (const Error& error) {
    if (error.what()[0] == '\0') std::abort();
  }
}

void read_back(const std::string& line) {
  try {
    const Case once = read_part(line, "fuzz");
    const std::string written = partial_line({once.inputs.front().path, ""}, once);
    const Case twice = read_part(written, "fuzz");
    if (partial_line({twice.inputs.front().path, ""}, twice) != written) std::abort();
  } catch (const Error& error) {
    if (error.what()[0] == '\0') std::abort();
  }
}

/// Other digits, names and brackets in a few places.
std::string damaged(std::string line, std::mt19937& random) {
  constexpr std::string_view strokes = "0123456789-.e[]{}\",:tnx\x80";
  for (std::size_t n = 1 + random() % 3; n > 0 && !line.empty(); --n)
    line[random() % line.size()] = strokes[random() % strokes.size()];
  return line;
}

}  // namespace
}  // namespace oomdoctor

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oomdoctor;
  std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.empty() && text.front() == '{') {
    read_back(text);
    merge_text(text);
    return 0;
  }
  std::mt19937 random(static_cast<std::uint32_t>(size));
  read_parts({{.path = "rank_1.log", .memory = std::move(text)}}, alone(), [&](std::string_view part) {
    const std::string line(part);
    read_back(line);
    merge_text(line);
    for (int i = 0; i < 4; ++i) {
      const std::string other = damaged(line, random);
      read_back(other);
      merge_text(other);
    }
  });
  return 0;
}
