// Settings of a training run as programs and launchers print them: argument dumps, configurations, command lines,
// reprs.
//
// One row is one key in all its spellings: key=8, key: 8, 'key': 8, "key": 8, --key 8, --key=8, `key ........ 8`. A
// dash may replace an underscore. The canonical name is the name of the fact (src/analysis/fact_specs.cc, settings.…).
// The last printed value wins. All rows are non-exclusive: a step line may contain its batch size and is still read as
// a step line.
#include <algorithm>
#include <array>
#include <string>

#include "parse/literal.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

enum class Kind {
  count,  ///< a whole number
  first,  ///< a whole number, or the first of a list of them
  ratio,  ///< a share such as 0.9
  truth,  ///< emitted as "true" or "false"; --key without a value is true
  flag,   ///< emitted only if true, with the row's fixed value
  word,   ///< a name, without the prefix of an enumeration
  type,   ///< a number type: float32, bfloat16, …
};

/// Text that the compiler builds.
struct CompileTimeText {
  std::array<char, 640> data{};
  std::size_t size = 0;
  constexpr void add(std::string_view text) {
    for (const char c : text) data[size++] = c;
  }
  /// Adds the key; each underscore matches a dash too.
  constexpr void add_key(std::string_view key) {
    for (const char c : key) add(c == '_' ? std::string_view("[_-]") : std::string_view(&c, 1));
  }
  constexpr std::string_view view() const { return {data.data(), size}; }
};

/// The regex of a value, with the one captured group.
constexpr std::string_view value_regex(Kind kind) {
  switch (kind) {
    case Kind::first:
      return R"(\[? ?(\d{1,9})(?!\.?\d|[A-Za-z_%]))";
    case Kind::count:
      return R"((\d{1,9})(?!\.?\d|[A-Za-z_%]))";
    case Kind::ratio:
      return R"(([01]?\.\d{1,4}|1)(?![\d.]))";
    case Kind::truth:
    case Kind::flag:
      return R"((True|False|true|false|None|null|full|selective|yes|no)\b)";
    case Kind::word:
      return R"(([A-Za-z][\w+.-]{1,48}))";
    case Kind::type:
      return R"((?:torch\.)?(b?float(?:16|32)|bf16|fp16|fp32|half|16-mixed|bf16-mixed|16-true|bf16-true|32-true|no|int8|fp8|(?:16|32|64)(?![.\d-]))\b)";
  }
  return {};
}

/// The regex of a row: the key as an option or as a name with a separator, then the value.
consteval CompileTimeText build_regex(std::string_view key, Kind kind) {
  CompileTimeText out;
  out.add("(?:--");
  out.add_key(key);
  out.add(kind == Kind::truth || kind == Kind::flag
              ? R"((?![\w-])(?: {0,3}$|(?= --)|(?= \\)|[ =]{1,3}['"]?)|(?<![\w-]))"
              : R"([ =]{1,3}['"]?|(?<![\w-]))");
  out.add_key(key);
  out.add(R"(['"]?(?: {0,2}[:=] {0,2}| ?\.{3,80} ?| {2,40})['"]?))");
  out.add("(?:");
  if (kind == Kind::word) out.add(R"((?:<?[A-Z]\w{1,30}\.)?)");
  out.add(value_regex(kind));
  out.add(kind == Kind::truth || kind == Kind::flag ? R"(|(?= --)|(?= \\)|(?<=[a-z0-9]) {0,3}$))" : ")");
  return out;
}

consteval CompileTimeText build_name(std::string_view key) {
  CompileTimeText out;
  out.add("settings/");
  for (const char c : key) out.add(c == ' ' ? std::string_view("_") : std::string_view(&c, 1));
  return out;
}

consteval CompileTimeText build_dashed(std::string_view key) {
  CompileTimeText out;
  for (const char c : key) out.add(c == '_' ? std::string_view("-") : std::string_view(&c, 1));
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// One spelling per type: "bfloat16" and "bf16-mixed" become "bf16".
std::string type_name(std::string_view text) {
  const std::string t = lower(text);
  if (t.find("bf16") != t.npos || t == "bfloat16") return "bf16";
  if (t.find("16") != t.npos || t == "half") return "fp16";
  if (t.find("32") != t.npos || t == "no") return "fp32";
  return t;
}

/// False for source code, usage texts and defaults. They contain keys that nobody set.
bool is_configuration(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == line.npos) return false;
  const std::string_view text_start = line.substr(start);
  for (const std::string_view head :
       {"def ", "class ", "import ", "from ", "#", "usage:", "return ", "assert ", "raise ", "if ", "File \""})
    if (text_start.starts_with(head)) return false;
  for (const std::string_view piece : {"add_argument", "Optional[", ": int", ": float", ": bool", ": str", "default=",
                                       "(default", "try setting", "self.", "lambda ", "Consider ", "consider ", "Try "})
    if (line.find(piece) != line.npos) return false;
  return true;
}

