// The phase of the run in which a failure happened. The traceback decides. Without one, the last phase marker before
// the failure decides. Without both, the phase stays unknown.
//
// A "first step" needs a log that begins with the run (it prints its settings or its first steps): the message alone
// does not show how many steps preceded it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/parse_whole.h"
#include "facts/analysis.h"
#include "facts/programs.h"

namespace oomdoctor {
namespace {

constexpr i64 max_first_steps = 2;  ///< up to this many progress lines, a failure belongs to the first step, because
                                    ///< the first log line may come after that step

constexpr auto phase_ids =
    std::to_array<std::string_view>({"load", "first_step", "optimizer_init", "forward", "backward", "optimizer",
                                     "evaluation", "generation", "checkpoint_save", "checkpoint_load", "data_loading"});

/// A function name or a part of one, and the phase that it shows.
struct PhaseWord {
  std::string_view phase;
  std::string_view word;
};

/// Function names (complete, or the part after the last dot) and their phases. The first entry that matches any frame
/// decides.
constexpr auto functions = std::to_array<PhaseWord>({
    {"checkpoint_save", "save_checkpoint"},
    {"checkpoint_save", "_save_checkpoint"},
    {"checkpoint_save", "save_pretrained"},
    {"checkpoint_save", "save_model"},
    {"checkpoint_save", "save_state"},
    {"checkpoint_save", "_save"},
    {"checkpoint_save", "full_state_dict"},
    {"checkpoint_load", "load_checkpoint"},
    {"checkpoint_load", "resume_from_checkpoint"},
    {"checkpoint_load", "_load_optimizer_and_scheduler"},
    {"checkpoint_load", "_load_from_checkpoint"},
    // Gaussian splatting keeps all photos on the GPU.
    {"data_loading", "cameraList_from_camInfos"},
    {"data_loading", "loadCam"},
    {"evaluation", "evaluate"},
    {"evaluation", "_evaluate"},
    {"evaluation", "evaluation_loop"},
    {"evaluation", "validation_step"},
    {"evaluation", "validate"},
    {"evaluation", "_validate"},
    {"evaluation", "validation"},
    {"evaluation", "prediction_step"},
    {"evaluation", "prediction_loop"},
    {"evaluation", "predict"},
    {"evaluation", "predict_step"},
    {"evaluation", "test_step"},
    {"evaluation", "eval_step"},
    {"evaluation", "run_eval"},
    {"evaluation", "eval_epoch"},
    {"evaluation", "inference_on_dataset"},
    {"evaluation", "test"},
    {"evaluation", "evaluation"},
    // Only evaluation loops join the outputs of many batches in this way.
    {"evaluation", "torch_pad_and_concatenate"},
    {"evaluation", "nested_concat"},
    {"evaluation", "gather_for_metrics"},
    {"generation", "generate"},
    {"generation", "beam_search"},
    {"generation", "_beam_search"},
    {"generation", "greedy_search"},
    {"generation", "_sample"},
    {"generation", "sample"},
    {"generation", "decode_latents"},
    {"generation", "vae_decode"},
    {"generation", "decode"},
    {"generation", "generate_samples"},
    {"generation", "generate_sequences"},
    {"generation", "prompt_step"},
    {"generation", "prefill"},
});

/// Moments of an inference engine's start or wake-up, which are not training phases.
constexpr auto moments = std::to_array<PhaseWord>({
    {"wake_up", "wake_up"},
    {"wake_up", "resume_memory_occupation"},
    {"wake_up", "create_and_map"},
    {"wake_up", "backload_to_gpu"},
    {"wake_up", "_backload_vllm_engines"},
    {"wake_up", "onload_weights"},
    {"wake_up", "onload_kv"},
    {"graph_capture", "init_device_graphs"},
    {"graph_capture", "init_cuda_graphs"},
    {"graph_capture", "capture_model"},
    {"graph_capture", "capture_one_batch_size"},
    {"graph_capture", "_capture_cudagraphs"},
    {"profile_run", "profile_run"},
    {"profile_run", "_dummy_run"},
    {"profile_run", "determine_available_memory"},
    {"profile_run", "determine_num_available_blocks"},
    {"profile_run", "profile_max_num_token"},
});

constexpr auto load_functions = std::to_array<std::string_view>(
    {"from_pretrained", "load_model", "_load_pretrained_model", "load_state_dict", "_apply", "load_weights",
     "init_model", "build_model", "load_checkpoint_in_model", "_legacy_load", "load_pipeline",
     "_load_state_dict_into_meta_model", "create_weights", "get_model", "to_empty", "from_preset",
     // ComfyUI and Forge, InvokeAI, ExLlama
     "load_models_gpu", "load_model_gpu", "patch_model", "patch_weight_to_device", "move_model_to_device",
     "load_autosplit", "load_autosplit_gen"});

/// The words of a function's name, for any separator: "run_evalLoop" → run, eval, loop.
std::vector<std::string> split_identifier(std::string_view function) {
  function = function.substr(function.rfind('.') == function.npos ? 0 : function.rfind('.') + 1);
  std::vector<std::string> words;
  bool open = false;
  for (const char c : function) {
    if (is_letter(c) && (!open || is_upper(c))) words.emplace_back();
    if (is_letter(c)) words.back().push_back(lower(c));
    open = is_letter(c);
  }
  return words;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// In the constructor of an optimizer that copies the weights, as DeepSpeed's and Megatron's do. No step has run.
bool builds_optimizer(const Frame& f) {
  static constexpr auto builders = std::to_array<std::string_view>(
      {"_configure_zero_optimizer", "_configure_fp16_optimizer", "_configure_bf16_optimizer", "_create_fp32_partitions",
       "_setup_for_real_optimizer", "initialize_optimizer_states", "_build_model_and_main_param_groups"});
  const std::string_view function = std::string_view(f.function).substr(f.function.rfind('.') + 1);
  if (std::find(builders.begin(), builders.end(), function) != builders.end()) return true;
  const std::string_view name = std::string_view(f.file).substr(f.file.find_last_of("/\\") + 1);
  return f.library && function == "__init__" && (contains(name, "optimizer") || path_contains(f.file, "/zero/stage"));
}
/// "optimizer.step()", "scaler.step(optim_d)", "self.opt_g.step()": not "scheduler.step()" or "env.step()".
bool calls_update(std::string_view code) {
  for (std::size_t at = code.find(".step("); at != code.npos; at = code.find(".step(", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_dotted_name_char(code[begin - 1])) --begin;
    const std::string name = lower(code.substr(begin, at - begin));
    const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
    if (contains(name, "sched")) continue;
    if (contains(name, "optim") || last == "opt" || last.starts_with("opt_") || last.ends_with("_opt") ||
        last.ends_with("scaler"))
      return true;
  }
  return false;
}
bool in_optimizer(const Frame& f) {
  return path_contains(f.file, "/optim/") || calls_update(f.code) || path_contains(f.file, "bitsandbytes/optim") ||
         (path_contains(f.file, "zero/stage") &&
          (f.function == "_optimizer_step" || contains(f.code, "._optimizer_step("))) ||
         (f.file.empty() && contains(f.code, "exp_avg")) || builds_optimizer(f);
}
/// Makes the states of an optimizer, as the first update does. Each update reads them: "exp_avg_sq.sqrt()".
bool makes_states(const Frame& f) {
  if (f.function == "_init_group" || contains(f.function, "init_state")) return true;
  const std::size_t equals = f.code.find('=');
  const std::string_view code = f.code;
  if (equals == code.npos) return false;
  const std::string_view target = code.substr(0, equals), value = code.substr(equals);
  return contains(target, "exp_avg") && (contains(target, "state") || contains(value, "zeros"));
}
/// In an autoencoder of images, by whole words: folders may have any names.
bool is_of_vae(const Frame& f) {
  const std::string text = lower(f.file.substr(f.file.find_last_of("/\\") + 1) + " " + f.function + " " + f.code);
  if (contains(text, "first_stage") || contains(text, "autoencoder")) return true;
  for (std::size_t at = text.find("vae"); at != text.npos; at = text.find("vae", at + 1))
    if ((at == 0 || !is_letter(text[at - 1])) &&
        (at + 3 == text.size() || !is_letter(text[at + 3]) || text.compare(at + 3, 6, "decode") == 0 ||
         text.compare(at + 3, 6, "encode") == 0))
      return true;
  return false;
}
/// Makes a picture or a video, by the name of the function or its file, or by what a call of a pipeline returns.
bool paints(const Frame& f) {
  static constexpr auto works = std::to_array<std::string_view>(
      {"image", "images", "img", "imgs", "picture", "video", "videos", "latents", "diffusion"});
  const auto is_work = [](std::string_view word) { return std::find(works.begin(), works.end(), word) != works.end(); };
  const auto names_one = [&](std::string_view name) {
    const std::vector<std::string> words = split_identifier(name);
    return std::any_of(words.begin(), words.end(), is_work);
  };
  if (f.library) return false;
  const std::string_view file = std::string_view(f.file).substr(f.file.find_last_of("/\\") + 1);
  if (names_one(f.function) || names_one(file.substr(0, file.rfind('.')))) return true;
  const std::string_view code = f.code, target = trimmed(code.substr(0, code.find('=')));
  const bool calls = contains(code, "pipe") || contains(code, "sampl") || contains(code, "generate");
  return calls && (is_work(target.substr(target.rfind('.') + 1)) || contains(code, ").images") ||
                   contains(code, ").frames") || contains(code, ").videos"));
}

/// "output_list.append(torch.zeros(shape, device=device))": a buffer for what the program keeps of an evaluation.
bool makes_output_buffer(const Frame& f) {
  static constexpr std::array<std::string_view, 6> makers{"torch.zeros(",      "torch.empty(", "torch.zeros_like(",
                                                          "torch.empty_like(", "torch.full(",  ".new_zeros("};
  static constexpr std::array<std::string_view, 5> kept{"output", "pred", "count_map", "result", "logits"};
  std::size_t call = std::string_view::npos;
  for (const std::string_view maker : makers) call = std::min(call, f.code.find(maker));
  if (call == std::string_view::npos) return false;
  const std::string target = lower(f.code.substr(0, call));  // what the buffer is for, not its shape
  return std::any_of(kept.begin(), kept.end(), [&](std::string_view word) { return contains(target, word); });
}

/// True if the argument after the region of MONAI's sliding_window_inference(image, roi_size, sw_batch_size, …) is 1.
bool has_window_batch_of_one(std::string_view code) {
  constexpr std::string_view call = "sliding_window_inference(";
  const std::size_t at = code.find(call);
  if (at == code.npos) return false;
  int depth = 0, argument = 0;
  std::size_t begin = at + call.size();
  for (std::size_t i = begin; i < code.size(); ++i) {
    const char c = code[i];
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth >= 0 && (c != ',' || depth > 0)) continue;
    if (argument == 2) return trimmed(code.substr(begin, i - begin)) == "1";
    if (depth < 0) return false;
    ++argument;
    begin = i + 1;
  }
  return false;
}

/// "DataLoader(data, batch_size=1)", "sw_batch_size=1".
bool names_batch_of_one(std::string_view code) {
  constexpr std::string_view name = "batch_size=1";
  const std::size_t at = code.find(name), end = at + name.size();
  return at != code.npos && (end == code.size() || (!is_digit(code[end]) && code[end] != '.' && code[end] != '_'));
}

bool concatenates(std::string_view code) { return contains(code, "torch.cat(") || contains(code, "torch.stack("); }
/// "self.loss_sum += loss": adds a tensor with its graph instead of a number.
bool sums_tensors(const Frame& f) {
  if (f.library || !contains(f.code, "loss") || !(contains(f.code, "+=") || contains(f.code, " + "))) return false;
  for (const std::string_view number : {".item(", ".detach(", "float(", ".data", "no_grad"})
    if (contains(f.code, number)) return false;
  for (const std::string_view kept : {"sum", "total", "running", "epoch", "avg", "acc"})
    if (contains(f.code, kept)) return true;
  return false;
}
/// DeepSpeed's ZeRO-3 gathers the parameters of a layer: before its forward pass, "forward=True", or its backward pass.
bool gathers_parameters(const Frame& f, bool forward) {
  return contains(f.code, "fetch_sub_module(") && contains(f.code, forward ? "forward=True" : "forward=False");
}
bool in_backward(const Frame& f) {
  return f.function == "backward" || contains(f.code, ".backward(") || contains(f.code, ".run_backward(") ||
         gathers_parameters(f, false);
}
/// The position of a call of the function in a statement; npos if there is none. "build_model(" is not a call of
/// "model".
std::size_t find_call(std::string_view code, std::string_view function) {
  for (std::size_t at = code.find(function); at != code.npos; at = code.find(function, at + 1))
    if (code.substr(at + function.size()).starts_with('(') && (at == 0 || !is_word_char(code[at - 1]))) return at;
  return code.npos;
}
/// "outputs = model(x)", "self.net(x)", "logits = self(batch)": the user's code runs a module. No frame below it says
/// so if PyTorch hides its own frames.
bool runs_module(const Frame& f) {
  static constexpr auto modules =
      std::to_array<std::string_view>({"model", "net", "network", "self", "module", "encoder", "decoder", "backbone",
                                       "unet", "generator", "discriminator", "classifier", "policy"});
  return !f.library && std::any_of(modules.begin(), modules.end(),
                                   [&](std::string_view module) { return find_call(f.code, module) != f.code.npos; });
}
/// JAX runs any compiled function by "_pjit_call_impl" and TensorFlow by a "_call_impl", so only PyTorch's counts.
bool in_layer(const Frame& f) {
  const std::string_view name = std::string_view(f.function).substr(f.function.rfind('.') + 1);
  const bool calls_module = name == "_call_impl" || name == "_wrapped_call_impl";
  return name == "forward" || (calls_module && !path_contains(f.file, "tensorflow/")) || contains(name, "_forward");
}
bool in_forward(const Frame& f) { return in_layer(f) || runs_module(f) || gathers_parameters(f, true); }
/// True if the optimizer itself requested the memory. Its step may call a whole training step (a closure), and a
/// library may keep its backward pass in a folder of optimizers, so the innermost of these frames decides.
bool asked_by_optimizer(const std::vector<Frame>& frames) {
  const auto decides = [](const Frame& f) { return in_optimizer(f) || in_backward(f) || in_forward(f); };
  const auto innermost = std::find_if(frames.rbegin(), frames.rend(), decides);
  return innermost != frames.rend() && !in_backward(*innermost) && !in_forward(*innermost);
}
/// The name of a model or a part of one: "base_model", "layer", "netG", "model_func". Not the name of what goes in or
/// comes out: "layer_input", "model_output".
bool names_model(std::string_view name) {
  static constexpr auto parts = std::to_array<std::string_view>(
      {"layer", "block", "module", "network", "net", "encoder", "decoder", "backbone", "unet", "transformer",
       "pipeline", "pipe", "generator", "discriminator", "critic", "classifier", "teacher", "student"});
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const auto is_part = [&](std::string_view part) {
    return name.ends_with(part) && (name.size() == part.size() || !is_letter(name[name.size() - part.size() - 1]));
  };
  const bool net = last.starts_with("net") && last.size() > 3 && (last[3] == '_' || !is_lower(last[3]));
  if (std::any_of(parts.begin(), parts.end(), is_part) || last.ends_with("model")) return true;
  for (const std::string_view data : {"input", "output", "batch", "pred", "kwargs", "label", "target"})
    if (contains(last, data)) return false;
  return net || contains(name, "model");
}
/// Matches "model.to(device)", "self.base_model.to(", "netG.cuda(" and "layer.to(", but not the output of a model,
/// "model(x).to(", and not its input, "layer_input.to(".
bool moves_model(std::string_view code) {
  for (const std::string_view call : {".to(", ".cuda("})
    for (std::size_t at = code.find(call); at != code.npos; at = code.find(call, at + 1)) {
      std::size_t begin = at;
      while (begin > 0 && is_dotted_name_char(code[begin - 1])) --begin;
      if (names_model(code.substr(begin, at - begin))) return true;
    }
  return false;
}
/// Libraries move the weights of a model, one parameter after the other.
bool moves_weights(const Frame& f) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), f.function) != names.end();
  };
  return f.library &&
         ((path_contains(f.file, "nn/modules/module.py") && is_one_of({"convert", "_apply", "cuda", "to"})) ||
          (path_contains(f.file, "bitsandbytes/nn/") && is_one_of({"to", "cuda", "_quantize"})) ||
          (path_contains(f.file, "accelerate/") && f.function == "prepare_model") ||
          is_one_of({"_configure_distributed_model", "_move_model_to_device", "model_to_device", "dispatch_model"}));
}
/// The constructor of a model, a layer or a trainer, which moves its model to the GPU.
bool constructs_model(const Frame& f) {
  if (f.function != "__init__" && !f.function.ends_with(".__init__")) return false;
  const std::string file = lower(f.file);
  return contains(file, "model") || contains(file, "trainer") || contains(file, "modules/");
}
/// "build_cnn_model", "create_network", "init_train_state": makes a model, or a state of the training from new weights.
bool makes_model(std::string_view function) {
  const std::vector<std::string> words = split_identifier(function);
  const auto is_one_of = [](const std::string& word, std::initializer_list<std::string_view> list) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  if (words.size() < 2 || words.size() > 6) return false;
  const std::string &first = words.front(), &last = words.back(), &before = words[words.size() - 2];
  const bool model = is_one_of(last, {"model", "models", "network", "net", "unet", "vae", "pipeline", "llm"}) ||
                     (last == "state" && is_one_of(before, {"train", "training", "model"}));
  return model && is_one_of(first, {"build", "create", "make", "construct", "init", "initialize", "setup", "load"}) &&
         std::none_of(words.begin(), words.end(), [&](const std::string& word) {
           return is_one_of(word, {"train", "fit", "run", "eval", "evaluate", "test", "predict"}) &&
                  !(word == "train" && last == "state");
         });
}
/// True if the frame is in such a function, or its statement calls one: the traceback may be cut after the call.
bool is_making_model(const Frame& f) {
  if (f.library) return false;
  if (makes_model(f.function)) return true;
  const std::string_view code = f.code;
  for (std::size_t at = code.find('('); at != code.npos; at = code.find('(', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_word_char(code[begin - 1])) --begin;
    if (makes_model(code.substr(begin, at - begin))) return true;
  }
  return false;
}
/// A model from its configuration, with new weights: nothing is loaded.
bool builds_new_model(const Frame& f) {
  return !f.library && (contains(f.code, ".to_empty(") || contains(f.code, ".from_config("));
}
/// FSDP flattens and shards the parameters of a model, before any step.
bool flattens_model(const Frame& f) {
  const auto name = std::string_view(f.function).substr(f.function.rfind('.') + 1);
  const bool fsdp = path_contains(f.file, "distributed/fsdp/") || path_contains(f.file, "distributed/_composable/fsdp");
  return f.library && fsdp && (name == "__init__" || name.starts_with("_init_") || name.starts_with("flatten_tensors"));
}
/// DeepSpeed's optimizer of ZeRO-1 and ZeRO-2.
bool is_of_zero_states(const Frame& f) { return path_contains(f.file, "runtime/zero/stage_1_and_2.py"); }
/// DDP makes buckets for the gradients of a model, before any step, and Megatron one buffer.
bool makes_buckets(const Frame& f) {
  if (f.function == "__init__" && path_contains(f.file, "megatron/core/distributed/")) return true;
  return f.library && path_contains(f.file, "nn/parallel/distributed.py") &&
         (f.function == "__init__" || f.function == "_ddp_init_helper");
}
bool loads_model(const Frame& f) {
  if (flattens_model(f) || makes_buckets(f) || is_making_model(f)) return true;
  if ((!f.library && moves_model(f.code)) || contains(f.code, "model.cuda(") || moves_weights(f)) return true;
  // The traceback may be cut after the call.
  return std::any_of(load_functions.begin(), load_functions.end(), [&](std::string_view function) {
    return f.function == function || find_call(f.code, function) != f.code.npos;
  });
}

