#include "parse/blocks.h"

#include <algorithm>

namespace oomdoctor {

bool BlockReader::read(Block& block) {
  block.text.bytes.assign(carried_.bytes);  // copied, not swapped: the block keeps its buffer from source to source
  block.text.removed_breaks.assign(carried_.removed_breaks.begin(), carried_.removed_breaks.end());
  block.begin = begin_;
  block.offset = offset_;
  const std::string& bytes = block.text.bytes;
  for (std::size_t size = size_;; size += size_) {
    while (more_ && bytes.size() < block.begin + size + Window::margin) more_ = text_.read(block.text, size_);
    block.window.emplace(bytes, block.text.removed_breaks, block.offset);
    block.end = bytes.size();
    if (block.end <= block.begin + size) break;
    if (const auto end = block.window->cut(block.begin, block.begin + size)) {
      block.end = *end;
      break;
    }
  }
  if (block.begin == block.end) return false;
  const std::size_t kept = block.end > Window::margin ? block.end - Window::margin : 0;
  carried_.bytes.assign(bytes, kept);
  carried_.removed_breaks.clear();
  for (const std::size_t fold : block.text.removed_breaks)
    if (fold >= kept) carried_.removed_breaks.push_back(fold - kept);
  begin_ = block.end - kept;
  offset_ += kept;
  block.number = number_++;
  return true;
}

}  // namespace oomdoctor
