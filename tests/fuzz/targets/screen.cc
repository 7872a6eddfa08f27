// Bytes as a captured screen. The played text does not depend on the sizes of the pieces, and is bounded.
#include "text/screen.h"

#include <algorithm>
#include <functional>

#include "../../played.h"
#include "../target.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view raw) {
  ScreenPlayer::wanted(raw);
  const std::string whole = played(raw, raw.size() + 1);
  demand(played(raw, 1 + std::hash<std::string_view>{}(raw) % 7) == whole);
}

/// A first screen, and every sequence that moves, erases, inserts or repeats.
std::vector<std::string> seeds() {
  const std::string first = "\x1b[?1049h\x1b[1;24r\x1b[m\x1b[4l\x1b[H\x1b[JEvery 2.0s: nvidia-smi\x1b[3;1H|  0  A30 |";
  std::vector<std::string> all{first};
  for (const char* more : {"\x1b[2;5H\x1b[9b", "\x1b[4@", "\x1b[3P", "\x1b[2L", "\x1b[2M", "\x1b[1K", "\x1b[2J",
                           "\x1b[5X", "\x1b[9;2r", "\x1b[3A\x1b[4C\x1b[2D\x1b[6B", "\x1b[7G12", "\x1b[4d",
                           "\x1b(0qqq\x1b(B", "\r\n\t\b", "\x1b]0;title\x07", "\x1b[?1049l\n"})
    all.push_back(first + more + "20480MiB");
  return all;
}

const Added target({.name = "screen", .longest = 1024, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