/// Reads the weights of a model: nothing that a layer or a step calls.
bool reads_weights(const Frame& f) {
  static constexpr auto names =
      std::to_array<std::string_view>({"from_pretrained", "_load_pretrained_model", "_load_state_dict_into_meta_model",
                                       "load_checkpoint_in_model", "load_pretrained_model", "load_pipeline"});
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return f.function == name || f.function.ends_with("." + std::string(name)) ||
           find_call(f.code, name) != f.code.npos;
  });
}

/// Moves a module to the device; nothing of it reads a file.
bool moves_module(const Frame& f) {
  return f.function == "_apply" || (!f.library && (moves_model(f.code) || contains(f.code, ".cuda(")));
}
/// torch.load() puts a tensor of a file where it was saved.
bool restores_file(const Frame& f) {
  return path_contains(f.file, "torch/serialization.py") && !contains(f.function, "save");
}

bool reads_file(const Frame& f) {
  static constexpr auto names =
      std::to_array<std::string_view>({"load_state_dict", "load_model", "load_weights", "_legacy_load", "load"});
  return reads_weights(f) || restores_file(f) || std::any_of(names.begin(), names.end(), [&](std::string_view name) {
           return f.function == name || find_call(f.code, name) != f.code.npos;
         });
}

/// The traceback builds a model with new weights: nothing reads or moves any.
bool only_builds(const std::vector<Frame>& frames) {
  const auto builds = [](const Frame& f) {
    return builds_new_model(f) || (is_making_model(f) && !contains(f.function, "load") && !contains(f.code, "load"));
  };
  return std::any_of(frames.begin(), frames.end(), builds) &&
         std::none_of(frames.begin(), frames.end(),
                      [](const Frame& f) { return reads_file(f) || moves_module(f) || moves_weights(f); });
}

