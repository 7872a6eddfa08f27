#include "cli/trainer_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ascii.h"
#include "base/parse_whole.h"

namespace oomdoctor::cli {
namespace {

/// Settings whose value is that of an option.
struct SameNumber {
  std::string_view option, setting;
};
constexpr auto same_numbers = std::to_array<SameNumber>({
    {"batch", "micro_batch_size"},
    {"batch", "per_device_train_batch_size"},
    {"accumulation", "gradient_accumulation_steps"},
    {"seq", "sequence_len"},
    {"seq", "cutoff_len"},
    {"seq", "max_seq_length"},
    {"seq", "max_seq_len"},
    {"seq", "max_length"},
    {"seq", "model_max_length"},
    {"seq", "block_size"},
    {"dp", "num_processes"},
    {"dp", "num_gpus"},
});
constexpr auto model_names = std::to_array<std::string_view>({"base_model", "model_name_or_path", "model_name"});
constexpr auto rank_names = std::to_array<std::string_view>({"lora_r", "lora_rank", "peft_lora_r"});
constexpr auto target_names =
    std::to_array<std::string_view>({"lora_target_modules", "lora_target", "peft_lora_target_modules"});

/// The names of Hugging Face's trainers, and the optimizer whose states have the same size.
struct SameOptimizer {
  std::string_view name, optimizer;
};
constexpr auto same_optimizers = std::to_array<SameOptimizer>({
    {"adamw", "AdamW"},
    {"adamw_torch", "AdamW"},
    {"adamw_torch_fused", "AdamW"},
    {"adamw_hf", "AdamW"},
    {"adamw_apex_fused", "AdamW"},
    {"paged_adamw", "AdamW"},
    {"paged_adamw_32bit", "AdamW"},
    {"adamw_8bit", "AdamW-8bit"},
    {"adamw_bnb_8bit", "AdamW-8bit"},
    {"paged_adamw_8bit", "AdamW-8bit"},
    {"adafactor", "Adafactor"},
    {"sgd", "SGD"},
    {"lion_32bit", "Lion"},
});

/// Without quotes, a comment after it, and the brackets of a list.
std::string plain_value(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
    const auto end = text.find(text.front(), 1);
    return std::string(text.substr(1, end == text.npos ? text.npos : end - 1));
  }
  if (const auto comment = text.find(" #"); comment != text.npos) text = trimmed(text.substr(0, comment));
  if (text.starts_with('#')) return {};
  std::string value(text);
  if (value.starts_with('['))
    std::erase_if(value, [](char c) { return c == '[' || c == ']' || c == ' ' || c == '"' || c == '\''; });
  return value;
}

class TrainerOptions {
 public:
  TrainerOptions(const TrainerSettings& settings, bool has_model, Arguments& arguments)
      : settings_(settings), has_model_(has_model), arguments_(arguments) {}

  std::string add() {
    if (!has_model_) set("model", first_of(model_names));
    for (const auto& [option, setting] : same_numbers) set_number(option, value(setting));
    // torchrun counts the processes of a node.
    const auto nodes = read_number(value("nnodes")), of_node = read_number(value("nproc_per_node"));
    if (of_node) set("dp", std::to_string(*of_node * nodes.value_or(1)));
    set_adapters();
    set_states();
    set_sharding();
    set_diffusion();
    return said_.empty() ? "" : said_ + notes_;
  }

 private:
  std::string value(std::string_view name) const {
    const auto found = settings_.find(name);
    const bool nothing = found == settings_.end() || found->second == "null" || found->second == "~";
    return nothing ? "" : found->second;
  }
  std::string first_of(const auto& names) const {
    for (const std::string_view name : names)
      if (std::string found = value(name); !found.empty()) return found;
    return {};
  }
  bool is_on(std::string_view name) const {
    const std::string text = lower(value(name));
    return text == "true" || text == "yes" || text == "1";
  }
  bool is_llama_factory() const { return !value("finetuning_type").empty(); }
  bool is_axolotl() const { return !value("base_model").empty(); }

  void set(std::string_view option, const std::string& text) {
    if (text.empty() || arguments_.has(option)) return;
    arguments_.add(option, text);
    said_ += (said_.empty() ? "--" : " --") + std::string(option) + " " + text;
  }

