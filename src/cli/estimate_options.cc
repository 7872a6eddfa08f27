#include "cli/estimate_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "base/ascii.h"
#include "base/error.h"
#include "base/parse_whole.h"
#include "base/small_file.h"
#include "cli/estimate_limits.h"
#include "cli/estimate_words.h"
#include "cli/gpu_option.h"
#include "cli/model_config.h"
#include "cli/published_models.h"
#include "cli/trainer_settings.h"
#include "estimate/model_plan.h"
#include "estimate/size_limits.h"
#include "report/words.h"

namespace oomdoctor::cli {
namespace {

/// The values of an option and their meanings.
template <class T>
using Choices = std::vector<std::pair<std::string_view, T>>;

const Choices<RunKind> works = {{"train", RunKind::training},
                                {"evaluate", RunKind::evaluation},
                                {"generate", RunKind::generation},
                                {"inference", RunKind::generation}};
const Choices<Precision> precisions = {{"fp32", Precision::fp32},
                                       {"amp", Precision::autocast},
                                       {"mixed", Precision::mixed},
                                       {"mixed-fp32-grads", Precision::mixed_fp32_gradients},
                                       {"mixed-two-grads", Precision::mixed_two_gradients},
                                       {"bf16", Precision::pure_16bit}};
const Choices<Optimizer> optimizers = {{"SGD", Optimizer::sgd},
                                       {"SGD-momentum", Optimizer::sgd_momentum},
                                       {"Lion", Optimizer::lion},
                                       {"AdamW", Optimizer::adam},
                                       {"AdamW-8bit", Optimizer::adam_8bit},
                                       {"Adafactor", Optimizer::adafactor},
                                       {"Adafactor-momentum", Optimizer::adafactor_momentum}};
const Choices<Checkpointing> checkpointings = {
    {"none", Checkpointing::none}, {"selective", Checkpointing::selective}, {"full", Checkpointing::full}};
const Choices<Attention> attentions = {
    {"eager", Attention::stored}, {"sdpa", Attention::flash}, {"flash", Attention::flash}};
const Choices<Loss> losses = {{"plain", Loss::plain}, {"fused", Loss::fused}, {"chunked", Loss::chunked}};
const Choices<int> zero_stages = {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}};
enum class Offload { optimizer, all, models };
const Choices<Offload> offloads = {
    {"optimizer", Offload::optimizer}, {"all", Offload::all}, {"models", Offload::models}};
const Choices<AdapterTargets> targets = {{"all-linear", AdapterTargets::all_linear},
                                         {"query-value", AdapterTargets::query_and_value}};
enum class Decode { whole, sliced, tiled, none };
const Choices<Decode> decodes = {
    {"whole", Decode::whole}, {"sliced", Decode::sliced}, {"tiled", Decode::tiled}, {"none", Decode::none}};
const Choices<Quantisation> quantisations = {{"8", Quantisation::eight_bit}, {"4", Quantisation::four_bit}};

template <class T>
std::vector<std::string> list_names(const Choices<T>& choices) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.emplace_back(choice.first);
  return names;
}

/// The meanings of all values of an option. The parser has already checked that each value is a choice.
template <class T>
std::vector<T> chosen(const Arguments& arguments, std::string_view option, const Choices<T>& choices) {
  std::vector<T> meanings;
  for (const std::string& value : arguments.all(option))
    for (const auto& [name, meaning] : choices)
      if (value == name) meanings.push_back(meaning);
  return meanings;
}

/// The meaning of an option's last value; nullopt without the option.
template <class T>
std::optional<T> choice(const Arguments& arguments, std::string_view option, const Choices<T>& choices) {
  const std::vector<T> meanings = chosen(arguments, option, choices);
  return meanings.empty() ? std::nullopt : std::optional(meanings.back());
}