/// The user's code wants features or hidden states of a model: there are no labels, so there is no loss.
bool extracts_features(const Frame& f) {
  if (f.library) return false;
  if (contains(f.code, "output_hidden_states=True")) return true;
  for (const std::string& word : split_identifier(f.function))
    for (const std::string_view wanted : {"feature", "features", "embed", "embedding", "embeddings", "pooled"})
      if (word == wanted) return true;
  return false;
}

/// Makes the context of a device or the communicators of a job, which precedes any model.
bool sets_up(const Frame& f) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"init_process_group", "_new_process_group_helper", "init_distributed", "eager_connect_single_device",
       "_cuda_setDevice", "set_device", "_lazy_init", "setDevice", "initialize_megatron", "initialize_distributed",
       "setup_distributed"});
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return f.function == name || find_call(f.code, name) != f.code.npos;
  });
}

/// Runs in a thread next to the main one, which may be at any work.
bool runs_in_thread(const Frame& f) {
  return f.function == "_bootstrap_inner" || f.function.ends_with("._bootstrap_inner") ||
         f.function == "_pin_memory_loop" || (f.library && path_contains(f.file, "concurrent/futures/thread.py"));
}

/// Part of a program's start, by the name of the function.
bool initialises(const Frame& f) {
  const std::vector<std::string> words = split_identifier(f.function);
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "init" || word == "initialize" || word == "setup" || word == "create";
  });
}

/// Asks how much memory is free. In vLLM, measure() does nothing else.
bool asks_for_free_memory(const Frame& f) {
  return f.function == "mem_get_info" || (f.function == "measure" && path_contains(f.file, "/mem_utils.py")) ||
         find_call(f.code, "mem_get_info") != f.code.npos;
}

/// The job's ranks wait for each other. The first time, that makes their communicator.
bool synchronises(const Frame& f) { return f.function == "barrier" || find_call(f.code, "barrier") != f.code.npos; }

/// The identifiers of a statement: "torch.matmul(q, k.mT)" → torch, matmul, q, k, mT.
std::vector<std::string_view> identifiers_of(std::string_view code) {
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = at;
    while (end < code.size() && is_word_char(code[end])) ++end;
    if (end > at && !is_digit(code[at])) names.push_back(code.substr(at, end - at));
    at = end + 1;
  }
  return names;
}
/// "q", "q_scaled", "proj_q", "query_layer", "proj_query".
bool is_named(std::string_view name, std::string_view letter, std::string_view word) {
  const std::string n = lower(name), part = std::string("_").append(letter);
  return n == letter || n.starts_with(std::string(letter) + '_') || n.ends_with(part) || n.starts_with(word) ||
         contains(n, std::string("_").append(word));
}
/// The statement without the variable that it sets: the name of a result shows no operation.
std::string_view computation_of(std::string_view code) {
  const std::size_t equals = code.find('=');
  const bool assigns = equals != code.npos && equals > 0 && !code.substr(equals).starts_with("==") &&
                       std::all_of(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(equals),
                                   [](char c) { return is_dotted_name_char(c) || c == ' ' || c == ','; });
  return assigns ? code.substr(equals + 1) : code;
}
/// The statement computes the scores of attention, or their softmax: a matrix of queries × keys.
bool scores_attention(const Frame& f) {
  const auto names = identifiers_of(computation_of(f.code));
  const auto any = [&](auto test) { return std::any_of(names.begin(), names.end(), test); };
  const auto is_one_of = [](std::initializer_list<std::string_view> list) {
    return [list](std::string_view name) { return std::find(list.begin(), list.end(), lower(name)) != list.end(); };
  };
  const bool product = any(is_one_of({"matmul", "bmm", "einsum"})) || contains(f.code, " @ ");
  if (product && any([](std::string_view n) { return is_named(n, "q", "quer"); }) &&
      any([](std::string_view n) { return is_named(n, "k", "key"); }))
    return true;
  return any(is_one_of({"softmax", "masked_fill", "masked_fill_"})) &&
         any(is_one_of({"scores", "score", "attn", "attention", "attn_scores", "attn_logits", "dots", "energy", "qk"}));
}
/// The shape of the tensor that code of PyTorch's compiler requests: "(54080, 4096)" of
/// "buf22 = empty_strided_cuda((54080, 4096), (4096, 1), torch.bfloat16)"; "" of other code.
std::string compiled_buffer(const Frame& f) {
  static constexpr std::string_view call = "empty_strided_";
  const std::size_t at = f.code.find(call), open = f.code.find("((", std::min(at, f.code.size()));
  const std::size_t close = f.code.find(')', std::min(open, f.code.size()));
  return at == f.code.npos || close == f.code.npos ? std::string() : f.code.substr(open + 1, close - open);
}
/// Computes a mask of attention: "attn_mask = attn_mask * -10000" in get_attention_mask().
bool makes_mask(const Frame& f) {
  static constexpr auto words =
      std::to_array<std::string_view>({"attn_mask", "attention_mask", "causal_mask", "attn_bias", "extended_mask"});
  const std::string target = lower(std::string_view(f.code).substr(0, f.code.find('=')));
  const std::string function = lower(f.function);
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return contains(function, word) || (f.code.find(" = ") != f.code.npos && contains(target, word));
  });
}
/// The statement makes the logits by an output layer. The name of a variable alone shows nothing.
bool computes_logits(const Frame& f) {
  const std::string_view value = computation_of(f.code);
  if (!contains(std::string_view(f.code).substr(0, f.code.size() - value.size()), "logits")) return false;
  for (const std::string_view output : {"head(", "output(", "proj(", "linear(", "classifier(", "matmul(", " @ ",
                                        "einsum(", ".float(", "embed_out(", "output_layer(", "fc("})
    if (contains(value, output)) return true;
  return false;
}