  /// "auto", "gpu", "${BATCH}": known only when the run starts.
  static std::optional<std::int64_t> read_number(std::string_view text) {
    const auto number = parse_whole<std::int64_t>(text);
    return number && *number > 0 && *number < 1'000'000 ? number : std::nullopt;
  }
  void set_number(std::string_view option, const std::string& text) {
    if (read_number(text))
      set(option, text);
    else if (!text.empty() && !arguments_.has(option))
      add_note(fmt::format("'{}' gives no --{}", text, option));
  }
  void add_note(const std::string& note) { notes_ += "; " + note; }

  void set_adapters() {
    const std::string adapter = lower(value("adapter")), tuning = lower(value("finetuning_type"));
    const bool named = !adapter.empty() || !tuning.empty();
    trains_adapters_ =
        adapter.ends_with("lora") || tuning == "lora" || is_on("use_peft") ||
        (!named && !is_axolotl() && settings_.find("use_peft") == settings_.end() && !first_of(rank_names).empty());
    if (trains_adapters_) {
      const std::string rank = first_of(rank_names);
      set("lora-rank", !rank.empty() ? rank : is_llama_factory() ? "8" : is_on("use_peft") ? "16" : "");
      const std::string targets = first_of(target_names);
      if (targets == "q_proj,v_proj" || targets == "v_proj,q_proj") set("lora-targets", "query-value");
    }
    const std::string bits = value("quantization_bit");
    const bool quantised = adapter.ends_with("lora") && adapter.starts_with('q');
    if (is_on("load_in_4bit") || quantised || bits == "4")
      set("bits", "4");
    else if (is_on("load_in_8bit") || bits == "8")
      set("bits", "8");
  }

  // What has 16 bits: Axolotl loads the weights so; LLaMA-Factory trains in 32 bits all that it trains, unless
  // pure_bf16 is set; Hugging Face's trainers compute in 16 bits, and the weights have the type with which they were
  // loaded.
  std::string precision() const {
    const std::string dtype = lower(first_of(std::array<std::string_view, 3>{"torch_dtype", "dtype", "model_dtype"}));
    const std::string bf16 = lower(value("bf16"));
    const bool half = is_on("bf16") || is_on("fp16") || bf16 == "auto" || bf16 == "full";
    const bool half_weights = dtype == "bfloat16" || dtype == "float16" || dtype == "bf16" || dtype == "fp16";
    if (trains_adapters_) return half_weights || is_axolotl() || is_llama_factory() || !half ? "" : "amp";
    if (is_on("pure_bf16") || is_on("bfloat16") || half_weights || (is_axolotl() && half)) return "bf16";
    return half ? "amp" : dtype == "float32" || is_on("tf32") ? "fp32" : "";
  }

  void set_states() {
    const std::string checkpointing = lower(value("gradient_checkpointing"));
    if (is_on("gradient_checkpointing") || checkpointing == "unsloth" || checkpointing == "offload" ||
        (is_llama_factory() && checkpointing.empty() && !is_on("disable_gradient_checkpointing")))
      set("checkpointing", "full");
    std::string optimizer = lower(first_of(std::array<std::string_view, 2>{"optim", "optimizer"}));
    const auto* const same = std::find_if(same_optimizers.begin(), same_optimizers.end(),
                                          [&](const SameOptimizer& known) { return known.name == optimizer; });
    if (same != same_optimizers.end())
      set("optimizer", std::string(same->optimizer));
    else if (!optimizer.empty() && !arguments_.has("optimizer"))
      add_note(fmt::format("the optimizer {} is not known", optimizer));
    set("precision", precision());
    if (lower(value("attn_implementation")) == "eager") set("attention", "eager");
    if (is_on("use_liger_kernel") || is_on("enable_liger_kernel") || is_on("use_liger") ||
        is_on("liger_fused_linear_cross_entropy"))
      set("loss", "chunked");
  }

