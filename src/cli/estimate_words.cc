#include "cli/estimate_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "report/words.h"

namespace oomdoctor::cli {
namespace {

std::string parameter_words(const ModelShape& model, i64 parameters) {
  std::string text = count_words(to_double(parameters)) + " parameters";
  const auto active = count_active_parameters(model);
  if (model.experts && active)
    text += fmt::format(", {} of them active for each token", count_words(to_double(*active)));
  return text;
}

std::string expert_words(const Experts& experts) {
  std::string text = fmt::format("{} experts of {}, {} of them active", experts.count, experts.width, experts.active);
  if (experts.shared_width > 0) text += fmt::format(", {} shared", experts.shared_width);
  return text;
}

std::string token_words(const ModelShape& model, const RunShape& run) {
  const std::string tokens = run.sequence ? std::to_string(*run.sequence + run.image_tokens) : "an unknown number of";
  if (!model.encoder) return tokens + " tokens";
  const std::string source = model.encoder->tokens > 0 ? std::to_string(model.encoder->tokens)
                             : run.source              ? std::to_string(*run.source)
                                                       : tokens;
  return fmt::format("{} tokens of the encoder and {} tokens of the decoder", source, tokens);
}

}  // namespace

std::string model_words(const ModelShape& model) {
  std::vector<std::string> parts;
  if (const auto parameters = count_parameters(model)) parts.push_back(parameter_words(model, *parameters));
  const auto add = [&](const std::optional<i64>& size, const char* what) {
    if (size) parts.push_back(fmt::format("{} {}", *size, what));
  };
  if (model.encoder) parts.push_back(fmt::format("{} encoder layers", model.encoder->layers));
  if (model.images && model.images->unet) {
    std::vector<i64> channels;
    for (const UnetLevel& level : model.images->unet->levels) channels.push_back(level.channels);
    parts.push_back(fmt::format("UNet of {} channels", fmt::join(channels, ", ")));
  }
  add(model.layers, model.encoder ? "decoder layers" : "layers");
  add(model.hidden, "hidden");
  add(model.heads, "heads");
  add(model.kv_heads, "KV heads");
  if (!model.experts || model.experts->dense_layers > 0)
    add(model.intermediate, model.gated ? "intermediate with a gate" : "intermediate");
  if (model.experts) parts.push_back(expert_words(*model.experts));
  add(model.vocabulary, "of vocabulary");
  return parts.empty() ? "a model of unknown size" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string run_words(const ModelShape& model, const RunShape& run) {
  std::string text = run.work == RunKind::training     ? "training"
                     : run.work == RunKind::evaluation ? "evaluation"
                                                       : "generation";
  if (model.images) {
    text +=
        fmt::format(", {} of {} × {} pixels", plural(*run.batch, "image", "images"), run.image_width, run.image_height);
    if (run.sequence.value_or(0) > 0) text += fmt::format(", {} tokens of text", *run.sequence);
  } else if (model.patch > 0 && model.irregular) {
    text += ", " + plural(*run.batch, "image", "images");
  } else {
    text += fmt::format(", {} × {}", *run.batch, token_words(model, run));
    if (run.image_tokens > 0) text += fmt::format(", {} of them of images", run.image_tokens);
  }
  text += " in a pass";
  const i64 ranks = run.data_parallel.value_or(1);
  if (run.accumulation)
    text +=
        fmt::format(", {} {} on {}: {} samples a step", *run.accumulation, *run.accumulation == 1 ? "pass" : "passes",
                    plural(ranks, "rank", "ranks"), *run.batch * *run.accumulation * ranks);
  return text;
}

}  // namespace oomdoctor::cli