/// "sims = jnp.dot(a, b.T)": the statement runs operations of JAX one by one, and no function of the user, which could
/// be compiled.
bool runs_jax_operations(std::string_view code) {
  static constexpr auto modules = std::to_array<std::string_view>(
      {"jnp.", "lax.", "jax.numpy.", "jax.lax.", "jax.random.", "jax.nn.", "jax.scipy."});
  static constexpr auto harmless =
      std::to_array<std::string_view>({"np.", "numpy.", "float", "int", "len", "range", "print", "jax.random.PRNGKey"});
  static constexpr auto methods = std::to_array<std::string_view>(
      {"astype", "reshape", "transpose", "mean", "sum", "max", "min", "dot", "set", "add", "block_until_ready"});
  bool any = false;
  for (std::size_t at = code.find('('); at != code.npos; at = code.find('(', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_dotted_name_char(code[begin - 1])) --begin;
    const std::string_view name = code.substr(begin, at - begin);
    if (name.empty()) continue;
    const auto begins = [&](std::string_view module) { return name.starts_with(module); };
    const std::string_view method = name.substr(name.rfind('.') + 1);
    if (std::any_of(modules.begin(), modules.end(), begins))
      any = true;
    else if (std::none_of(harmless.begin(), harmless.end(), begins) &&
             (method.size() == name.size() || std::find(methods.begin(), methods.end(), method) == methods.end()))
      return false;
  }
  return any;
}

/// In a function that takes gradients, JAX keeps what the backward pass needs.
bool takes_gradients(const Frame& f) {
  for (const std::string_view word : {"grad", "vjp", "jvp", "linearize", "backward"})
    if (contains(f.function, word) || contains(f.code, word)) return true;
  return false;
}

/// Functions that only a step calls. A function called "train" may build the model too.
bool in_step(const Frame& f) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"training_step", "train_step", "forward_step", "forward_backward_step", "compute_loss", "inner_training_loop",
       "_inner_training_loop", "train_one_epoch", "train_epoch"});
  // torch/_refs/ has operations that a device lacks, such as norms on Apple's GPUs.
  const bool operation =
      f.library && (path_contains(f.file, "nn/functional.py") || path_contains(f.file, "torch/_refs/"));
  return operation || in_forward(f) || in_backward(f) || in_optimizer(f) ||
         std::find(names.begin(), names.end(), f.function) != names.end();
}

/// The phase by the words of a function's name, for names that are not in the lists above.
std::string_view phase_by_words(const Frame& f) {
  const std::vector<std::string> words = split_identifier(f.function);
  const auto has = [&](std::initializer_list<std::string_view> any) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& w) { return std::find(any.begin(), any.end(), w) != any.end(); });
  };
  const bool of_checkpoint = has({"checkpoint", "checkpoints", "ckpt", "state", "weights"}) ||
                             contains(f.file, "checkpoint") || contains(f.file, "ckpt");
  if (has({"load", "resume", "restore"}))
    return has({"checkpoint", "ckpt", "resume", "restore"}) ? "checkpoint_load" : "";
  if (has({"save", "dump", "export"}) && (of_checkpoint || contains(f.code, "state_dict"))) return "checkpoint_save";
  if (has({"state"}) && has({"dict"}) && has({"full", "gather", "unsharded", "consolidated", "cpu"}))
    return "checkpoint_save";
  if (has({"make", "build", "init", "create", "get", "set", "setup", "prepare", "import"})) return "";
  // "train_and_evaluate" and "cross_validation" do both.
  if (has({"train", "fit", "finetune", "cross"})) return "";
  if (has({"eval", "evaluate", "evaluation", "validate", "validation", "val"})) return "evaluation";
  if (has({"generate", "rollout", "rollouts"})) return "generation";
  return "";
}

/// A function that trains, by its name: "train", "fit_self", "training_step".
bool trains_by_name(const Frame& f) {
  const std::vector<std::string> words = split_identifier(f.function);
  const auto has = [&](std::initializer_list<std::string_view> any) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& w) { return std::find(any.begin(), any.end(), w) != any.end(); });
  };
  const bool trains = !words.empty() && (words.front() == "train" || words.front() == "training" ||
                                         words.front() == "fit" || words.back() == "train" || words.back() == "fit");
  return trains && !has({"eval", "evaluate", "evaluation", "validate", "validation", "val", "test", "data", "loader",
                         "dataloader", "generate", "get", "make", "build", "init", "setup", "load"});
}

/// The last phase marker before the incident, from the same rank or without a rank.
const Event* find_last_marker(const ScanResult& scan, const Incident& incident) {
  const Event* found = nullptr;
  for (const Event& e : scan.remarks) {
    const auto* r = std::get_if<Remark>(&e.what);
    if (r == nullptr || !r->id.starts_with("phase/") || e.when.order > incident.when.order) continue;
    const bool same_line = e.when.order == incident.when.order;
    if (same_line && e.evidence.span.column >= incident.evidence.span.column) continue;
    if (e.origin.rank && incident.origin.rank && e.origin.rank != incident.origin.rank) continue;
    if (found == nullptr || e.when.order > found->when.order) found = &e;
  }
  return found;
}

/// The number of lines with a step in the failed run.
i64 count_progress(const ScanResult& scan, const Incident& incident) {
  return incident.run.number > 0 ? incident.run.progress_lines : scan.progress_lines;
}

/// The last step before the failure.
std::optional<i64> last_step(const ScanResult& scan, const Incident& incident) {
  return incident.when.step ? incident.when.step : scan.last_step;
}

/// True if the log shows the run before its failure: steps, or several settings. A log that begins in the middle of a
/// traceback has those that the names of files imply.
bool log_begins_with_run(const ScanResult& scan, const Incident& incident) {
  constexpr auto several = 2;
  static constexpr auto implied = std::to_array<std::string_view>({"engine", "system", "runtime"});
  if (scan.progress_lines > 0) return true;
  const Span& failure = incident.evidence.span;
  return std::count_if(scan.settings.begin(), scan.settings.end(), [&](const auto& setting) {
           const Span& at = setting.second.evidence.span;
           const bool before = at.source != failure.source || at.first_line < failure.first_line;
           return before && std::find(implied.begin(), implied.end(), setting.first) == implied.end();
         }) >= several;
}

/// True if the first step in the log is not one of the run's first steps: the log begins in the middle, or an epoch is
/// over.
bool starts_late(const ScanResult& scan, const Incident& incident) {
  constexpr i64 early_steps = 100;     // some programs print only every hundredth step
  constexpr double early_part = 0.01;  // of an epoch that is printed in parts and without its steps
  const double epoch = incident.when.epoch.value_or(0);
  if (epoch > 1 || (!incident.when.step && epoch > early_part && epoch != std::floor(epoch))) return true;
  const std::optional<i64> first = incident.run.number > 0 ? incident.run.first_step : scan.first_step;
  return first.value_or(0) > early_steps;
}

bool was_resumed(const ScanResult& scan) { return scan.remark_counts.contains("run/resumed"); }

/// How many steps the run had made before the failure. A printed step counts all steps before it, in the log or not,
/// unless the process continued from a checkpoint.
i64 count_steps(const ScanResult& scan, const Incident& incident) {
  const i64 lines = count_progress(scan, incident);
  const std::optional<i64> first = incident.run.number > 0 ? incident.run.first_step : scan.first_step;
  const std::optional<i64> last = last_step(scan, incident);
  if (!first || !last || lines == 0) return lines;
  return std::max(lines, was_resumed(scan) ? *last - *first + 1 : *last);
}