/// Parses "7B", "6.74e9", "350M", "6,738,415,616" or "4096"; nullopt for anything else.
std::optional<double> read_count(std::string text) {
  std::erase(text, ',');
  double factor = 1;
  constexpr std::string_view prefixes = "kmbt";
  if (!text.empty())
    if (const auto power = prefixes.find(lower(text.substr(text.size() - 1))); power != std::string_view::npos) {
      factor = std::pow(1000.0, static_cast<double>(power) + 1);
      text.pop_back();
    }
  const auto value = parse_whole<double>(text);
  return value ? std::optional(*value * factor) : std::nullopt;
}

/// The whole number of an option, from 1 to `max_value`; nullopt without the option. Throws Error for other values.
std::optional<i64> read_option(const Arguments& arguments, std::string_view option, i64 max_value) {
  const auto typed = arguments.value(option);
  if (!typed) return std::nullopt;
  const auto value = read_count(*typed);
  if (!value || !(*value >= 1 && *value <= to_double(max_value)) || std::floor(*value) != *value)
    throw Error(
        fmt::format("invalid --{} '{}'", option, *typed), "",
        fmt::format("give a whole number from 1 to {}, for example 4096, 350M or 6.74e9", count_text(max_value)));
  return whole_number(*value);
}

template <class T>
void take(std::optional<T>& into, const std::optional<T>& given) {
  if (given) into = given;
}

void read_model(const Arguments& arguments, ModelShape& model) {
  take(model.parameters, read_option(arguments, "params", size_limits::parameters));
  take(model.trainable, read_option(arguments, "trainable", size_limits::parameters));
  take(model.layers, read_option(arguments, "layers", size_limits::layers));
  take(model.hidden, read_option(arguments, "hidden", size_limits::width));
  take(model.heads, read_option(arguments, "heads", size_limits::width));
  take(model.kv_heads, read_option(arguments, "kv-heads", size_limits::width));
  take(model.head_size, read_option(arguments, "head-size", size_limits::width));
  take(model.intermediate, read_option(arguments, "intermediate", size_limits::width));
  take(model.vocabulary, read_option(arguments, "vocab", size_limits::rows));
  model.gated = model.gated || arguments.has("gated");
  model.tied_embeddings = model.tied_embeddings || arguments.has("tied");
}

struct Image {
  i64 width = 0, height = 0, patch = 0;
  i64 tokens() const { return image_tokens(width, height, patch); }
};

/// Parses "1024x768/28", or for an image generator "1024x768".
Image read_image(const std::string& text, bool generator) {
  Image image;
  const char *at = text.data(), *end = at + text.size();
  const auto number = [&](i64& into, char separator) {
    const auto [stop, error] = std::from_chars(at, end, into);
    const bool good = error == std::errc{} && into > 0 && into <= size_limits::pixels &&
                      (separator == 0 ? stop == end : stop != end && *stop == separator);
    at = good && separator != 0 ? stop + 1 : stop;
    return good;
  };
  if (generator) {
    if (!number(image.width, 'x') || !number(image.height, 0))
      throw Error(fmt::format("invalid --image '{}'", text), "",
                  "use WIDTHxHEIGHT in pixels for an image generator, for example 1024x768");
    return image;
  }
  if (!number(image.width, 'x') || !number(image.height, '/') || !number(image.patch, 0))
    throw Error(fmt::format("invalid --image '{}'", text), "",
                "use WIDTHxHEIGHT/PATCH in pixels, for example 1024x768/28");
  return image;
}

