// Bytes as an archive. Other bytes are packed, must unpack unchanged, and are then damaged.
#include "text/archive.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "../../packed.h"
#include "../target.h"

namespace oomdoctor::testing {
namespace {

constexpr std::size_t max_text = 1 << 20;  // enough for every path; an input may unpack to gigabytes

/// Reading terminates and never writes beyond the given room.
std::string text_of(std::string_view packed, std::size_t piece, std::size_t block) {
  std::size_t taken = std::min(packed.size(), magic_size);
  const auto take = [&](char* to, std::size_t n) {
    n = std::min({n, piece, packed.size() - taken});
    std::memcpy(to, packed.data() + taken, n);
    taken += n;
    return n;
  };
  const auto archive = Archive::begin(packed.substr(0, taken), take);
  std::string text, to(block, '\0');
  while (archive && text.size() < max_text) {
    const std::size_t made = archive->read(to.data(), block);
    demand(made <= block);
    if (made == 0) break;
    text.append(to, 0, made);
  }
  return text;
}

void run(std::string_view bytes) {
  const std::size_t chance = std::hash<std::string_view>{}(bytes);
  const std::size_t piece = 1 + chance % 5000, block = 1 + chance / 5000 % 70000;
  if (find_packing(bytes) != Packing::none) {
    text_of(bytes, piece, block);
    return;
  }
  constexpr std::string (*packs[])(std::string_view) = {gzipped, zstandard, xz, bzip2, lz4};
  std::string packed = packs[chance % std::size(packs)](bytes);
  demand(text_of(packed, piece, block) == bytes);
  packed[chance % packed.size()] ^= static_cast<char>(1 << chance % 8);
  text_of(packed, block, piece);
}

constexpr std::size_t longest = 4096;

/// Text, and archives of every kind: alone, two in a row, with bytes after them.
std::vector<std::string> seeds() {
  std::vector<std::string> all = file_seeds({"samples/stories"}, longest);
  const std::string text = all.front().substr(0, 700), gzip = gzipped(text), zstd = zstandard(text);
  for (const std::string& packed : {gzip, zstd, gzip + gzip, zstd + zstd, gzip + zstd, zstd + "\n", gzip + text,
                                    xz(text), xz(text) + xz(text), bzip2(text) + bzip2(text), lz4(text) + lz4(text)})
    all.push_back(packed);
  return all;
}

const Added target({.name = "archive", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