  // The training scripts of diffusers. Those for LoRA freeze a base in 16 bits, the others autocast.
  void set_diffusion() {
    const std::string model = value("pretrained_model_name_or_path");
    if (model.empty()) return;
    if (!has_model_) set("model", model);
    set_number("batch", value("train_batch_size"));
    const std::string side = value("resolution"), width = value("width"), height = value("height");
    if (read_number(width) && read_number(height))
      set("image", fmt::format("{}x{}", width, height));
    else if (read_number(side))
      set("image", fmt::format("{0}x{0}", side));
    const bool adapters = is_on("lora_script");
    if (adapters) set("lora-rank", value("rank").empty() ? "4" : value("rank"));
    if (is_on("use_8bit_adam")) set("optimizer", "AdamW-8bit");
    const std::string precision = lower(value("mixed_precision"));
    if (precision == "no")
      set("precision", "fp32");
    else if (!precision.empty() && !adapters)
      set("precision", "amp");
  }

  // "deepspeed_configs/zero3_bf16.json", "ds_z2_config.json": the name says the stage. It shards over ranks, so their
  // number is needed.
  void set_sharding() {
    const std::string file = lower(value("deepspeed"));
    std::string stage;
    for (const std::string_view mark : {"zero", "z", "stage"})
      for (const char* digit : {"1", "2", "3"})
        for (const char* between : {"", "_", "-"})
          if (stage.empty() && file.find(std::string(mark) + between + digit) != file.npos) stage = digit;
    const std::string fsdp = lower(value("fsdp"));
    if (stage.empty() && fsdp.find("hybrid") == fsdp.npos) {
      if (fsdp.find("full_shard") != fsdp.npos || fsdp == "true") stage = "3";
      if (fsdp.find("shard_grad_op") != fsdp.npos) stage = "2";
    } else if (stage.empty()) {
      add_note("hybrid sharding is not counted");
    }
    const std::string ranks = arguments_.value_or("dp", "1");
    if (ranks != "1")
      set("zero", stage);
    else if (!stage.empty() && !arguments_.has("zero"))
      add_note(fmt::format("it shards (stage {}), which counts with the number of ranks: --dp 8", stage));
  }

  const TrainerSettings& settings_;
  bool has_model_;
  Arguments& arguments_;
  bool trains_adapters_ = false;
  std::string said_, notes_;
};

}  // namespace

TrainerSettings read_yaml_settings(std::string_view text) {
  TrainerSettings settings;
  std::string name;  // of the setting whose list may follow
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view rest = trimmed(line);
    if (rest.empty() || rest.front() == '#') continue;
    if (rest.starts_with("- ")) {
      if (name.empty()) continue;
      std::string& list = settings[name];
      list += (list.empty() ? "" : ",") + plain_value(rest.substr(2));
      continue;
    }
    name.clear();
    const auto colon = line.find(':');
    if (is_blank(line.front()) || colon == line.npos || (colon + 1 < line.size() && !is_space(line[colon + 1])))
      continue;
    name = std::string(trimmed(line.substr(0, colon)));
    settings[name] = plain_value(line.substr(colon + 1));
  }
  return settings;
}

TrainerSettings read_command_settings(const std::vector<std::string>& words) {
  TrainerSettings settings;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) continue;
    const auto equals = words[i].find('=');
    std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    std::replace(name.begin(), name.end(), '-', '_');
    std::string& value = settings[name];
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
      continue;
    }
    value.clear();  // of a launcher, the script follows the last option: only names of layers are several words
    const bool list = std::find(target_names.begin(), target_names.end(), name) != target_names.end();
    bool given = false;
    while (i + 1 < words.size() && !words[i + 1].starts_with("--") && (!given || list)) {
      value += (given ? "," : "") + words[++i];
      given = true;
    }
    if (!given) value = "true";
  }
  const auto is_lora_script = [](const std::string& word) {
    return word.ends_with(".py") && word.find("lora") != std::string::npos;
  };
  if (!settings.empty() && std::any_of(words.begin(), words.end(), is_lora_script)) settings["lora_script"] = "true";
  return settings;
}

std::string add_trainer_options(const TrainerSettings& settings, bool has_model, Arguments& arguments) {
  return TrainerOptions(settings, has_model, arguments).add();
}

}  // namespace oomdoctor::cli