void read_run(const Arguments& arguments, RunShape& run) {
  run.work = choice(arguments, "task", works).value_or(RunKind::training);
  run.batch = read_option(arguments, "batch", size_limits::samples);
  run.sequence = read_option(arguments, "seq", size_limits::tokens);
  run.source = read_option(arguments, "source-seq", size_limits::tokens);
  run.accumulation = read_option(arguments, "accumulation", size_limits::samples);
  run.precision = choice(arguments, "precision", precisions);
  run.optimizer = choice(arguments, "optimizer", optimizers);
  run.checkpointing = choice(arguments, "checkpointing", checkpointings);
  run.attention = choice(arguments, "attention", attentions);
  run.loss = choice(arguments, "loss", losses);
  run.zero_stage = choice(arguments, "zero", zero_stages).value_or(0);
  run.data_parallel = read_option(arguments, "dp", size_limits::ranks);
  run.tensor_parallel = read_option(arguments, "tp", size_limits::ranks);
  run.pipeline_parallel = read_option(arguments, "pp", size_limits::ranks);
  run.context_parallel = read_option(arguments, "cp", size_limits::ranks);
  run.sequence_parallel = arguments.has("sequence-parallel");
  run.fused_optimizer = arguments.has("fused-step");
  run.bucket_view = arguments.has("gradient-bucket-view");
  for (const Offload offload : chosen(arguments, "offload", offloads)) {
    run.offload_models = run.offload_models || offload == Offload::models;
    run.offload_optimizer = run.offload_optimizer || offload != Offload::models;
    run.offload_parameters = run.offload_parameters || offload == Offload::all;
  }
  for (const Decode decode : chosen(arguments, "decode", decodes)) {
    run.sliced = run.sliced || decode == Decode::sliced;
    run.tiled = run.tiled || decode == Decode::tiled;
    run.latents = run.latents || decode == Decode::none;
  }
  run.adapter_rank = read_option(arguments, "lora-rank", size_limits::adapter_rank);
  run.adapter_targets = choice(arguments, "lora-targets", targets).value_or(AdapterTargets::all_linear);
  run.quantisation = choice(arguments, "bits", quantisations).value_or(Quantisation::none);
  run.cache = choice(arguments, "cache-bits", quantisations).value_or(Quantisation::none);
}

/// The image of a generator, and for a transformer its tokens and those of the text next to them.
void read_generated_image(const Arguments& arguments, const ModelConfig& config, ModelShape& model, RunShape& run) {
  const auto typed = arguments.value("image");
  const Image image = typed ? read_image(*typed, true) : Image{config.image_side, config.image_side, 0};
  if (run.sequence && config.text_tokens == 0)
    throw Error("--seq: no text is in the sequence of this model", "", "give --image for other sizes");
  run.image_width = image.width;
  run.image_height = image.height;
  if (!run.sequence) run.sequence = config.text_tokens;
  if (model.modulated) run.image_tokens = image_tokens(image.width, image.height, model.patch);
}

/// A vision-only model, without vocabulary and sequence, has its patches and a class token as its sequence.
void read_images(const Arguments& arguments, const ModelConfig& config, ModelShape& model, RunShape& run) {
  if (model.images) return read_generated_image(arguments, config, model, run);
  for (const auto& text : arguments.all("image")) {
    const Image image = read_image(text, false);
    run.image_tokens += image.tokens();
    if (!model.vocabulary && !run.sequence) model.patch = image.patch;
  }
  if (run.image_tokens == 0) run.image_tokens = config.image_tokens;
  if (model.patch == 0) return;
  if (run.sequence) throw Error("--seq: a model of images has no tokens of a text", "", "give --image for other sizes");
  run.sequence = 1;
  if (run.work == RunKind::generation) run.work = RunKind::evaluation;
}

