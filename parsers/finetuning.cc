// litgpt's last line, and Unsloth's line before the training. litgpt's "GB" is 10^9 bytes, Unsloth's 2^30.
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double gibibyte = static_cast<double>(GiB);

void emit(std::string_view number, Metric metric, double unit, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(number, at);
  if (!value) return;
  Reading r;
  r.metric = metric;
  r.kind = SeriesKind::running_maximum;
  r.value = value->value * unit;
  r.quantum = unit;
  for (int i = 0; i < value->decimals; ++i) r.quantum /= 10;
  r.unit = "GB";
  sink.reading(r);
}

void litgpt(const Match& m, EventSink& sink) { emit(m[1], Metric::max_allocated, 1e9, sink); }
void unsloth(const Match& m, EventSink& sink) { emit(m[1], Metric::max_reserved, gibibyte, sink); }

constexpr Pattern patterns[] = {
    // The regex requires the whole line apart from a launcher's tag, with two decimals. Users print the same words
    // after a step and mean 2^30 bytes.
    checked(
        {.name = "finetuning/litgpt",
         .anchor = "Memory used: ",
         .regex =
             R"(^(?:\[(?:rank|default)\d{1,5}\]: ?| ?\d{1,5}: |\[\d{1,4},\d{1,5}\]<std(?:out|err)>: ?)?Memory used: (\d{1,4}\.\d\d) GB$)",
         .captures = 1,
         .example = "Memory used: 21.34 GB",
         .emit = litgpt}),
    // The counter before training is a maximum as well.
    checked({.name = "finetuning/unsloth_before",
             .anchor = " GB of memory reserved.",
             .regex = R"((?:^|[ :>\]])(\d{1,4}(?:\.\d{1,3})?) GB of memory reserved\.)",
             .captures = 1,
             .example = "6.104 GB of memory reserved.",
             .emit = unsloth}),
};

}  // namespace

extern const Parser finetuning;
const Parser finetuning{.name = "finetuning",
                        .title = "Unsloth, litgpt, torchtune, LLaMA-Factory and others",
                        .source =
                            "Unsloth: notebooks; litgpt: litgpt/finetune; llama-recipes: "
                            "src/llama_recipes/utils/memory_utils.py; torchtune: torchtune/training/memory.py; "
                            "LLaMA-Factory: src/llamafactory/train/callbacks.py; modded-nanogpt: train_gpt.py",
                        .patterns = patterns};

}  // namespace oomdoctor::parsers