/// How far the run came, as the log counts: "1200 steps", "step 420 of epoch 18". It does not say how many steps the
/// epochs before had, nor whether they count from 0.
std::string progress_words(const Incident& incident, double done) {
  const When& when = incident.when;
  if (!when.step || when.before <= 0) return std::to_string(whole_number(done)) + " steps";
  const std::string step = "step " + std::to_string(*when.step - when.before);
  return when.epoch ? step + " of epoch " + std::to_string(whole_number(*when.epoch)) : step + " of a later epoch";
}

/// How far the bar of other work than steps came that was unfinished at the failure: a calibration, for example.
double count_calls(const ScanResult& scan, const Incident& incident) {
  double calls = 0;
  for (const Event& event : scan.remarks)
    if (const Remark* remark = remark_of(event, "run/calls");
        remark != nullptr && event.when.order < incident.when.order)
      calls = remark->number.value_or(0);
  return calls;
}

/// True if the last progress line has the loss of a training step. "Resumed at step 4200" has none, and nanoGPT
/// evaluates before its first step.
bool logs_training_step(const ScanResult& scan) {
  if (!scan.last_progress) return false;
  const std::string line = lower(scan.last_progress->excerpt);
  return contains(line, "loss") && !contains(line, "val loss");
}

/// The same without the losses of an evaluation, in any spelling: "eval_loss", "Validation loss".
bool trains_at_last(const ScanResult& scan) {
  if (!logs_training_step(scan)) return false;
  const std::string line = lower(scan.last_progress->excerpt);
  return !contains(line, "eval") && !contains(line, "valid") && !contains(line, "val_") && !contains(line, "test");
}

/// True if the log shows that a whole step was over before the failure. A bar moves at the end of a step, and is drawn
/// once more when an exception ends it. Hugging Face's Trainer prints its dictionary with the learning rate after the
/// update. Other lines may come from inside the step.
bool shows_whole_step(const ScanResult& scan, const Incident& incident) {
  if (!scan.last_progress || incident.handled || scan.last_progress->span.source != incident.evidence.span.source)
    return false;
  const std::string& line = scan.last_progress->excerpt;
  const bool precedes = scan.last_progress->span.first_line < incident.evidence.span.first_line;
  if (precedes && contains(line, "'loss': ") && contains(line, "'learning_rate': ")) return true;
  return scan.last_step.value_or(0) >= 1 && (contains(line, "it/s") || contains(line, "s/it"));
}

/// True if no step, or only the first ones, had run before the failure.
bool is_early(const ScanResult& scan, const Incident& incident) {
  if (was_resumed(scan) && starts_late(scan, incident) && logs_training_step(scan)) return false;
  // Without any printed step, the program may print none: it may have made many.
  return scan.progress_lines > 0 && log_begins_with_run(scan, incident) &&
         count_calls(scan, incident) <= max_first_steps && (!starts_late(scan, incident) || was_resumed(scan)) &&
         count_steps(scan, incident) <= max_first_steps;
}

/// The incident's own traceback. If the log starts too late for it, the traceback of another rank that failed on the
/// same request.
const std::vector<Frame>& find_frames(const ScanResult& scan, const Incident& incident) {
  if (!incident.oom.frames.empty() || !incident.oom.request) return incident.oom.frames;
  for (const Incident& other : scan.incidents)
    if (other.follows && &scan.incidents[*other.follows] == &incident && other.oom.request == incident.oom.request &&
        !other.oom.frames.empty())
      return other.oom.frames;
  return incident.oom.frames;
}

/// True if the program that XLA could not place takes gradients: the largest operation of its plan is one of jvp.
bool plans_gradients(const ScanResult& scan) {
  const auto operation = scan.settings.find("plan_operation");
  return operation != scan.settings.end() && contains(operation->second.value, "jvp(");
}

/// True if the program survived the failure without a batch or an update: it was in a step.
bool skipped_batch(const ScanResult& scan, const Incident& incident) {
  return incident.handled && std::any_of(scan.remarks.begin(), scan.remarks.end(), [&](const Event& e) {
           return remark_of(e, "handled/skipped") != nullptr && e.evidence.span.source == incident.evidence.span.source;
         });
}

/// The remark of the program after the refusal what it wanted the memory for; null if there is none.
const Event* find_purpose(const ScanResult& scan, const Incident& incident, std::string_view purpose) {
  // In lines: the allocator, its caller and the report in turn, for each GPU; or the frames of the stack.
  constexpr i64 max_distance = 14;
  const auto is_behind = [&](const Span& remark, const Span& refused) {
    return remark.source == refused.source && remark.first_line >= refused.first_line &&
           remark.first_line <= refused.first_line + max_distance;
  };
  const auto found = std::find_if(scan.remarks.begin(), scan.remarks.end(), [&](const Event& e) {
    if (remark_of(e, purpose) == nullptr) return false;
    const auto behind = [&](const Evidence& report) { return is_behind(e.evidence.span, report.span); };
    return behind(incident.evidence) || std::any_of(incident.occurrences.begin(), incident.occurrences.end(), behind);
  });
  return found == scan.remarks.end() ? nullptr : &*found;
}

/// True if an engine printed what its weights took: they were loaded.
bool has_loaded_weights(const ScanResult& scan, const Incident& incident) {
  const auto took = scan.settings.find("weights_memory");
  if (took == scan.settings.end()) return false;
  const Span &printed = took->second.evidence.span, &failed = incident.evidence.span;
  return printed.source == failed.source && printed.first_line < failed.first_line;
}

/// True if no load takes so long, or prints so many lines. llama.cpp prints a line for each tensor.
bool lasts_too_long(const Event& marker, const Incident& incident) {
  constexpr double longest = 3 * 3600;  // in seconds: of the largest models, from a slow disk
  constexpr i64 most_lines = 60;
  const Span &said = marker.evidence.span, &failed = incident.evidence.span;
  if (said.source == failed.source && failed.first_line - said.first_line > most_lines && incident.oom.frames.empty() &&
      incident.oom.kind == OomKind::host)
    return true;
  return marker.when.time && incident.when.time && is_dated(*marker.when.time) && is_dated(*incident.when.time) &&
         *incident.when.time - *marker.when.time > longest;
}

/// True if the last load before the failure was over.
bool is_load_over(const ScanResult& scan, const Incident& incident) {
  i64 begun = -1;
  for (const Event& e : scan.remarks) {
    const auto* remark = std::get_if<Remark>(&e.what);
    if (remark != nullptr && remark->id == "phase/load" && e.when.order < incident.when.order)
      begun = std::max(begun, e.when.order);
  }
  return scan.find_remark("run/phase_over", {.after = begun, .before = incident.when.order}) != nullptr;
}

/// True if the refused tensor is of a batch of images. The first dimension of a filter in TensorFlow is its height.
bool asks_for_images(const ScanResult& scan, const Incident& incident) {
  constexpr i64 highest_filter = 15;
  if (incident.oom.framework != "tensorflow") return false;
  const auto images = scan.settings.find("images");
  return images != scan.settings.end() && leading_integer(images->second.value) > highest_filter;
}

/// True if the ranks had exchanged sums many times, as each step does. A load broadcasts.
bool has_reduced(const ScanResult& scan, const Incident& incident, double many = 500) {
  return std::any_of(scan.remarks.begin(), scan.remarks.end(), [&](const Event& e) {
    const auto* remark = std::get_if<Remark>(&e.what);
    return remark != nullptr && remark->id == "run/reductions" && remark->number.value_or(0) >= many &&
           e.evidence.span.source == incident.evidence.span.source;
  });
}

/// What shows that a server was up before the failure: it had answered a request, or lost the engine that it had
/// started.
const Event* find_server(const ScanResult& scan, const Incident& incident) {
  const Event* answer = scan.find_remark("run/serving", {.before = incident.when.order});
  return answer ? answer : scan.find_remark("run/was_up", {.after = incident.when.order});
}

/// True if the model was ready: a step or its progress is in the log, the traceback or XLA's plan is of a step, the
/// program skipped a batch, or there is no model.
bool is_past_load(const ScanResult& scan, const Incident& incident, const std::vector<Frame>& frames) {
  return incident.when.step || count_progress(scan, incident) > 0 || works_without_model(incident.oom.framework) ||
         has_loaded_weights(scan, incident) || is_load_over(scan, incident) || asks_for_images(scan, incident) ||
         has_reduced(scan, incident) || find_server(scan, incident) != nullptr ||
         (!frames.empty() && !compiled_buffer(frames.back()).empty()) ||
         std::any_of(frames.begin(), frames.end(), in_step) || plans_gradients(scan) || skipped_batch(scan, incident) ||
         find_purpose(scan, incident, "for/step") != nullptr;
}