/// Throws Error if the options describe no model or contradict each other.
void check(const ModelShape& model, const RunShape& run) {
  if (!count_parameters(model) && !model.layers && !model.hidden)
    throw Error(
        "no model given", "",
        "name one: --model llama-3-8b; or use --config config.json, or give sizes: --params 7B --layers 32 ...");
  check_products(model, run);
  if (run.zero_stage > 0 && run.data_parallel.value_or(1) * run.context_parallel.value_or(1) < 2)
    throw Error("--zero needs more than one rank", "", "set the number of ranks: --dp 8");
  if (run.offload_parameters && run.zero_stage < 3)
    throw Error("--offload all needs --zero 3", "",
                "the other stages can only offload the optimizer: --offload optimizer");
  if (run.quantisation != Quantisation::none && !run.adapter_rank && run.work == RunKind::training)
    throw Error("quantized weights cannot be trained", "", "train adapters instead: --lora-rank 16");
  if (run.source && !model.encoder) throw Error("--source-seq needs a model with an encoder and a decoder", "");
  if (run.source && model.encoder->tokens > 0)
    throw Error(
        fmt::format("--source-seq: each sample of this model has {} tokens in the encoder", model.encoder->tokens), "");
  if ((run.sliced || run.tiled || run.latents) && !(model.images && run.work == RunKind::generation))
    throw Error("--decode needs an image generator that generates", "", "for example --model sdxl --task generate");
  if (run.offload_models && !model.images)
    throw Error("--offload models needs an image generator", "", "for example --model sdxl");
  if (run.cache != Quantisation::none && (model.images || run.work != RunKind::generation))
    throw Error("--cache-bits needs a run with a KV cache", "", "add --task generate");
}

/// What an image generator does besides its passes.
void assume_pipeline(const ModelShape& model, const RunShape& run, bool usual_image,
                     std::vector<std::string>& assumed) {
  const bool generates = run.work == RunKind::generation;
  if (usual_image) assumed.push_back(fmt::format("images of {} × {} pixels", run.image_width, run.image_height));
  if (model.images->guided && generates)
    assumed.emplace_back("classifier-free guidance, which computes each image twice in a step");
  if (!model.images->denoises || run.work == RunKind::evaluation) return;
  const std::string others = model.images->text_parameters > 0 ? "text encoders and VAE" : "VAE";
  if (!run.offload_models)
    assumed.push_back(others + (generates ? " on the GPU all the time" : " on the GPU, no cached inputs"));
  if (run.quantisation != Quantisation::none && (generates || !run.offload_models))
    assumed.push_back(others + " not quantized");
  if (generates && !run.sliced && !run.tiled && !run.latents)
    assumed.emplace_back("the VAE decodes all images at once");
}

/// The usual length of a sample in tokens: LLaMA-Factory cuts texts there unless its user gives another number.
constexpr i64 usual_tokens = 2048;

/// Fills missing values with the usual ones and returns each assumption in words, because the estimate prints them.
std::vector<std::string> assume(const ModelShape& model, RunShape& run, bool usual_image) {
  std::vector<std::string> assumed;
  const auto fill = [&](auto& value, auto usual, std::string words) {
    if (value) return;
    value = usual;
    assumed.push_back(std::move(words));
  };
  if (model.images) assume_pipeline(model, run, usual_image, assumed);
  if (model.patch > 0 && !model.irregular && !model.images)
    assumed.emplace_back("images without text, with a class token and without a vocabulary");
  fill(run.batch, i64{1}, "a batch of 1");
  if (model.patch == 0 && !model.images && model.layers && model.hidden) {
    const i64 tokens = std::min(model.positions.value_or(usual_tokens), usual_tokens);
    fill(run.sequence, tokens, count_text(tokens) + " tokens in a sample");
  }
  if (model.encoder && model.encoder->tokens == 0 && !run.source)
    assumed.emplace_back("as many tokens in the encoder as in the decoder");
  if (model.biased_scores) fill(run.attention, Attention::stored, "eager attention, because positions bias its scores");
  fill(run.attention, Attention::flash, "SDPA or FlashAttention");
  if (run.work != RunKind::training) {
    fill(run.precision, Precision::pure_16bit,
         run.quantisation == Quantisation::none ? "16-bit weights" : "16 bits for all but the frozen weights");
    return assumed;
  }
  fill(run.precision, Precision::mixed, "mixed precision with fp32 master weights");
  fill(run.optimizer, Optimizer::adam, "AdamW");
  fill(run.checkpointing, Checkpointing::none, "no checkpointing");
  if (model.patch == 0) fill(run.loss, Loss::plain, "a loss on whole logits");
  if (!run.data_parallel && !run.tensor_parallel && !run.pipeline_parallel && !run.context_parallel) {
    assumed.emplace_back("one device");
    if (!run.accumulation) assumed.emplace_back("several passes to a step");
  }
  if (model.images) return assumed;
  if (model.experts) assumed.emplace_back("all experts on each device");
  if (model.experts && run.adapter_rank && run.adapter_targets == AdapterTargets::all_linear)
    assumed.emplace_back("adapters on each expert");
  if (!model.gated && !model.intermediate && model.hidden)
    assumed.emplace_back("an MLP of 4 hidden sizes without a gate");
  return assumed;
}