/// False for calls: "dtype=torch.float32" in a call is about one tensor.
bool is_type_statement(std::string_view line) {
  const bool call = line.find("dtype=torch.") != line.npos && line.find("config") == line.npos &&
                    line.find("torch_dtype=") == line.npos;
  return is_configuration(line) && !call && line.find("tensor(") == line.npos;
}

/// digits; 1048576 is the block size of an asynchronous reader, not a sequence length
constexpr std::size_t too_many_digits = 7;

/// quick_reject: true if no word precedes the key and a quote or a separator follows it. The regex requires both.
template <std::size_t size>
bool is_key(std::string_view block, std::size_t at) {
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || (c >= '0' && c <= '9');
  };
  const bool option = at >= 2 && block.substr(at - 2, 2) == "--";
  const bool begins = at == 0 || option || !in_word(block[at - 1]);
  const std::string_view after = block.substr(at + size, 2);
  const char next = after.empty() ? '\n' : after[0];
  const bool blank =
      next == ' ' &&
      (option || (after.size() > 1 && std::string_view(" :=.").find(after[1]) != std::string_view::npos));
  return begins && (blank || std::string_view("'\":=.\n\r\\").find(next) != std::string_view::npos);
}

template <Literal key, Literal name, Kind kind, Literal fixed>
/// One row of the table. Its texts are built at compile time; emit() normalises the value by its kind.
struct Row {
  static constexpr CompileTimeText regex = build_regex(key.view(), kind);
  static constexpr CompileTimeText title = build_name(key.view());
  static constexpr CompileTimeText dash = build_dashed(key.view());

  static void emit(const Match& m, EventSink& sink) {
    const std::string_view text = m[1];
    if constexpr (kind == Kind::truth || kind == Kind::flag) {
      const std::string t = lower(text);
      const bool on = t != "false" && t != "none" && t != "null" && t != "no";
      if constexpr (kind == Kind::flag) {
        if (on) sink.setting(name.view(), fixed.view());
      } else {
        sink.setting(name.view(), on ? "true" : "false");
      }
    } else if constexpr (kind == Kind::type) {
      sink.setting(name.view(), type_name(text));
    } else if constexpr (kind == Kind::word) {
      if (const std::string w = lower(text); w != "none" && w != "null" && w != "true" && w != "false")
        sink.setting(name.view(), w);
    } else {
      if (name.view() == "sequence_length" && (text.size() < 2 || text.size() >= too_many_digits)) return;
      if (text != "0" || name.view() == "num_workers" || name.view() == "zero_stage") sink.setting(name.view(), text);
    }
  }
};

template <Literal key, Literal name, Kind kind, Literal fixed = "">
consteval Pattern row(std::string_view example) {
  using R = Row<key, name, kind, fixed>;
  return checked(Pattern{.name = R::title.view(),
                         .anchor = key.view(),
                         .second_anchor = R::dash.view() == key.view() ? std::string_view{} : R::dash.view(),
                         .regex = R::regex.view(),
                         .captures = 1,
                         .example = example,
                         .emit = R::emit,
                         .accepts = kind == Kind::type ? is_type_statement : is_configuration,
                         .quick_reject = is_key<key.view().size()>,
                         .before_anchor = 2,  // for the "--" of an option
                         .digits_are_numbers = true,
                         .non_exclusive = true});
}

void train_batch_size(const Match& m, EventSink& sink) { sink.setting("batch_size", m[1]); }

