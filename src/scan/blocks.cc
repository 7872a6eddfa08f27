#include "scan/blocks.h"

namespace oomdoctor {

bool BlockReader::read(Block& block) {
  block.text.bytes.restart(carried_);
  block.text.removed_breaks.assign(carried_breaks_.begin(), carried_breaks_.end());
  block.text.tags.assign(carried_tags_.begin(), carried_tags_.end());
  block.begin = begin_;
  block.offset = offset_;
  const TextBuffer& bytes = block.text.bytes;
  for (std::size_t size = size_;; size += size_) {
    const std::size_t wanted = block.begin + size + Window::margin;
    while (more_ && bytes.size() < wanted) more_ = text_.read(block.text, wanted - bytes.size());
    block.window.emplace(bytes.text(), block.text.removed_breaks, block.offset, block.text.tags);
    block.end = bytes.size();
    if (block.end <= block.begin + size) break;
    if (const auto end = block.window->cut(block.begin, block.begin + size)) {
      block.end = *end;
      break;
    }
  }
  if (block.begin == block.end) return false;
  const std::size_t kept = block.end > Window::margin ? block.end - Window::margin : 0;
  carried_.assign(bytes.text().substr(kept));
  carried_breaks_.clear();
  for (const std::size_t fold : block.text.removed_breaks)
    if (fold >= kept) carried_breaks_.push_back(fold - kept);
  carried_tags_.clear();
  for (const LineTag& tag : block.text.tags)
    if (tag.begin >= kept) carried_tags_.push_back({tag.begin - kept, tag.time, tag.pid});
  begin_ = block.end - kept;
  offset_ += kept;
  block.number = number_++;
  return true;
}

}  // namespace oomdoctor
