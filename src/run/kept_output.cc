#include "run/kept_output.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "run/private_file.h"

namespace oomdoctor {

KeptOutput::KeptOutput(std::string path, std::int64_t part)
    : path_(std::move(path)), part_(part), head_(create_private_file(path_)) {
  if (!head_.is_open()) throw Error("cannot create " + path_ + ": " + std::strerror(errno));
  for (std::size_t i = 0; i < halves_.size(); ++i) halves_[i].path = path_ + '.' + std::to_string(i + 1);
}

/// Starts to fill the older half anew.
void KeptOutput::begin_half() {
  newer_ = 1 - newer_;
  Half& half = halves_[newer_];
  half.file = create_private_file(half.path);
  half.bytes = 0;
  failed_ |= !half.file.is_open();
}

void KeptOutput::add(std::string_view text) {
  while (!text.empty() && !failed_) {
    Half& half = halves_[newer_];
    const bool to_head = joined_ || head_bytes_ < part_;
    if (!to_head && (!half.file.is_open() || half.bytes >= part_)) {
      begin_half();
      continue;
    }
    Descriptor& file = to_head ? head_ : half.file;
    std::int64_t& bytes = to_head ? head_bytes_ : half.bytes;
    const auto size = static_cast<std::int64_t>(text.size());
    const std::int64_t room = joined_ ? size : part_ - bytes;
    const std::string_view piece = text.substr(0, static_cast<std::size_t>(std::min(size, room)));
    failed_ |= !write_all(file.number(), piece);
    bytes += static_cast<std::int64_t>(piece.size());
    all_ += static_cast<std::int64_t>(piece.size());
    text.remove_prefix(piece.size());
  }
}

/// Appends a half to the beginning.
void KeptOutput::append(const Half& half) {
  std::array<char, 1 << 16> buffer;
  for (std::int64_t at = 0; at < half.bytes && !failed_;) {
    const ssize_t got = uninterrupted([&] { return pread(half.file.number(), buffer.data(), buffer.size(), at); });
    failed_ = got <= 0;
    if (failed_) return;
    failed_ |= !write_all(head_.number(), {buffer.data(), static_cast<std::size_t>(got)});
    at += got;
  }
}

void KeptOutput::join() {
  if (joined_) return;
  joined_ = true;
  Half &older = halves_[1 - newer_], &newer = halves_[newer_];
  dropped_ = all_ - head_bytes_ - older.bytes - newer.bytes;
  if (dropped_ > 0)
    failed_ |= !write_all(head_.number(), "\n[oomdoctor run: " + std::to_string(dropped_) +
                                              " bytes of output between here and there were not kept]\n");
  for (Half* half : {&older, &newer}) {
    if (!half->file.is_open()) continue;
    append(*half);
    half->file.close();
    unlink(half->path.c_str());
  }
}

}  // namespace oomdoctor
