// The terms of a pass: activations, attention scores, logits and the KV cache; and the other networks of an image
// generator.
#include <fmt/format.h>

#include <algorithm>

#include "estimate/budget_maker.h"

namespace oomdoctor {

using namespace model_memory;

double BudgetMaker::tokens(Inputs& in) const {
  return samples_of_pass(in) * (in.size(run_.sequence, "seq") + to_double(run_.image_tokens)) / context_;
}

std::string BudgetMaker::token_words() const {
  Inputs in;
  return fmt::format("{:.0f} × {} tokens{}", samples_of_pass(in), run_.sequence.value_or(0) + run_.image_tokens,
                     division_words(context_, "ranks"));
}

double BudgetMaker::layers_held(Inputs& in) const {
  const double layers = in.size(model_.layers, "layers") / pipeline_;
  if (stage_ != PipelineStage::first) return layers;
  return layers * std::min(pipeline_, run_.accumulation ? to_double(*run_.accumulation) : pipeline_);
}

double BudgetMaker::source_length(Inputs& in) const {
  if (model_.encoder->tokens > 0) return to_double(model_.encoder->tokens);
  return run_.source ? to_double(*run_.source) : in.size(run_.sequence, "seq");
}

double BudgetMaker::source_tokens(Inputs& in) const {
  return model_.encoder ? in.size(run_.batch, "batch") * source_length(in) / context_ : 0;
}

std::string BudgetMaker::source_words() const {
  Inputs in;
  return fmt::format("{} × {:.0f} tokens of the encoder{}", run_.batch.value_or(0), source_length(in),
                     division_words(context_, "ranks"));
}

bool BudgetMaker::source_follows_sequence() const { return model_.encoder->tokens == 0 && !run_.source; }

LayerMemory BudgetMaker::layer_memory(Inputs& in) const {
  in.size(model_.hidden, "hidden");
  if (model_.gated) in.size(model_.intermediate, "intermediate");
  return compute_layer_memory(model_, {number_bytes(in) / sixteen_bit, tensor_, run_.sequence_parallel, training_});
}

void BudgetMaker::add_stack(Inputs in, std::string_view id, std::string_view label, double layers, double layer,
                            double whole, double of_token, const std::string& words, bool with_sequence) {
  const auto term = [&](double bytes, std::string formula) {
    add(in,
        {id, label, to_bytes(bytes, activation_error * bytes), std::move(formula), Moment::pass, true, with_sequence});
  };
  if (!training_) return term(of_token * whole, fmt::format("one layer: {:.4g} bytes × {}", whole, words));
  if (in.choice(run_.checkpointing, "checkpointing") != Checkpointing::full)
    return term(of_token * layer * layers, fmt::format("{:.4g} bytes × {} × {:.0f} layers", layer, words, layers));
  const double input = checkpoint * number_bytes(in) / sixteen_bit / (run_.sequence_parallel ? tensor_ : 1);
  term(of_token * (input * layers + whole),
       fmt::format("({:.4g} bytes × {:.0f} layers + {:.4g} for one whole layer) × {}", input, layers, whole, words));
}

void BudgetMaker::add_activations() {
  for (const std::string_view part : model_.uncounted) budget_.missing.push_back({part, {}});
  if (is_unet()) return add_unet_activations();
  if (model_.images && !model_.images->denoises) {
    if (training_) budget_.missing.push_back({"activations", {}});
    return;
  }
  // No formula says how the stages of a pipeline share an encoder.
  if (model_.irregular || (model_.encoder && pipeline_ > 1)) return budget_.missing.push_back({"activations", {}});
  Inputs in;
  const double hidden_tokens = tokens(in) * in.size(model_.hidden, "hidden");
  const LayerMemory memory = layer_memory(in);
  const double layers = training_ ? layers_held(in) : 1;
  const auto words = [&](const std::string& of_tokens) {
    return fmt::format("{} × {} hidden", of_tokens, model_.hidden.value_or(0));
  };
  add_stack(in, "activations", model_.encoder ? "decoder's activations" : "activations", layers, memory.average,
            memory.largest(), hidden_tokens, words(token_words()), true);
  if (!model_.encoder) return;
  const double source = source_tokens(in) * to_double(model_.hidden.value_or(0));
  add_stack(in, "encoder_activations", "encoder's activations", to_double(model_.encoder->layers), memory.encoder,
            memory.encoder, source, words(source_words()), source_follows_sequence());
  const bool kept = training_ && in.choice(run_.checkpointing, "checkpointing") != Checkpointing::full;
  add_attended(in, kept ? layers : 1, memory.attended * source, memory.attended, words(source_words()));
}

UnetMemory BudgetMaker::unet_memory(Inputs& in) const {
  const double latents = to_double(run_.image_width) * to_double(run_.image_height) / latent_pixels;
  return compute_unet_memory(*model_.images->unet, latents, {number_bytes(in), run_.precision == Precision::autocast});
}

double BudgetMaker::samples_of_pass(Inputs& in) const {
  const bool guided = model_.images && model_.images->guided && run_.work == RunKind::generation;
  return in.size(run_.batch, "batch") * (guided ? 2 : 1);
}

std::string BudgetMaker::image_words(double images) const {
  return fmt::format("{:.0f} {} of {} × {} pixels", images, images == 1 ? "image" : "images", run_.image_width,
                     run_.image_height);
}

void BudgetMaker::add_unet_activations() {
  Inputs in;
  const UnetMemory unet = unet_memory(in);
  const double images = samples_of_pass(in);
  const auto term = [&](double bytes, const std::string& formula) {
    add(in, {"activations", "activations", to_bytes(images * bytes, activation_error * images * bytes),
             fmt::format("{} × {}", formula, image_words(images)), Moment::pass, true});
  };
  const auto size = [](double bytes) { return computed_bytes_text(bytes); };
  if (!training_) return term(unet.passing, size(unet.passing) + " in the largest block");
  if (in.choice(run_.checkpointing, "checkpointing") != Checkpointing::full)
    return term(unet.kept, fmt::format("{} in all {:.0f} blocks", size(unet.kept), unet.blocks));
  term(unet.inputs + unet.largest, fmt::format("({} of inputs of {:.0f} blocks + {} for one whole block)",
                                               size(unet.inputs), unet.blocks, size(unet.largest)));
}

void BudgetMaker::add_image_networks() {
  if (!model_.images || (training_ && run_.offload_models)) return;
  Inputs in;
  const double each = number_bytes(in), vae_each = model_.images->vae_fp32 ? fp32 : each;
  const auto term = [&](std::string_view id, std::string_view label, double bytes_each, i64 parameters, Moment moment) {
    add(in, {id, label, to_bytes(bytes_each * to_double(parameters)),
             fmt::format("{:.0f} bytes × {} parameters", bytes_each, count_words(to_double(parameters))),
             run_.offload_models ? moment : Moment::always});
  };
  term("text_encoders", "text encoders", each, model_.images->text_parameters, Moment::encode);
  term("vae", "VAE", vae_each, model_.images->vae_parameters, Moment::decode);
}

void BudgetMaker::add_image_coding() {
  if (!model_.images || run_.work == RunKind::evaluation) return;
  if (training_ ? run_.offload_models || !model_.images->denoises : run_.latents) return;
  Inputs in;
  const double each = model_.images->vae_fp32 ? fp32 : number_bytes(in);
  const double images = run_.sliced && !training_ ? 1 : in.size(run_.batch, "batch");
  const double tile = to_double(model_.images->tile) * to_double(model_.images->tile);
  const double whole = to_double(run_.image_width) * to_double(run_.image_height);
  const bool tiled = run_.tiled && !training_ && tile < whole;
  const double numbers = training_ ? encoder_numbers : decoder_numbers,
               bytes = numbers * each * images * (tiled ? tile : whole);
  const std::string words = tiled ? fmt::format("{:.0f} {} of {} × {} pixels", images, images == 1 ? "tile" : "tiles",
                                                model_.images->tile, model_.images->tile)
                                  : image_words(images);
  add(in,
      {training_ ? "encode" : "decode", training_ ? "VAE encode" : "VAE decode", to_bytes(bytes, decoder_error * bytes),
       fmt::format("one block at full resolution: {:.0f} bytes × {:.0f} numbers of a pixel × {}, or up to twice as "
                   "much with cuDNN's workspace",
                   each, numbers, words),
       training_ ? Moment::encode : Moment::decode, training_ || !run_.sliced});
}

void BudgetMaker::add_attended(const Inputs& in, double layers, double of_layer, double each,
                               const std::string& words) {
  if (run_.work == RunKind::generation) return;  // in the cache
  add(in,
      {"attended", "keys and values of the encoder", to_bytes(of_layer * layers, activation_error * of_layer * layers),
       fmt::format("{:.4g} bytes × {} × {:.0f} {} of the decoder", each, words, layers,
                   layers > 1 ? "layers" : "layer"),
       Moment::pass, true, source_follows_sequence()});
}

void BudgetMaker::add_scores() {
  if (run_.attention == Attention::flash) return;
  Inputs in;
  in.choice(run_.attention, "attention");
  if (is_unet()) {
    const UnetMemory unet = unet_memory(in);
    const bool kept = training_ && in.choice(run_.checkpointing, "checkpointing") == Checkpointing::none;
    const double each = scores * number_bytes(in) / sixteen_bit, images = samples_of_pass(in),
                 bytes = each * images * (kept ? unet.scores : unet.largest_scores);
    return add(in, {"scores", "attention scores", to_bytes(bytes, activation_error * bytes),
                    fmt::format("{:.0f} bytes × {} scores in {} × {}", each,
                                count_words(kept ? unet.scores : unet.largest_scores),
                                kept ? "all layers" : "the largest layer", image_words(images)),
                    Moment::pass, true});
  }
  const double length = in.size(run_.sequence, "seq") + to_double(run_.image_tokens);
  const double source = model_.encoder ? source_length(in) : 0;
  const double heads = in.size(model_.heads, "heads") / tensor_;
  const double each = scores * number_bytes(in) / sixteen_bit + scores_mask;
  const bool kept = training_ && in.choice(run_.checkpointing, "checkpointing") == Checkpointing::none;
  const auto count = [&](double layers) { return kept ? layers : 1; };
  const auto words = [&](const std::string& rows, const std::string& columns, double layers) {
    return fmt::format("{:.0f} bytes × {} × {} tokens × {:.0f} heads × {:.0f} {}", each, rows, columns, heads, layers,
                       layers > 1 ? "layers" : "layer");
  };
  const double layers = count(layers_held(in));
  double bytes = each * tokens(in) * (length + source) * heads * layers;
  std::string formula =
      words(token_words(),
            model_.encoder ? fmt::format("({:.0f} + {:.0f})", length, source) : fmt::format("{:.0f}", length), layers);
  if (model_.encoder) {
    const double encoder_layers = count(to_double(model_.encoder->layers));
    bytes += each * source_tokens(in) * source * heads * encoder_layers;
    formula += " + " + words(source_words(), fmt::format("{:.0f}", source), encoder_layers);
  }
  add(in, {"scores", "attention scores", to_bytes(bytes, activation_error * bytes), formula, Moment::pass, true, true});
}

void BudgetMaker::add_logits() {
  if (stage_ == PipelineStage::first || model_.patch > 0) return;
  Inputs in;
  const double positions = run_.work == RunKind::generation ? in.size(run_.batch, "batch") : tokens(in);
  const auto term = [&](double bytes, double slack, std::string formula) {
    add(in, {"logits", "logits and loss", to_bytes(bytes, slack), std::move(formula), Moment::pass, true,
             run_.work != RunKind::generation});
  };
  const Loss loss = training_ ? in.choice(run_.loss, "loss") : Loss::fused;
  if (loss == Loss::chunked) {
    const double hidden = in.size(model_.hidden, "hidden");
    return term(
        chunked_loss_per_hidden * positions * hidden, 0,
        fmt::format("one part: {:.0f} bytes × {} × {:.0f} hidden", chunked_loss_per_hidden, token_words(), hidden));
  }
  const double logits = positions * in.size(model_.vocabulary, "vocab") / tensor_;
  const double each = loss == Loss::plain ? plain_loss : number_bytes(in) + fused_loss_extra;
  const std::string count =
      run_.work == RunKind::generation ? fmt::format("{} tokens", run_.batch.value_or(0)) : token_words();
  term(each * logits, loss == Loss::plain ? plain_loss_error * logits : 0,
       fmt::format("{:.0f} bytes × {} × {} of the vocabulary{}", each, count, model_.vocabulary.value_or(0),
                   division_words(tensor_, "tensor-parallel ranks")));
}

double BudgetMaker::cache_bytes(Inputs& in) const {
  if (run_.cache == Quantisation::none) return number_bytes(in);
  return run_.cache == Quantisation::four_bit ? four_bit_cache : eight_bit_cache;
}

void BudgetMaker::add_cache() {
  if (run_.work != RunKind::generation || model_.images) return;
  Inputs in;
  const double heads = model_.kv_heads ? to_double(*model_.kv_heads) : in.size(model_.heads, "heads");
  const double size = model_.head_size
                          ? to_double(*model_.head_size)
                          : in.size(model_.hidden, "hidden") / std::max(in.size(model_.heads, "heads"), 1.0);
  double pair = 2 * size;  // a key and a value of one head
  std::string words = fmt::format("2 × {:.0f} numbers", size);
  if (const auto& latent = model_.latent) {
    pair = to_double(latent->key_size + latent->value_size) + to_double(latent->rotary);
    words = fmt::format("({} + {}) numbers", latent->key_size + latent->rotary, latent->value_size);
  }
  const double layers = in.size(model_.layers, "layers") / pipeline_, each = cache_bytes(in);
  const double here = std::max(heads / tensor_, std::min(heads, 1.0));  // a head is on at least one GPU
  const double all_tokens = tokens(in) + source_tokens(in);
  add(in,
      {"key_value_cache", "KV cache", to_bytes(each * layers * here * pair * all_tokens),
       fmt::format(
           "keys and values: {} × {:.4g} {} × {:.0f} layers × {:.0f} heads × {}{}", words, each < 1 ? 8 * each : each,
           each < 1   ? "bits"
           : each > 1 ? "bytes"
                      : "byte",
           layers, here, token_words(), model_.encoder ? fmt::format(" and {}", source_words()) : std::string()),
       Moment::pass, true, true});
}

}  // namespace oomdoctor
