#include "text/digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"

#define XXH_INLINE_ALL  // header-only, so there is nothing to link
#include <xxhash.h>

namespace oomdoctor {
namespace {

constexpr std::size_t piece = 1 << 16;

std::string hexadecimal(const XXH128_hash_t& hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  std::string text;
  for (const unsigned char byte : bytes.digest) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

}  // namespace

std::string digest_of_text(std::string_view text) { return hexadecimal(XXH3_128bits(text.data(), text.size())); }

std::string digest_of_file(const std::string& path) {
  const auto refuse = [&] {
    throw Error("a part cannot be made of '" + path + "': it cannot be read twice", "", "write it to a file first");
  };
  if (path == "-") refuse();
  const Descriptor file(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!file.is_open()) throw Error("cannot open '" + path + "': " + std::strerror(errno));
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) refuse();
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::array<char, piece> bytes;
  while (true) {
    const ssize_t got = uninterrupted([&] { return ::read(file.number(), bytes.data(), bytes.size()); });
    if (got == 0) return hexadecimal(XXH3_128bits_digest(&state));
    if (got < 0) throw Error("cannot read '" + path + "': " + std::strerror(errno));
    XXH3_128bits_update(&state, bytes.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace oomdoctor
