#include "text/archive.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace oomdoctor {
namespace {

constexpr std::size_t page = 4096;  ///< aligned blocks make the kernel's copies faster
constexpr std::size_t block_size = std::size_t{1}
                                   << 18;  ///< compressed bytes; a larger block exceeds the second-level cache

}  // namespace

void Archive::FreeBlock::operator()(char* block) const { std::free(block); }

std::unique_ptr<Archive> Archive::begin(std::string_view first, ReadPacked take, UnpackingLimits limits) {
  const Packing packing = find_packing(first);
  if (packing == Packing::none) return nullptr;
  return std::unique_ptr<Archive>(new Archive(packing, first, std::move(take), limits));
}

Archive::Archive(Packing packing, std::string_view first, ReadPacked take, UnpackingLimits limits)
    : packing_(packing), take_(std::move(take)), limits_(limits), decoder_(make_decoder(packing)) {
  const std::size_t room = (std::max(block_size, first.size()) + page - 1) / page * page;
  block_.reset(static_cast<char*>(std::aligned_alloc(page, room)));
  if (!block_) throw std::bad_alloc();
  std::memcpy(block_.get(), first.data(), first.size());
  rest_ = {block_.get(), first.size()};
}

/// Appends more input to the remaining bytes; false at the end.
bool Archive::refill() {
  if (ended_) return false;
  std::memmove(block_.get(), rest_.data(), rest_.size());
  const std::size_t got = take_(block_.get() + rest_.size(), block_size - rest_.size());
  ended_ = got == 0;
  rest_ = {block_.get(), rest_.size() + got};
  return !ended_;
}

std::size_t Archive::read(char* to, std::size_t n) {
  std::size_t made = 0;
  while (made < n && !done_) {
    if (rest_.empty()) refill();
    const Decoder::DecodedPiece step = decoder_->step(rest_, to + made, n - made);
    rest_.remove_prefix(step.taken);
    packed_ += static_cast<i64>(step.taken);
    made += step.made;
    text_ += static_cast<i64>(step.made);
    const bool stuck = step.taken == 0 && step.made == 0;
    if (step.state == Decoder::State::damaged)
      stop("is damaged near byte " + std::to_string(packed_) + " of its " + std::string(to_string(packing_)) +
           " data (" + std::string(step.damage) + "); " + text_so_far() + " before that were read");
    else if (text_ > limits_.text && text_ / limits_.ratio > packed_)
      stop("was not read to its end: " + text_so_far() + " came out of its first " + std::to_string(packed_) +
           " bytes, more than a log packs");
    else if (step.state == Decoder::State::complete)
      next_stream();
    else if (stuck && rest_.empty() && ended_)
      stop("ends early, after byte " + std::to_string(packed_) + " of its " + std::string(to_string(packing_)) +
           " data; " + text_so_far() + " before that were read");
    else if (stuck && !rest_.empty())  // no library should do this; if one does, it must not hang
      stop("is damaged near byte " + std::to_string(packed_) + " of its " + std::string(to_string(packing_)) +
           " data; " + text_so_far() + " before that were read");
  }
  return made;
}

void Archive::next_stream() {
  while (rest_.size() < magic_size && refill()) continue;
  if (rest_.empty())
    done_ = true;
  else if (may_begin(packing_, rest_))
    decoder_->restart();
  else
    look_behind();
}

/// Tapes and block devices pad with zeros. Other bytes may be anything.
void Archive::look_behind() {
  i64 bytes = 0;
  bool zeros = true;
  do {
    bytes += static_cast<i64>(rest_.size());
    zeros = zeros && rest_.find_first_not_of('\0') == std::string_view::npos;
    rest_.remove_prefix(rest_.size());
  } while (refill());
  done_ = true;
  damage_ = zeros ? "is followed by " + std::to_string(bytes) + " zero bytes of padding"
                  : "is followed by " + std::to_string(bytes) + " bytes that are no " +
                        std::string(to_string(packing_)) + " data and were not read";
}

void Archive::stop(std::string damage) {
  do rest_.remove_prefix(rest_.size());
  while (refill());
  done_ = truncated_ = true;
  damage_ = std::move(damage);
}

std::string Archive::text_so_far() const { return "the " + std::to_string(text_) + " bytes of text"; }

}  // namespace oomdoctor
