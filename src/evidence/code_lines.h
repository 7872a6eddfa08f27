// What the stacks of a snapshot say: the line of the user's code that asked, and what kind of tensor it asked for. Each
// frame and each stack is judged once.
#pragma once

#include <optional>
#include <vector>

#include "evidence/snapshot.h"
#include "model/event.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

/// What a frame shows; a stack shows what its frames do.
enum StackTrait : unsigned {
  in_python = 1 << 0,
  in_backward_engine = 1 << 1,
  in_optimizer = 1 << 2,
  makes_optimizer_states = 1 << 3,
  moves_parameters = 1 << 4,
  in_forward_pass = 1 << 5,
  in_evaluation_loop = 1 << 6,
  in_loss = 1 << 7,
  for_key_value_cache = 1 << 8,
  for_collective = 1 << 9,
  for_workspace = 1 << 10,
  loads_checkpoint = 1 << 11,
  for_input = 1 << 12,
  in_step_function = 1 << 13,
};

class CodeLines {
 public:
  /// `stacks` must outlive it.
  explicit CodeLines(const StackTable& stacks);

  static constexpr u32 no_frame = 0xFFFFFFFF;
  /// The innermost frame of the user's own code; no_frame if there is none.
  u32 user_frame(StackId stack) const { return stack == no_stack ? no_frame : user_[stack]; }
  unsigned traits(StackId stack) const { return stack == no_stack ? 0 : traits_[stack]; }
  /// Of which kind a tensor is, by the frames of the stack that requested it; "unknown" if they do not show it.
  std::string_view category(StackId stack) const;
  CodeLine code_line(u32 frame) const;
  /// The Python frames of a stack, outermost first.
  std::vector<Frame> python_frames(StackId stack) const;

 private:
  const StackTable& stacks_;
  std::vector<u32> user_;
  std::vector<unsigned> traits_;
};

/// True for a file of the user's own code: no library, no generated code.
bool is_user_code(std::string_view file);

}  // namespace oomdoctor
