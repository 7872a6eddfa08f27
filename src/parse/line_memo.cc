#include "parse/line_memo.h"

#include <algorithm>
#include <cstring>

namespace oomdoctor {
namespace {

/// Many shapes for each way of printing a line, because each of its numbers has several lengths. At about half a kilobyte
/// each, a thread's memo stays under 8 MiB.
constexpr std::size_t max_shapes = 12000, slots = 1 << 15, remembered = 1 << 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Four chains of multiplications, so that they do not wait for each other. `text` has room for whole blocks.
std::uint64_t hash_of(const char* text, std::size_t size) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
  constexpr std::size_t lanes = 4, block = lanes * sizeof(std::uint64_t);
  std::array<std::uint64_t, lanes> h{size, odd, ~size, ~odd}, words{};
  for (std::size_t at = 0; at < size; at += block) {
    std::memcpy(words.data(), text + at, block);
    for (std::size_t i = 0; i < lanes; ++i) {
      h[i] = (h[i] ^ words[i]) * odd;
      h[i] ^= h[i] >> 29;
    }
  }
  std::uint64_t all = 0;
  for (const std::uint64_t one : h) all = (all ^ one) * odd, all ^= all >> 32;
  return all;
}

}  // namespace

LineMemo::LineMemo() : met_(remembered), slots_(slots) {}

LineMemo::Slot& LineMemo::slot(std::uint64_t hash, std::string_view text) {
  for (std::size_t i = hash % slots;; i = (i + 1) % slots)
    if (slots_[i].shape == nullptr || (slots_[i].hash == hash && slots_[i].shape->text == text)) return slots_[i];
}

const Shape* LineMemo::find(std::string_view line) {
  constexpr std::size_t block = 32;  // of hash_of
  size_ = 0;
  wanted_ = false;
  if (line.size() + block > text_.size()) return nullptr;
  size_ = line.size();
  const char* from = line.data();
  for (std::size_t i = 0; i < size_; ++i) text_[i] = is_digit(from[i]) ? '0' : from[i];
  std::memset(text_.data() + size_, 0, block);
  hash_ = hash_of(text_.data(), size_);
  const Shape* known = slot(hash_, {text_.data(), size_}).shape;
  if (known == nullptr && shapes_.size() < max_shapes) {
    std::uint32_t& met = met_[hash_ % remembered];
    const auto rest = static_cast<std::uint32_t>(hash_ >> 32);
    wanted_ = met == rest;
    met = rest;
  }
  return known;
}

void LineMemo::keep(std::string_view line, Shape shape) {
  if (!wanted_) return;
  shape.text.assign(text_.data(), size_);
  Shape& kept = shapes_.emplace_back(std::move(shape));
  for (Take& take : kept.takes)
    for (std::size_t i = 0; take.captures && i < take.captures->group.size(); ++i)
      if (auto& group = take.captures->group[i]; group.data() != nullptr)
        group = std::string_view(kept.text).substr(static_cast<std::size_t>(group.data() - line.data()), group.size());
  slot(hash_, kept.text) = {hash_, &kept};
}

}  // namespace oomdoctor