/// Distributes the samples of a step over passes so that their number is exact. Without --batch, a pass has one sample.
/// Throws Error if they cannot be divided.
void split_samples(i64 samples, RunShape& run) {
  if (run.accumulation || run.work != RunKind::training)
    throw Error("--global-batch already sets the accumulation: drop --accumulation, and --task inference", "");
  const i64 ranks = run.data_parallel.value_or(1), of_rank = samples / ranks, batch = run.batch.value_or(1);
  if (samples % ranks != 0)
    throw Error(fmt::format("a global batch of {} cannot be divided over {} ranks", samples, ranks), "");
  if (of_rank % batch != 0)
    throw Error(fmt::format("{} samples of a rank cannot be divided into micro-batches of {}", of_rank, batch), "");
  run.batch = batch;
  run.accumulation = of_rank / batch;
}

/// The largest first.
std::vector<i64> list_divisors(i64 number) {
  std::vector<i64> all;
  for (i64 small = 1; small * small <= number; ++small) {
    if (number % small != 0) continue;
    all.push_back(number / small);
    if (small != number / small) all.push_back(small);
  }
  std::sort(all.begin(), all.end(), std::greater<>());
  return all;
}

/// Chooses the largest micro-batch that fits and divides the samples of a rank; keeps 1 if none does.
void grow_batch(i64 capacity, const ModelShape& model, RunShape& run) {
  const i64 samples = *run.batch * *run.accumulation;
  const auto split = [&](i64 batch) {
    RunShape with = run;
    with.batch = batch;
    with.accumulation = samples / batch;
    return with;
  };
  const i64 max_batch = largest_batch(model, run, capacity).value_or(1);
  for (const i64 batch : list_divisors(samples)) {
    if (batch > max_batch || !fits(compute_budget(model, split(batch)), capacity)) continue;
    run = split(batch);
    return;
  }
}

bool is_yaml(std::string_view path) { return path.ends_with(".yml") || path.ends_with(".yaml"); }

/// Adds what the YAML of --config, and a command after "--", say of the run. Returns a note on it; "" for neither.
std::string add_trainer_settings(Arguments& arguments) {
  const std::string path = arguments.value_or("config", "");
  TrainerSettings settings = read_command_settings(arguments.words);
  if (!arguments.words.empty() && settings.empty())
    throw Error(fmt::format("unexpected argument '{}': estimate takes options, and a command after --",
                            arguments.words.front()),
                "", "see oomdoctor estimate --help");
  if (is_yaml(path))
    for (const auto& [name, value] : read_yaml_settings(read_small_file(path))) settings.try_emplace(name, value);
  if (settings.empty() && !is_yaml(path)) return {};
  const bool has_model = arguments.has("params") || arguments.has("hidden") || (!path.empty() && !is_yaml(path));
  const std::string said = add_trainer_options(settings, has_model, arguments);
  const std::string from = is_yaml(path) ? path : "the command";
  if (said.empty()) throw Error(from + " says nothing of a model or a run", "", "see oomdoctor estimate --help");
  return fmt::format("{} says {}", from, said);
}