const Frame* user_frame(const std::vector<Frame>& frames) {
  for (auto it = frames.rbegin(); it != frames.rend(); ++it)
    if (!it->library) return &*it;
  return nullptr;
}

/// True if an array that TensorFlow copies is a data set and not a batch: by its size, or by what it is given to.
bool copies_data_set(const Oom& oom, const std::vector<Frame>& frames) {
  constexpr i64 large_batch = GiB;
  const Frame* user = user_frame(frames);
  if (user != nullptr && contains(user->code, "Variable(")) return false;  // weights, as of an embedding
  if (oom.request) return oom.request->count >= large_batch;
  return user != nullptr && (contains(user->code, ".fit(") || contains(user->code, "from_tensor_slices("));
}

/// True if the failure precedes any model on the device: the device or the job was being set up, or the first call
/// asked how much memory is free, and nothing shows a step or tensors.
bool precedes_model(const ScanResult& scan, const Incident& incident, const std::vector<Frame>& frames) {
  constexpr i64 most_tensors = 64 * MiB;  // the tensor of a barrier, and what a test of the device makes
  if (incident.when.step || count_progress(scan, incident) > 0) return false;
  if (incident.oom.allocated && incident.oom.allocated->count > most_tensors) return false;
  const OrderRange before{.before = incident.when.order};
  if (scan.find_remark("phase/load", before) != nullptr || scan.find_remark("run/phase_over", before) != nullptr)
    return false;
  if (count_calls(scan, incident) > 0) return false;
  if (std::any_of(frames.begin(), frames.end(), runs_in_thread)) return false;
  // A barrier may come at any time: only the allocator's numbers show that nothing was there.
  const bool empty = incident.oom.allocated.has_value();
  return std::any_of(frames.begin(), frames.end(),
                     [&](const Frame& f) { return sets_up(f) || (empty && synchronises(f)); }) ||
         (!frames.empty() && asks_for_free_memory(frames.back()) &&
          std::any_of(frames.begin(), frames.end(), initialises));
}

/// The phase by the traceback: known function names, then words in the names, then the innermost operation.
std::string find_phase_in_frames(const ScanResult& scan, const Incident& incident) {
  const auto& frames = find_frames(scan, incident);
  if (frames.empty()) return "";
  // A program that only evaluates loads its model in a function that is called so.
  if (std::any_of(frames.begin(), frames.end(), reads_weights) && !is_past_load(scan, incident, frames)) return "load";
  // An evaluation that calls a training, a backward pass or an update does not only evaluate.
  const auto inner = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& f) {
    return in_backward(f) || in_optimizer(f) || trains_by_name(f);
  });
  const Frame* trains = inner == frames.rend() ? nullptr : &*inner;
  const auto is_overruled = [&](const Frame& f, std::string_view phase) {
    return (phase == "evaluation" || phase == "generation") && trains != nullptr && &f <= trains;
  };
  for (const PhaseWord& w : functions)
    for (const Frame& f : frames)
      if (f.function == w.word || f.function.ends_with("." + std::string(w.word))) {
        if (is_overruled(f, w.phase)) continue;
        if (w.phase == "generation" && f.function == "decode" && !contains(f.file, "vae") && !contains(f.code, "vae"))
          continue;
        return std::string(w.phase);
      }
  // The frames below the last call may be missing.
  static constexpr auto calls = std::to_array<PhaseWord>({{"checkpoint_save", "_save_checkpoint"},
                                                          {"checkpoint_save", "save_checkpoint"},
                                                          {"checkpoint_save", "save_pretrained"},
                                                          {"evaluation", "_evaluate"},
                                                          {"evaluation", "evaluate"},
                                                          {"evaluation", "evaluation_loop"},
                                                          {"evaluation", "validate"}});
  for (const PhaseWord& w : calls)
    if (find_call(frames.back().code, w.word) != std::string_view::npos) return std::string(w.phase);
  // The outermost frame shows the activity of the program. Libraries evaluate and generate internally for many
  // purposes.
  for (const Frame& f : frames)
    if (const std::string_view phase = phase_by_words(f);
        !phase.empty() && (!f.library || phase.starts_with("checkpoint")) && !is_overruled(f, phase))
      return std::string(phase);
  const auto any = [&](auto test) { return std::any_of(frames.begin(), frames.end(), test); };
  if (any(restores_file) && !any(loads_model)) return "checkpoint_load";
  const bool early = is_early(scan, incident);
  if (asked_by_optimizer(frames)) {
    if (any(builds_optimizer)) return "";  // before any step
    return any(makes_states) || early ? "optimizer_init" : "optimizer";
  }
  if (any(in_backward)) return early ? "first_step" : "backward";
  if (any(in_forward)) return early ? "first_step" : "forward";
  if (const Frame* user = user_frame(frames); any(loads_model) || (user != nullptr && constructs_model(*user)))
    return "load";
  if (any([](const Frame& f) { return path_contains(f.file, "utils/data/") || contains(f.file, "dataloader"); }))
    return "data_loading";
  return "";
}

/// True if vLLM measured what its cache may take. It also tries a large step later, with its cache in place.
bool sizes_cache(const ScanResult& scan, const Incident& incident) {
  static constexpr std::array<std::string_view, 3> measures{"determine_available_memory",
                                                            "determine_num_available_blocks", "profile_run"};
  const auto& frames = find_frames(scan, incident);
  return incident.oom.has(OomTrait::sizes_cache) || std::any_of(frames.begin(), frames.end(), [&](const Frame& f) {
           return std::any_of(measures.begin(), measures.end(),
                              [&](std::string_view word) { return contains(f.function, word); });
         });
}

std::string find_moment(const ScanResult& scan, const Incident& incident) {
  const auto& frames = find_frames(scan, incident);
  for (const PhaseWord& w : moments)
    if (std::any_of(frames.begin(), frames.end(), [&](const Frame& f) { return f.function == w.word; }))
      return std::string(w.phase);
  const bool captures = std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
    const bool by_engine = path_contains(f.file, "vllm/") || path_contains(f.file, "sglang/");
    return (contains(f.file, "graph_runner") && contains(f.function, "capture")) ||
           (by_engine && contains(f.code, "with torch.cuda.graph("));
  });
  if (captures || incident.oom.has(OomTrait::captures_graph)) return "graph_capture";
  if (incident.oom.has(OomTrait::warms_up) || incident.oom.has(OomTrait::sizes_cache)) return "profile_run";
  if (find_purpose(scan, incident, "for/kv_cache") != nullptr) return "for_cache";
  if (find_purpose(scan, incident, "for/woken") != nullptr) return "wake_up";
  // An engine whose memory a training frees takes it back between two steps.
  if (find_purpose(scan, incident, "for/wake_up") != nullptr && count_progress(scan, incident) > 0) return "wake_up";
  const bool first = find_phase_in_frames(scan, incident) == "first_step";
  if (first && was_resumed(scan) && starts_late(scan, incident)) return "resumed_step";
  return first && shows_whole_step(scan, incident) ? "first_steps" : "";
}

/// The positions of the arguments that a call returns anew: "0, 1" of "w, state, loss = step(w, state, x)"; "" of other
/// code.
std::string find_returned_arguments(std::string_view code) {
  const std::size_t equals = code.find(" = "), open = code.find('(', equals);
  if (equals == code.npos || open == code.npos) return "";
  const auto names_in = [](std::string_view list) {
    std::vector<std::string_view> names;
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(','), list.size());
      names.push_back(trimmed(list.substr(0, end)));
      list.remove_prefix(std::min(end + 1, list.size()));
    }
    return names;
  };
  const std::string_view callee = trimmed(code.substr(equals + 3, open - equals - 3));
  if (callee.empty() || !std::all_of(callee.begin(), callee.end(), is_dotted_name_char)) return "";
  const auto results = names_in(code.substr(0, equals));
  const auto arguments = names_in(code.substr(open + 1, code.find_first_of("()", open + 1) - open - 1));
  std::string positions;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].empty() && std::find(results.begin(), results.end(), arguments[i]) != results.end())
      positions.append(positions.empty() ? "" : ", ").append(std::to_string(i));
  return positions;
}

/// Whether so many failures were caught that the run learns less than it should. Fewer are the rare batch that is too
/// large, or a program that looks for the batch size. A program that says what failed did without its result.
bool loses_work(i64 caught, const ScanResult& scan, const Incident& incident, const Facts& facts) {
  constexpr i64 many = 10, few = 3;
  constexpr double share = 0.05;  // of the steps
  const auto steps = facts.number("run.steps");
  return caught >= many || (caught >= few && steps && static_cast<double>(caught) >= share * *steps) ||
         find_purpose(scan, incident, "handled/non_fatal") != nullptr;
}

