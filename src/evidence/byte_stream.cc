#include "evidence/byte_stream.h"

#include <string>

namespace oomdoctor {

bool ByteStream::fetch(std::size_t size) {
  constexpr std::size_t piece = 1 << 20;
  begin_ = at_ == nullptr ? 0 : offset();
  const std::string rest(available());
  buffer_.restart(rest);
  bool more = true;
  while (more && buffer_.size() < size) more = refill_(buffer_, piece);
  at_ = buffer_.text().data();
  end_ = at_ + buffer_.size();
  return buffer_.size() >= size;
}

}  // namespace oomdoctor