/// The model of --model or --config; an empty one without both.
ModelConfig find_config(const Arguments& arguments) {
  auto typed = arguments.value("model"), path = arguments.value("config");
  if (path && is_yaml(*path)) path.reset();
  if (typed && path) throw Error("--model and --config both describe the model", "", "give one of them");
  if (path) return read_model_config(*path);
  if (!typed) return {};
  const PublishedModel& published = find_published_model(*typed);
  ModelConfig config = interpret_config(published.config);
  config.name = published.name;
  return config;
}

void read_card(const Arguments& arguments, MemoryEstimate& estimate) {
  if (const auto typed = arguments.value("card")) {
    GpuOption gpu = read_gpu_option(*typed);
    estimate.card = std::move(gpu.name);
    estimate.capacity = gpu.capacity;
  }
  if (arguments.has("sweep") && !estimate.capacity) throw Error("--sweep needs a GPU", "", "name it: --card a100-80g");
}

void note_positions(EstimateRequest& request) {
  const i64 positions = request.model.positions.value_or(0), tokens = request.run.sequence.value_or(0);
  if (positions == 0 || tokens <= positions) return;
  request.said.notes.push_back(
      fmt::format("the model has {} positions, which is less than the {} tokens of a sample", positions, tokens));
}

/// Engines for serving keep the short vectors of latent attention; transformers keeps the keys and values of all heads.
void note_latent_cache(EstimateRequest& request) {
  const auto& latent = request.model.latent;
  if (!latent || !request.model.heads || request.run.work != RunKind::generation) return;
  request.said.notes.push_back(
      fmt::format("the KV cache is that of transformers, with {} numbers per token and layer; vLLM and SGLang keep {}",
                  count_text(*request.model.heads * (latent->key_size + latent->rotary + latent->value_size)),
                  count_text(latent->latent + latent->rotary)));
}

}  // namespace

