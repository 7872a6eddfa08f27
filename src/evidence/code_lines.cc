#include "evidence/code_lines.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// Calls `test` with each folder of a path; `\` separates as `/` does.
template <class Test>
bool any_folder(std::string_view path, const Test& test) {
  while (true) {
    const auto slash = path.find_first_of("/\\");
    if (slash == path.npos) return false;
    if (test(path.substr(0, slash))) return true;
    path.remove_prefix(slash + 1);
  }
}

bool is_library_folder(std::string_view folder) {
  return folder == "site-packages" || folder == "dist-packages" || folder == "torch" ||
         folder.starts_with("torchinductor");
}

/// "…/lib/python3.11/…": Python's own library.
bool is_in_python_library(std::string_view file) {
  std::string path(file);
  std::replace(path.begin(), path.end(), '\\', '/');
  constexpr std::string_view library = "lib/python";
  for (std::size_t at = path.find(library); at != path.npos; at = path.find(library, at + 1)) {
    const std::size_t version = at + library.size();
    if ((at == 0 || path[at - 1] == '/') && version < path.size() && is_digit(path[version])) return true;
  }
  return false;
}

struct NamedTrait {
  std::string_view part;
  unsigned trait;
};

/// Parts of file names, with `/` between folders.
constexpr auto file_traits = std::to_array<NamedTrait>({
    {"/optim/", in_optimizer},
    {"/optimizers/", in_optimizer},
    {"ops/adam/", in_optimizer},
    {"_flat_param.py", moves_parameters},
    {"partition_parameters.py", moves_parameters},
    {"distributed_c10d.py", for_collective},
    {"torch/serialization.py", loads_checkpoint},
    {"utils/data/", for_input},
    {"dataloader", for_input},
    {"data_loader", for_input},
    {"mem_cache/", for_key_value_cache},
    {"/loss/", in_loss},
    {"/losses", in_loss},
    {"cache_utils.py", for_key_value_cache},
    {"cache_engine", for_key_value_cache},
    {"kv_cache", for_key_value_cache},
    {"kvcache", for_key_value_cache},
});

/// Whole names of Python functions.
constexpr auto function_traits = std::to_array<NamedTrait>({
    {"_init_group", makes_optimizer_states},
    {"init_state", makes_optimizer_states},
    {"forward", in_forward_pass},
    {"step", in_step_function},
    {"_call_impl", in_forward_pass},
    {"_wrapped_call_impl", in_forward_pass},
    {"load_state_dict", moves_parameters},
    {"_load_from_state_dict", moves_parameters},
    {"from_pretrained", moves_parameters},
    {"to_empty", moves_parameters},
    {"load_checkpoint", loads_checkpoint},
    {"resume_from_checkpoint", loads_checkpoint},
    {"cross_entropy", in_loss},
    {"log_softmax", in_loss},
    {"nll_loss", in_loss},
    {"compute_logits", in_loss},
    {"test_step", in_evaluation_loop},
    {"predict", in_evaluation_loop},
    {"predict_step", in_evaluation_loop},
    {"prediction_step", in_evaluation_loop},
    {"prediction_loop", in_evaluation_loop},
    {"collate", for_input},
    {"collate_fn", for_input},
    {"pin_memory", for_input},
    {"to_device", for_input},
    {"move_to_device", for_input},
    {"send_to_device", for_input},
});

/// Whole words in the names of Python functions: "run_eval", "validation_loop".
constexpr auto evaluation_words =
    std::to_array<std::string_view>({"eval", "evaluate", "evaluation", "val", "validate", "validation"});

bool names_evaluation(std::string_view function) {
  while (!function.empty()) {
    const std::string_view word = function.substr(0, function.find('_'));
    if (std::find(evaluation_words.begin(), evaluation_words.end(), word) != evaluation_words.end()) return true;
    function.remove_prefix(std::min(word.size() + 1, function.size()));
  }
  return false;
}

/// Parts of the names of Python functions.
constexpr auto function_words = std::to_array<NamedTrait>({
    {"kv_cache", for_key_value_cache},
    {"past_key_value", for_key_value_cache},
    {"loss", in_loss},
    {"lm_head", in_loss},
});

/// Functions of torch/nn/modules/module.py that move or convert a whole module.
constexpr auto module_moves = std::to_array<std::string_view>({"_apply", "convert", "to", "cuda", "half", "bfloat16"});