constexpr Pattern patterns[] = {
    row<"batch_size", "batch_size", Kind::count>("Namespace(batch_size=16, lr=0.0001)"),
    // Only from a command line: in DeepSpeed's configuration the same key is the batch size of all ranks together.
    checked(Pattern{.name = "settings/train_batch_size",
                    .anchor = "--train_batch_size",
                    .second_anchor = "--train-batch-size",
                    .regex = R"(--train[_-]batch[_-]size[ =]{1,3}['"]?(\d{1,7})(?!\.?\d|[A-Za-z_%]))",
                    .captures = 1,
                    .example = "+ accelerate launch train_dreambooth_lora.py --train_batch_size=2",
                    .emit = train_batch_size,
                    .accepts = is_configuration,
                    .non_exclusive = true}),
    row<"per_device_train_batch_size", "batch_size", Kind::count>("per_device_train_batch_size=4,"),
    row<"micro_batch_size", "batch_size", Kind::count>("  micro_batch_size ................................ 2"),
    row<"local_batch_size", "batch_size", Kind::count>("local_batch_size = 8"),
    row<"train_micro_batch_size_per_gpu", "batch_size", Kind::count>(R"(  "train_micro_batch_size_per_gpu": 4,)"),
    row<"per_device_batch_size", "batch_size", Kind::count>("Config param per_device_batch_size: 8"),
    row<"max_target_length", "sequence_length", Kind::count>("Config param max_target_length: 2048"),
    row<"train_batch_size_per_device", "batch_size", Kind::count>("train_batch_size_per_device: 4"),
    row<"samples_per_gpu", "batch_size", Kind::count>("data = dict(samples_per_gpu=2)"),
    row<"batch_size_per_gpu", "batch_size", Kind::count>("batch_size_per_gpu=32"),
    row<"batch_size_per_device", "batch_size", Kind::count>("batch_size_per_device: 4"),
    row<"per_gpu_train_batch_size", "batch_size", Kind::count>("per_gpu_train_batch_size=8,"),
    row<"per_device_eval_batch_size", "eval_batch_size", Kind::count>("per_device_eval_batch_size=8,"),
    row<"eval_batch_size", "eval_batch_size", Kind::count>("eval_batch_size: 8"),
    row<"val_batch_size", "eval_batch_size", Kind::count>("val_batch_size: 8"),
    row<"gradient_accumulation_steps", "accumulation", Kind::count>("gradient_accumulation_steps=4,"),
    row<"accumulate_grad_batches", "accumulation", Kind::count>("accumulate_grad_batches: 4"),
    row<"grad_accum", "accumulation", Kind::count>("grad_accum=4"),
    row<"grad_accum_steps", "accumulation", Kind::count>("grad_accum_steps=4"),
    row<"grad_accumulation_steps", "accumulation", Kind::count>("grad_accumulation_steps: 4"),
    row<"gradient_accumulation", "accumulation", Kind::count>("gradient_accumulation=4"),
    row<"accumulation_steps", "accumulation", Kind::count>("Namespace(accumulation_steps=4, lr=0.0001)"),
    row<"accum_iter", "accumulation", Kind::count>("accum_iter=4,"),
    row<"update_freq", "accumulation", Kind::first>("update_freq=[4], lr=[0.0005]"),
    row<"max_seq_len", "sequence_length", Kind::count>("max_seq_len=2048"),
    row<"max_seq_length", "sequence_length", Kind::count>("max_seq_length: 2048"),
    row<"seq_length", "sequence_length", Kind::count>("  seq_length ...................................... 2048"),
    row<"sequence_len", "sequence_length", Kind::count>("sequence_len: 4096"),
    row<"cutoff_len", "sequence_length", Kind::count>("cutoff_len: 1024"),
    row<"block_size", "sequence_length", Kind::count>("block_size = 1024"),
    row<"max_length", "sequence_length", Kind::count>("max_length=512"),
    row<"context_length", "sequence_length", Kind::count>("context_length: 4096"),
    row<"model_max_length", "sequence_length", Kind::count>("--model_max_length 2048"),
    row<"max_num_batched_tokens", "step_tokens", Kind::count>(
        "--max-num-batched-tokens 8192 --max_num_batched_tokens 8192"),
    row<"chunked_prefill_size", "step_tokens", Kind::count>("--chunked-prefill-size 4096 --chunked_prefill_size 4096"),
    row<"max_batch_prefill_tokens", "step_tokens", Kind::count>(
        "--max-batch-prefill-tokens 4096 --max_batch_prefill_tokens 4096"),
    row<"mem_fraction_static", "engine_share", Kind::ratio>("--mem-fraction-static 0.9 --mem_fraction_static 0.9"),
    row<"max_model_len", "sequence_length", Kind::count>("--max-model-len 8192 --max_model_len 8192"),
    row<"precision", "precision", Kind::type>("precision='bf16'"),
    row<"mixed_precision", "precision", Kind::type>("mixed_precision: bf16"),
    row<"torch_dtype", "precision", Kind::type>(R"("torch_dtype": "bfloat16",)"),
    row<"dtype", "precision", Kind::type>("dtype: bfloat16"),
    row<"bf16", "precision", Kind::flag, "bf16">("bf16=True,"),
    row<"fp16", "precision", Kind::flag, "fp16">("fp16=True,"),
    row<"optim", "optimizer", Kind::word>("optim=adamw_torch,"),
    row<"optimizer", "optimizer", Kind::word>("optimizer: adamw_8bit"),
    row<"gradient_checkpointing", "checkpointing", Kind::truth>("gradient_checkpointing=False,"),
    row<"activation_checkpointing", "checkpointing", Kind::truth>("activation_checkpointing: true"),
    row<"recompute_granularity", "checkpointing", Kind::truth>(
        "  recompute_granularity ........................... full"),
    row<"torch_compile", "compiled", Kind::truth>("torch_compile=True,"),
    row<"use_cuda_graph", "cuda_graphs", Kind::truth>("use_cuda_graph=True"),
    row<"enable_cuda_graph", "cuda_graphs", Kind::truth>("  enable_cuda_graph ............................... True"),
    row<"enforce_eager", "eager", Kind::truth>("enforce_eager=True,"),
    row<"num_workers", "num_workers", Kind::count>("num_workers: 4"),
    row<"dataloader_num_workers", "num_workers", Kind::count>("dataloader_num_workers=4,"),
    row<"prefetch_factor", "prefetch_factor", Kind::count>("prefetch_factor: 2"),
    row<"dataloader_prefetch_factor", "prefetch_factor", Kind::count>("dataloader_prefetch_factor=2,"),
    row<"pin_memory", "pin_memory", Kind::truth>("pin_memory: true"),
    row<"dataloader_pin_memory", "pin_memory", Kind::truth>("dataloader_pin_memory=True,"),
    row<"num_gpus", "world_size", Kind::count>("num_gpus: 3"),
    row<"world_size", "world_size", Kind::count>("  world_size ...................................... 8"),
    row<"nproc_per_node", "world_size", Kind::count>("torchrun --nproc_per_node 8 train.py --nproc-per-node=8"),
    row<"num_processes", "world_size", Kind::count>("num_processes: 8"),
    row<"zero_stage", "zero_stage", Kind::count>("--zero_stage 3"),
    row<"zero_optimization_stage", "zero_stage", Kind::count>("  zero_optimization_stage ...... 3"),
    row<"use_lora", "lora", Kind::truth>("use_lora: true"),
    row<"attn_implementation", "attention", Kind::word>("attn_implementation: flash_attention_2"),
    row<"vocab_size", "vocabulary", Kind::count>(R"(  "vocab_size": 32000)"),
    row<"padded_vocab_size", "vocabulary", Kind::count>("  padded_vocab_size ............................... 50304"),
    row<"hidden_size", "hidden", Kind::count>(R"(  "hidden_size": 4096,)"),
    row<"n_embd", "hidden", Kind::count>("n_embd = 768"),
    row<"num_hidden_layers", "layers", Kind::count>(R"(  "num_hidden_layers": 32,)"),
    row<"num_layers", "layers", Kind::count>("  num_layers ...................................... 24"),
    row<"n_layer", "layers", Kind::count>("n_layer = 12"),
    row<"num_attention_heads", "heads", Kind::count>(R"(  "num_attention_heads": 32,)"),
    row<"n_head", "heads", Kind::count>("n_head = 12"),
    row<"tensor_model_parallel_size", "tensor_parallel", Kind::count>(
        "  tensor_model_parallel_size ...................... 2"),
    row<"tensor_parallel_size", "tensor_parallel", Kind::count>("--tensor-parallel-size 4 --tensor_parallel_size 4"),
    row<"pipeline_model_parallel_size", "pipeline_parallel", Kind::count>(
        "  pipeline_model_parallel_size .................... 4"),
    row<"context_parallel_size", "context_parallel", Kind::count>(
        "  context_parallel_size ........................... 2"),
    row<"gpu_memory_utilization", "memory_fraction", Kind::ratio>(
        "--gpu-memory-utilization 0.92 --gpu_memory_utilization 0.92"),
    row<"num_envs", "environments", Kind::count>("num_envs: 4096"),
    row<"num_frames", "frames", Kind::count>("num_frames: 16"),
    row<"clip_len", "frames", Kind::count>("clip_len=32"),
    row<"imgsz", "image_size", Kind::count>("imgsz=640"),
    row<"image_size", "image_size", Kind::count>("image_size: 512"),
    row<"img_size", "image_size", Kind::count>("img_size=512"),
};

}  // namespace

extern const Parser settings;
const Parser settings{.name = "settings",
                      .title = "settings of the training",
                      .source = "argument dumps, configurations and command lines: real logs",
                      .patterns = patterns};

}  // namespace oomdoctor::parsers