const std::vector<OptionGroup>& estimate_option_groups() {
  static const std::vector<OptionGroup> groups = {
      {"The model",
       {{"model", 0, "MODEL", "a published model, as oomdoctor list models has it"},
        {"config", 0, "FILE",
         "config.json of a Hugging Face model, or a trainer's YAML; other options have the last word"},
        {"params", 0, "N", "parameters: 7B, 6.74e9; else counted from the sizes"}},
       {{"layers", 0, "N", "layers of the decoder"},
        {"hidden", 0, "N", "hidden size"},
        {"heads", 0, "N", "attention heads"},
        {"vocab", 0, "N", "tokens of the vocabulary"},
        {"trainable", 0, "N", "parameters that are trained, where some are frozen"},
        {"kv-heads", 0, "N", "heads of keys and values, where they are fewer (GQA)"},
        {"head-size", 0, "N", "of one head, where it is not hidden ÷ heads"},
        {"intermediate", 0, "N", "width of the MLP (default: 4 × hidden)"},
        {"gated", 0, "", "the MLP has a gate (Llama, Mistral, Qwen, Gemma)"},
        {"tied", 0, "", "the head shares the table of the input"}}},
      {"The run",
       {{"batch", 0, "N", "samples in one pass on one device (default 1)"},
        {"seq", 0, "N", "tokens of a sample (default 2048)"},
        {"precision", 0, "NAME",
         "fp32; amp (autocast, fp32 weights); mixed (default: 16-bit, fp32 master weights); mixed-fp32-grads "
         "(Megatron); mixed-two-grads; bf16 (all of it)",
         list_names(precisions)},
        {"optimizer", 0, "NAME", "AdamW (default), AdamW-8bit, SGD, SGD-momentum, Lion, Adafactor, Adafactor-momentum",
         list_names(optimizers)},
        {"checkpointing", 0, "HOW", "of activations: none (default), selective, full", list_names(checkpointings)}},
       {{"task", 0, "TASK", "train (default), evaluate, generate or inference", list_names(works)},
        {"source-seq", 0, "N",
         "tokens of a sample in the encoder, while --seq is of the decoder (default: as --seq; Whisper: 1500)"},
        {"attention", 0, "HOW", "sdpa or flash (default), eager", list_names(attentions)},
        {"image", 0, "WxH/P",
         "an image of each sample, in patches of P pixels (Qwen2-VL: 28); may be repeated. For an image generator: "
         "WxH"},
        {"decode", 0, "HOW", "of images: whole (default), sliced (one by one), tiled, none (latents); may be repeated",
         list_names(decodes)},
        {"accumulation", 0, "N", "passes before an optimizer step"},
        {"global-batch", 0, "N",
         "samples of a step over all ranks and passes; without --batch, the largest micro-batch that fits is taken"},
        {"loss", 0, "HOW", "plain (default), fused (compiled or in place), chunked (Liger, Cut Cross-Entropy)",
         list_names(losses)},
        {"lora-rank", 0, "N", "train LoRA adapters of this rank, all else is frozen"},
        {"lora-targets", 0, "WHICH", "all-linear (default), query-value", list_names(targets)},
        {"bits", 0, "N", "of frozen weights: 8, 4 (NF4, QLoRA)", list_names(quantisations)},
        {"cache-bits", 0, "N", "of the KV cache: 8, 4", list_names(quantisations)},
        {"fused-step", 0, "", "the optimizer's step makes no copies (fused=True)"}}},
      {"The devices",
       {{.name = "card",
         .letter = 0,
         .argument = "CARD",
         .description = "a name (4090, a100-80g, H100) or a size (80GiB)",
         .alias = "gpu"},
        {"dp", 0, "N", "data-parallel ranks"},
        {"zero", 0, "STAGE", "0 (default) to 3; 3 is also FSDP's full shard", list_names(zero_stages)}},
       {{"offload", 0, "WHAT",
         "to the host: optimizer, all (with --zero 3: also parameters); models (of an image generator: those that "
         "wait, in training with cached latents and text embeddings)",
         list_names(offloads)},
        {"sweep", 0, "", "also a table of batches and lengths: their peaks, and the largest batch that fits"},
        {"tp", 0, "N", "tensor-parallel ranks"},
        {"pp", 0, "N", "stages of the pipeline"},
        {"cp", 0, "N", "context-parallel ranks"},
        {"sequence-parallel", 0, "", "Megatron's, over the tensor-parallel ranks"},
        {"gradient-bucket-view", 0, "", "DDP's gradient_as_bucket_view=True"}}},
  };
  return groups;
}

// The named model or --config comes first, so that other options override it. The batch is chosen last, because it
// depends on everything else.
EstimateRequest parse_estimate_request(const Arguments& typed) {
  EstimateRequest request;
  Arguments arguments = typed;
  const std::string of_trainer = add_trainer_settings(arguments);
  ModelConfig config = find_config(arguments);
  request.model = config.shape;
  request.said.notes = std::move(config.notes);
  if (!of_trainer.empty()) request.said.notes.push_back(of_trainer);
  read_model(arguments, request.model);
  read_run(arguments, request.run);
  read_images(arguments, config, request.model, request.run);
  check(request.model, request.run);
  note_positions(request);
  note_latent_cache(request);
  read_card(arguments, request.said);
  const auto samples = read_option(arguments, "global-batch", size_limits::samples);
  const bool free_batch = samples && !request.run.batch && request.said.capacity;
  if (samples) split_samples(*samples, request.run);
  request.said.assumed = assume(request.model, request.run, !arguments.has("image"));
  if (free_batch) grow_batch(*request.said.capacity, request.model, request.run);
  request.said.model = (config.name.empty() ? "" : config.name + ": ") + model_words(request.model);
  request.said.run = run_words(request.model, request.run);
  request.said.parameters = count_parameters(request.model);
  if (request.model.experts) request.said.active_parameters = count_active_parameters(request.model);
  return request;
}

}  // namespace oomdoctor::cli