/// True if the log begins with the run and prints no step: the failed step may be the first one, or not.
bool may_be_first(const ScanResult& scan, const Incident& incident, const Phase& phase) {
  return scan.progress_lines == 0 && log_begins_with_run(scan, incident) && count_calls(scan, incident) == 0 &&
         (phase.id == "forward" || phase.id == "backward" || phase.id == "optimizer");
}

/// The number of ranks of the job, as far as the log shows it.
i64 count_ranks(const ScanResult& scan) {
  std::set<int> seen;
  for (const auto& [rank, known] : scan.ranks) seen.insert(rank);
  for (const Incident& incident : scan.incidents)
    if (incident.origin.rank) seen.insert(*incident.origin.rank);
  const auto size = scan.settings.find("world_size");
  const i64 printed = size == scan.settings.end() ? 0 : leading_integer(size->second.value);
  return std::max<i64>(printed, seen.empty() ? 0 : *seen.rbegin() + 1);  // they count from 0
}

}  // namespace

Phase find_phase(const ScanResult& scan, const Incident& incident) {
  Phase phase;
  phase.moment = find_moment(scan, incident);
  phase.by = incident.evidence;
  if (!phase.moment.empty() && phase.moment != "resumed_step" && phase.moment != "first_steps") return phase;
  phase.by.reset();
  phase.id = find_phase_in_frames(scan, incident);
  if (phase.id == "load" && phase.moment.empty() && only_builds(find_frames(scan, incident))) phase.moment = "build";
  if (phase.id.empty() && incident.oom.has(OomTrait::saves_state)) phase.id = "checkpoint_save";
  if (phase.id.empty() && incident.oom.has(OomTrait::in_backward)) phase.id = "backward";
  for (const auto& [purpose, id] : {std::pair{"for/weights", "load"}, std::pair{"for/evaluation", "evaluation"},
                                    std::pair{"for/generation", "generation"}, std::pair{"for/gradients", "backward"},
                                    std::pair{"for/forward", "forward"}})
    if (const Event* said = find_purpose(scan, incident, purpose); said != nullptr && phase.id.empty()) {
      phase.id = id;
      phase.by = said->evidence;
      return phase;
    }
  if (!phase.id.empty()) {
    phase.by = incident.evidence;
    return phase;
  }
  const bool of_killer = incident.oom.agent == Agent::kernel || incident.oom.agent == Agent::cgroup;
  if (incident.oom.kind == OomKind::shared_memory || of_killer) return phase;  // the kernel may have killed any process
  const Event* marker = find_last_marker(scan, incident);
  // A bar that has just begun: whatever failed, it was in the first step.
  const auto& frames = find_frames(scan, incident);
  const bool begun = last_step(scan, incident) == 0 && is_early(scan, incident);
  const bool redrawn = begun && incident.when.step && scan.last_progress &&
                       scan.last_progress->span.first_line > incident.evidence.span.first_line;
  if (std::any_of(frames.begin(), frames.end(), builds_optimizer)) return phase;
  if (begun && (!frames.empty() || redrawn) && std::none_of(frames.begin(), frames.end(), loads_model)) {
    phase.id = "first_step";
    phase.by = incident.evidence;
    return phase;
  }
  if (marker == nullptr) return phase;
  const std::string id = std::get<Remark>(marker->what).id.substr(6);
  if (id == "training") return phase;  // true of nearly every log, so it adds nothing
  const OrderRange since{.after = marker->when.order, .before = incident.when.order};
  const bool served = scan.find_remark("run/serving", since) != nullptr;
  if ((served || has_loaded_weights(scan, incident)) && id == "load") return phase;
  const bool progress_since = scan.last_progress && scan.last_progress->span.source == marker->evidence.span.source &&
                              scan.last_progress->span.first_line > marker->evidence.span.first_line &&
                              scan.last_progress->span.first_line < incident.evidence.span.first_line;
  // The bar of another work, complete, after the load.
  const bool worked_since = std::any_of(scan.remarks.begin(), scan.remarks.end(), [&](const Event& e) {
    const Remark* remark = remark_of(e, "run/calls");
    return remark != nullptr && remark->number == 0.0 && e.when.order > since.after && e.when.order < since.before;
  });
  if (worked_since && id == "load") return phase;
  const bool ends = id == "load" || id == "checkpoint_load" || id == "checkpoint_save";
  if (ends && lasts_too_long(*marker, incident)) return phase;
  if ((ends || id == "evaluation") && scan.find_remark("run/phase_over", since) != nullptr) return phase;
  if (progress_since && (ends || trains_at_last(scan))) return phase;
  phase.id = id;
  phase.by = marker->evidence;
  return phase;
}

void no_phase_facts(Facts& facts) {
  for (const auto id : phase_ids) facts.set("phase." + std::string(id), Value{false});
}

