#include "run/kept_output.h"

#include <unistd.h>

#include <algorithm>

namespace oomdoctor {
namespace {

/// Bytes of output in memory once the disk takes no more: a failure and the steps before it.
constexpr std::size_t memory_bytes = 2 << 20;

std::string content(const Descriptor& file, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = uninterrupted(
        [&] { return pread(file.number(), text.data() + have, text.size() - have, static_cast<off_t>(have)); });
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

}  // namespace

KeptOutput::KeptOutput(const RunFolder& folder, std::string name, std::string mark, std::int64_t part)
    : folder_(folder), name_(std::move(name)), mark_(std::move(mark)), part_(part), head_(folder.create(name_)) {
  if (!head_.is_open()) error_ = errno;
  for (std::size_t i = 0; i < halves_.size(); ++i) halves_[i].name = name_ + '.' + std::to_string(i + 1);
}

/// Starts to fill the older half anew.
void KeptOutput::begin_half() {
  newer_ = 1 - newer_;
  Half& half = halves_[newer_];
  drop(half);
  half.file = folder_.create(half.name);
  if (!half.file.is_open()) error_ = errno;
}

void KeptOutput::drop(Half& half) {
  if (half.file.is_open()) folder_.remove(half.name);
  half.file.close();
  half.bytes = 0;
}

std::int64_t KeptOutput::write(const Descriptor& file, std::string_view text) {
  std::int64_t written = 0;
  while (!text.empty() && error_ == 0) {
    const ssize_t size = uninterrupted([&] { return ::write(file.number(), text.data(), text.size()); });
    if (size < 0) {
      error_ = errno;
      break;
    }
    written += size;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  remember(text);
  return written;
}

void KeptOutput::remember(std::string_view text) {
  if (text.size() > memory_bytes) {
    lost_ += static_cast<std::int64_t>(text.size() - memory_bytes);
    text.remove_prefix(text.size() - memory_bytes);
  }
  memory_ += text;
  if (memory_.size() <= 2 * memory_bytes) return;
  lost_ += static_cast<std::int64_t>(memory_.size() - memory_bytes);
  memory_.erase(0, memory_.size() - memory_bytes);
}

void KeptOutput::add(std::string_view text) {
  while (!text.empty() && error_ == 0) {
    Half& half = halves_[newer_];
    const bool to_head = joined_ || head_bytes_ < part_;
    if (!to_head && (!half.file.is_open() || half.bytes >= part_)) {
      begin_half();
      continue;
    }
    std::int64_t& bytes = to_head ? head_bytes_ : half.bytes;
    const auto size = static_cast<std::int64_t>(text.size());
    const std::int64_t room = joined_ ? size : part_ - bytes;
    const std::string_view piece = text.substr(0, static_cast<std::size_t>(std::min(size, room)));
    const std::int64_t written = write(to_head ? head_ : half.file, piece);
    bytes += written;
    all_ += written;
    text.remove_prefix(piece.size());
  }
  if (!text.empty()) remember(text);
}

void KeptOutput::skip(std::int64_t bytes) {
  if (keeps_end() && error_ == 0) {
    for (Half& half : halves_) drop(half);
    all_ += bytes;
    return;
  }
  skipped_ += bytes;
  add("\n[" + mark_ + std::to_string(bytes) + " bytes of output came faster than they could be kept]\n");
}

std::string KeptOutput::dropped_line() const {
  if (dropped_ == 0) return "";
  return "\n[" + mark_ + std::to_string(dropped_) + " bytes of output between here and there were not kept]\n";
}

/// Appends a half to the beginning.
bool KeptOutput::append(const Half& half) {
  std::array<char, 1 << 16> buffer;
  for (std::int64_t at = 0; at < half.bytes;) {
    const ssize_t got = uninterrupted([&] { return pread(half.file.number(), buffer.data(), buffer.size(), at); });
    if (got <= 0 || !write_all(head_.number(), {buffer.data(), static_cast<std::size_t>(got)})) return false;
    at += got;
  }
  return true;
}

/// If that fails, the parts stay as they are.
void KeptOutput::join() {
  if (joined_) return;
  Half &older = halves_[1 - newer_], &newer = halves_[newer_];
  dropped_ = all_ - head_bytes_ - older.bytes - newer.bytes;
  if (error_ != 0) return;
  const bool whole = write_all(head_.number(), dropped_line()) && append(older) && append(newer);
  if (!whole) {
    error_ = errno;
    [[maybe_unused]] const int cut = ftruncate(head_.number(), head_bytes_);
    return;
  }
  joined_ = true;
  for (Half* half : {&older, &newer}) drop(*half);
}

bool KeptOutput::rescue() {
  const auto whole = text();
  if (!whole) return true;
  const std::string beside = name_ + ".new";
  const Descriptor file = folder_.create(beside);
  if (!file.is_open() || !write_all(file.number(), *whole) || !folder_.rename(beside, name_)) {
    folder_.remove(beside);
    return false;
  }
  for (const Half& half : halves_) folder_.remove(half.name);
  return true;
}

std::optional<std::string> KeptOutput::text() const {
  if (error_ == 0) return std::nullopt;
  const Half &older = halves_[1 - newer_], &newer = halves_[newer_];
  std::string text = content(head_, head_bytes_);
  if (!joined_) text += dropped_line() + content(older.file, older.bytes) + content(newer.file, newer.bytes);
  if (lost_ > 0) text += "\n[" + mark_ + std::to_string(lost_) + " bytes of output are lost]\n";
  return text + memory_;
}

}  // namespace oomdoctor