/// Parts of demangled names of C++.
constexpr auto symbol_traits = std::to_array<NamedTrait>({
    {"torch::autograd::Engine", in_backward_engine},
    {"LogSoftmax", in_loss},
    {"NllLoss", in_loss},
    {"cross_entropy", in_loss},
    {"c10d::", for_collective},
    {"ncclAll", for_collective},
    {"Workspace", for_workspace},
});

constexpr int asking_frames = 6;  ///< of Python, from the innermost one

unsigned traits_of(std::string_view file, std::string_view function) {
  unsigned traits = 0;
  if (!file.ends_with(".py")) {
    for (const NamedTrait& known : symbol_traits)
      if (contains(function, known.part)) traits |= known.trait;
    return traits;
  }
  std::string path(file);
  std::replace(path.begin(), path.end(), '\\', '/');
  traits |= in_python;
  for (const NamedTrait& known : file_traits)
    if (contains(path, known.part)) traits |= known.trait;
  for (const NamedTrait& known : function_traits)
    if (function == known.part) traits |= known.trait;
  for (const NamedTrait& known : function_words)
    if (contains(function, known.part)) traits |= known.trait;
  if (names_evaluation(function)) traits |= in_evaluation_loop;
  // Optimizers of one's own: step() in optimizers.py.
  if (function == "step" && contains(path, "optim")) traits |= in_optimizer;
  if (function == "__init__" && contains(path, "torch/nn/modules/")) traits |= moves_parameters;
  if (path.ends_with("nn/modules/module.py") &&
      std::find(module_moves.begin(), module_moves.end(), function) != module_moves.end())
    traits |= moves_parameters;
  return traits;
}

}  // namespace

bool is_user_code(std::string_view file) {
  if (!file.ends_with(".py") || file.starts_with('<')) return false;
  return !any_folder(file, is_library_folder) && !is_in_python_library(file);
}

CodeLines::CodeLines(const StackTable& stacks) : stacks_(stacks) {
  struct JudgedFrame {
    unsigned traits = 0;
    bool user = false;
  };
  std::vector<JudgedFrame> frames(stacks.frames());
  for (u32 id = 0; id < frames.size(); ++id) {
    const StackFrame& frame = stacks.frame(id);
    frames[id] = {traits_of(stacks.text(frame.file), stacks.text(frame.function)),
                  is_user_code(stacks.text(frame.file))};
  }
  user_.assign(stacks.stacks(), no_frame);
  traits_.assign(stacks.stacks(), 0);
  for (StackId stack = 0; stack < user_.size(); ++stack) {
    int python = 0;
    for (const u32 frame : stacks.stack(stack)) {
      unsigned traits = frames[frame].traits;
      python += (traits & in_python) != 0;
      // A trainer calls the whole model below "compute_loss", and an optimizer a whole step (a closure): only the
      // innermost frames show who asked.
      if (python > asking_frames || user_[stack] != no_frame) traits &= ~in_loss;
      if ((traits_[stack] & in_forward_pass) != 0) traits &= ~(in_optimizer | makes_optimizer_states);
      traits_[stack] |= traits;
      if (frames[frame].user && user_[stack] == no_frame) user_[stack] = frame;
    }
  }
}

std::string_view CodeLines::category(StackId stack) const {
  const unsigned shown = traits(stack);
  if ((shown & for_collective) != 0) return "collective";
  if ((shown & for_workspace) != 0) return "workspace";
  if ((shown & for_key_value_cache) != 0) return "kv_cache";
  if ((shown & (makes_optimizer_states | in_optimizer)) != 0) return "optimizer_state";
  const bool engine_alone = (shown & in_backward_engine) != 0 && (shown & in_python) == 0;
  if (engine_alone) return "gradient";
  if ((shown & (moves_parameters | loads_checkpoint)) != 0 && (shown & in_forward_pass) == 0) return "parameter";
  if ((shown & in_forward_pass) != 0) return "activation";
  return (shown & for_input) != 0 ? "input" : "unknown";
}

CodeLine CodeLines::code_line(u32 frame) const {
  if (frame == no_frame) return {};
  const StackFrame& of = stacks_.frame(frame);
  return {std::string(stacks_.text(of.file)), of.line, std::string(stacks_.text(of.function))};
}

std::vector<Frame> CodeLines::python_frames(StackId stack) const {
  std::vector<Frame> frames;
  for (const u32 id : stacks_.stack(stack)) {
    const StackFrame& of = stacks_.frame(id);
    const std::string_view file = stacks_.text(of.file);
    if (file.ends_with(".py"))
      frames.push_back({std::string(file), of.line, std::string(stacks_.text(of.function)), "", !is_user_code(file)});
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace oomdoctor
