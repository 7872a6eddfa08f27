// Bytes as an archive. What begins like none is packed, must come out as it went in, and is then damaged.
#include "text/archive.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "packed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace oomdoctor {
namespace {

constexpr std::size_t most_text = 16 << 20;  ///< enough for every path; an input may unpack to gigabytes

/// Aborts when reading gets stuck or writes more than it was given room for.
std::string text_of(const std::string& packed, std::size_t piece, std::size_t block) {
  std::size_t taken = 0;
  const auto take = [&](char* to, std::size_t n) {
    n = std::min({n, piece, packed.size() - taken});
    std::memcpy(to, packed.data() + taken, n);
    taken += n;
    return n;
  };
  const std::string first = packed.substr(0, std::min(packed.size(), magic_size));
  taken = first.size();
  const auto archive = Archive::begin(first, take);
  std::string text, to(block, '\0');
  while (archive && text.size() < most_text) {
    const std::size_t made = archive->read(to.data(), block);
    if (made > block) std::abort();
    if (made == 0) break;
    text.append(to, 0, made);
  }
  return text;
}

}  // namespace
}  // namespace oomdoctor

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oomdoctor;
  const std::string bytes(data, data + size);
  const std::size_t chance = std::hash<std::string>{}(bytes);
  const std::size_t piece = 1 + chance % 5000, block = 1 + chance / 5000 % 70000;
  if (packing_of(bytes) != Packing::none) {
    text_of(bytes, piece, block);
    return 0;
  }
  for (std::string packed : {testing::gzipped(bytes), testing::zstandard(bytes)}) {
    if (text_of(packed, piece, block) != bytes) std::abort();
    packed[chance % packed.size()] ^= static_cast<char>(1 << chance % 8);
    text_of(packed, block, piece);
  }
  return 0;
}
