// Whose memory a block is, and of which kind: by the frames of its stack, and where these do not show it by its size.
// The gradients of a model have the sizes of its parameters, one to one, and so has each state of its optimizer.
#pragma once

#include <compare>
#include <map>
#include <string_view>

#include "evidence/code_lines.h"
#include "evidence/moment.h"

namespace oomdoctor {

/// A line of the user's code, or without one a kind.
struct MemoryOwner {
  u32 frame = CodeLines::no_frame;
  std::string_view kind;  ///< "" with a frame

  friend std::strong_ordering operator<=>(const MemoryOwner&, const MemoryOwner&) = default;
};

class TensorKinds {
 public:
  /// `lines` must outlive it.
  TensorKinds(const MemoryMoment& moment, const CodeLines& lines);

  static constexpr std::string_view unrecorded = "unrecorded";
  std::string_view kind(const LiveBlock& block) const {
    return is_unrecorded(block) ? unrecorded : kind_of_stack(block.stack);
  }
  MemoryOwner owner(const LiveBlock& block) const { return named(lines_.user_frame(block.stack), kind(block)); }
  /// Of a recorded block.
  MemoryOwner owner_of_stack(StackId stack) const { return named(lines_.user_frame(stack), kind_of_stack(stack)); }

 private:
  static MemoryOwner named(u32 frame, std::string_view kind) {
    return {frame, frame == CodeLines::no_frame ? kind : std::string_view()};
  }
  std::string_view kind_of_stack(StackId stack) const;

  const CodeLines& lines_;
  std::map<u32, std::string_view> by_size_;  ///< by the user's frame, of stacks that show no kind
};

}  // namespace oomdoctor