void phase_facts(const ScanResult& scan, const Incident& incident, const Phase& phase, Facts& facts) {
  const std::vector<Evidence> here{incident.evidence};
  const std::vector<Evidence> by = phase.by ? std::vector<Evidence>{*phase.by} : here;
  facts.set("phase.known", Value{!phase.id.empty() || !phase.moment.empty() || plans_gradients(scan)}, by);
  for (const std::string_view moment : {"profile_run", "graph_capture", "wake_up", "for_cache"})
    facts.set("trace." + std::string(moment), Value{phase.moment == moment}, by);
  facts.set("trace.before_cache", Value{phase.moment == "profile_run" && sizes_cache(scan, incident)}, by);
  const bool perhaps_first = may_be_first(scan, incident, phase);
  const auto is_open = [&](std::string_view id) {
    return perhaps_first && (id == "first_step" || (id == "optimizer_init" && phase.id == "optimizer"));
  };
  if (!phase.id.empty())
    for (const auto id : phase_ids)
      if (!is_open(id)) facts.set("phase." + std::string(id), Value{phase.id == id}, by);
  facts.set("phase.perhaps_first", Value{perhaps_first}, here);
  constexpr double beyond_a_step = 5000;  // sums of the gradients and activations of one step
  if (phase.id.empty() && has_reduced(scan, incident, beyond_a_step)) facts.set("phase.first_step", Value{false}, here);

  const auto& frames = find_frames(scan, incident);
  // Compute buffers are planned after the weights were loaded.
  if (phase.id.empty() &&
      (is_past_load(scan, incident, frames) || find_purpose(scan, incident, "for/compute") != nullptr))
    for (const char* before : {"phase.load", "phase.checkpoint_load", "trace.load"})
      facts.set(before, Value{false}, here);
  const auto has_place = [](const Frame& f) { return !f.file.empty(); };
  facts.set("trace.known", Value{std::any_of(frames.begin(), frames.end(), has_place)}, here);
  const Event* for_compute = find_purpose(scan, incident, "for/compute");
  facts.set("trace.for_compute", Value{for_compute != nullptr},
            {for_compute != nullptr ? for_compute->evidence : here[0]});
  const Event* layer = find_purpose(scan, incident, "for/step");
  facts.set("trace.in_layer", Value{layer != nullptr}, {layer != nullptr ? layer->evidence : here[0]});
  const Event* array = find_purpose(scan, incident, "for/array");
  facts.set("trace.whole_array", Value{array != nullptr && copies_data_set(incident.oom, frames)},
            {array != nullptr ? array->evidence : here[0]});
  const Event* for_optimizer = find_purpose(scan, incident, "for/optimizer");
  if (for_optimizer != nullptr) facts.set("trace.optimizer", Value{true}, {for_optimizer->evidence});
  const Event* for_context = find_purpose(scan, incident, "for/context");
  if (for_context != nullptr) facts.set("trace.setup", Value{true}, {for_context->evidence});
  if (!frames.empty()) {
    // Use only the innermost frames, which requested the memory.
    const std::size_t first = frames.size() > 6 ? frames.size() - 6 : 0;
    std::string frame_text;
    for (std::size_t i = first; i < frames.size(); ++i)
      frame_text.append(frames[i].file + " " + frames[i].function + " ").append(computation_of(frames[i].code)) += '\n';
    const auto mentions = [&](std::initializer_list<std::string_view> words) {
      return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return contains(frame_text, w); });
    };
    const auto innermost = std::span(frames).subspan(first);
    const bool of_loss =
        mentions({"cross_entropy", "log_softmax", "lm_head", "logits.float", "nll_loss", "compute_logits",
                  "_convert_to_fp32", "from_logits", "logsumexp(logits", "gather_log_probs", "selective_log_softmax",
                  "log_probs(logits", "log_probs_and_entropy"}) ||
        std::any_of(innermost.begin(), innermost.end(), computes_logits);
    // Where the log ends within the traceback, the frames that are missing may be those of the loss.
    if (of_loss || !frames.back().outer) facts.set("trace.loss", Value{of_loss}, here);
    facts.set("trace.multihead", Value{mentions({"multi_head_attention_forward"})}, here);
    facts.set("trace.attention",
              Value{mentions({"attn_weights", "attention_scores", "attention_probs", "eager_attention", "baddbmm",
                              "attn_output_weights"}) ||
                    scores_attention(frames.back())},
              here);
    facts.set("trace.multimodal",
              Value{mentions(
                  {"multimodal", "mm_embed", "mm_encoder", "vision_tower", "vision_model", ".visual(", "audio_tower"})},
              here);
    if (const std::string buffer = compiled_buffer(frames.back()); !buffer.empty())
      facts.set("trace.buffer", Value{buffer}, here);
    facts.set("trace.mask", Value{makes_mask(frames.back())}, here);
    facts.set("trace.matches_boxes",
              Value{mentions({" bbox_overlaps ", " box_iou ", " pairwise_iou ", " pairwise_intersection "})}, here);
    facts.set("trace.forward",
              Value{std::any_of(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end(), in_layer)}, here);
    if (for_optimizer == nullptr) facts.set("trace.optimizer", Value{asked_by_optimizer(frames)}, here);
    facts.set("trace.zero_states", Value{std::any_of(frames.begin(), frames.end(), is_of_zero_states)}, here);
    facts.set("trace.flattens", Value{std::any_of(frames.begin(), frames.end(), flattens_model)}, here);
    facts.set("trace.builds_model", Value{std::any_of(frames.begin(), frames.end(), builds_new_model)}, here);
    facts.set("trace.optimizer_setup", Value{std::any_of(frames.begin(), frames.end(), builds_optimizer)}, here);
    facts.set("trace.foreach", Value{mentions({"_foreach_", "_multi_tensor_"})}, here);
    facts.set("trace.autotunes", Value{mentions({"autotune"})}, here);
    facts.set("trace.load",
              Value{std::any_of(frames.begin(), frames.end(), loads_model) &&
                    std::none_of(frames.begin(), frames.end(), in_forward)},
              here);
    facts.set("trace.moves",
              Value{std::any_of(frames.begin(), frames.end(), moves_module) &&
                    std::none_of(frames.begin(), frames.end(), reads_file) &&
                    scan.find_remark("phase/load", {.before = incident.when.order}) == nullptr},
              here);
    facts.set("trace.features", Value{std::any_of(frames.begin(), frames.end(), extracts_features)}, here);
    facts.set("trace.paints", Value{std::any_of(frames.begin(), frames.end(), paints)}, here);
    facts.set("trace.decodes_latents", Value{std::any_of(frames.begin(), frames.end(), is_of_vae)}, here);
    facts.set(
        "trace.in_tiles",
        Value{std::any_of(frames.begin(), frames.end(),
                          [](const Frame& f) { return contains(f.function, "tiled") || contains(f.code, "tiled"); })},
        here);
    facts.set("trace.asks_free", Value{asks_for_free_memory(frames.back())}, here);
    if (for_context == nullptr) facts.set("trace.setup", Value{precedes_model(scan, incident, frames)}, here);
    const Frame* user = user_frame(frames);
    facts.set(
        "trace.growing",
        Value{(user != nullptr && concatenates(user->code) && std::none_of(frames.begin(), frames.end(), in_forward)) ||
              mentions({"nested_concat", "pad_across_processes", "torch_pad_and_concatenate"})},
        here);
    facts.set("trace.output",
              Value{makes_output_buffer(frames.back()) && std::none_of(frames.begin(), frames.end(), in_forward)},
              here);
    facts.set("trace.windows", Value{mentions({"sliding_window_inference("})}, here);
    facts.set("trace.batch_of_one",
              Value{std::any_of(
                  frames.begin(), frames.end(),
                  [](const Frame& f) { return has_window_batch_of_one(f.code) || names_batch_of_one(f.code); })},
              here);
    // The arguments of Flax's models show that a gradient is taken.
    const bool mentions_training = std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
      return contains(f.code, "train=True") || contains(f.code, "is_training=True") ||
             contains(f.code, "deterministic=False");
    });
    const auto without_gradients = [](const Frame& f) { return f.no_grad || f.function == "decorate_context"; };
    facts.set("trace.no_grad", Value{std::any_of(frames.begin(), frames.end(), without_gradients)}, here);
    facts.set("trace.sums", Value{std::any_of(frames.begin(), frames.end(), sums_tensors)}, here);
    facts.set("trace.single_operation",
              Value{user != nullptr && runs_jax_operations(user->code) &&
                    std::none_of(frames.begin(), frames.end(), takes_gradients) && !mentions_training},
              here);
    facts.set("trace.evaluation", Value{phase.id == "evaluation"}, here);
    if (const std::string returned = user != nullptr ? find_returned_arguments(user->code) : ""; !returned.empty())
      facts.set("trace.returned_arguments", Value{returned}, here);
    if (user != nullptr) facts.set("trace.frame", Value{user->file + ":" + std::to_string(user->line)}, here);
  }

  const std::vector<Evidence> progress = scan.last_progress ? std::vector<Evidence>{*scan.last_progress} : here;
  if (log_begins_with_run(scan, incident)) {
    const i64 count = count_progress(scan, incident);
    const double lines = static_cast<double>(count);
    const std::optional<i64> first = incident.run.number > 0 ? incident.run.first_step : scan.first_step;
    const bool late = starts_late(scan, incident);
    // A run that is seen from its beginning may print only each tenth step. Where it counts from 0, the last number may
    // be of a step, or of the steps that are done, so the smaller one counts.
    const i64 before_first = late ? first.value_or(0) - 1 : 0;
    const double printed = first && scan.last_step && count > 0
                               ? static_cast<double>(std::max<i64>(*scan.last_step - before_first, 1))
                               : 0;
    // Of a run seen from its beginning, few prints are its first steps, however many steps lie between two of them.
    const bool begins = count <= max_first_steps && first.value_or(0) <= 1;
    const double shown = begins ? lines : std::max(printed, lines);
    const double done = begins ? lines : std::max(shown, static_cast<double>(count_steps(scan, incident)));
    facts.set("run.started", Value{count > 0}, progress);
    facts.set("run.late", Value{late}, progress);
    facts.set("run.steps", Value{Number{shown, 0}}, progress);
    facts.set("run.done", Value{Number{done, 0}}, progress);
    facts.set("run.progress", Value{progress_words(incident, done)}, progress);
    if (!facts.is_true("phase.first_step") && phase.id.empty() &&
        (count > max_first_steps || shows_whole_step(scan, incident)))
      facts.set("phase.first_step", Value{false}, progress);
  }
  if (incident.when.step)
    facts.set("run.step", Value{Number{static_cast<double>(*incident.when.step - incident.when.before), 0}}, progress);
  facts.set("run.resumed", Value{was_resumed(scan)}, here);
  const Event* server = find_server(scan, incident);
  facts.set("run.served", Value{server != nullptr}, {server ? server->evidence : incident.evidence});
  const bool loads = scan.find_remark("phase/load", {.before = incident.when.order}) != nullptr;
  facts.set("run.loads_weights", Value{loads}, here);
  facts.set("run.survived", Value{incident.handled}, here);
  i64 handled = 0, caught = 0, ranks = 0;
  const Incident* first_caught = nullptr;
  for (const Incident& i : scan.incidents) {
    if (i.handled && first_caught == nullptr) first_caught = &i;
    handled += i.handled && i.when.order < incident.when.order;
    if (i.handled && !i.follows)
      caught +=
          count_failures(static_cast<i64>(i.occurrences.size()) + i.more_occurrences, i.oom.has(OomTrait::answered));
    ranks += i.origin.rank.has_value() && !i.handled;
  }
  if (scan.more_incidents > 0)  // further failed ranks are counted without an incident
    ranks = std::max(ranks, i64{std::count_if(scan.ranks.begin(), scan.ranks.end(),
                                              [](const auto& rank) { return rank.second.failed; })});
  if (incident.handled) caught += scan.more_incidents;
  const std::vector<Evidence> there{first_caught == nullptr ? incident.evidence : first_caught->evidence};
  facts.set("run.caught", Value{Number{static_cast<double>(caught), 0}}, there);
  // After its garbage collection, CUDA.jl serves the same request: nothing is lost.
  const bool served = incident.oom.has(OomTrait::answered);
  facts.set("run.loses_work", Value{incident.handled && !served && loses_work(caught, scan, incident, facts)}, here);
  facts.set("run.handled_before", Value{Number{static_cast<double>(handled), 0}}, there);
  if (const auto all = count_ranks(scan); all > 1)
    facts.set("run.ranks", Value{Number{static_cast<double>(all), 0}}, here);
  facts.set("run.ranks_failed", Value{Number{static_cast<double>(std::max<i64>(ranks, 1)), 0}}, here);
}

}  // namespace oomdoctor
