// Programs that fine-tune language models and print a memory summary at the end of a run or an epoch: Unsloth, litgpt,
// llama-recipes, torchtune, LLaMA-Factory, modded-nanogpt.
//
// litgpt's "GB" is 10^9 bytes; the other programs' "GB" is 2^30 bytes.
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double gibibyte = static_cast<double>(GiB), mebibyte = static_cast<double>(MiB);

constexpr LineFormat gauges[] = {
    checked(LineFormat{.name = "finetuning/unsloth_peak",
                       .anchor = "Peak reserved memory = ",
                       .form = "Peak reserved memory = {max_reserved} GB",
                       .unit = gibibyte,
                       .unit_name = "GB",
                       .example = "Peak reserved memory = 17.412 GB."}),
    checked(LineFormat{.name = "finetuning/litgpt_table",
                       .anchor = "| - Memory Used",
                       .form = "| - Memory Used : {max_allocated} GB",
                       .unit = 1e9,
                       .unit_name = "GB",
                       .example = "| - Memory Used               : 7.42 GB"}),
    checked(LineFormat{.name = "finetuning/llama_recipes_allocated",
                       .anchor = " memory allocated was ",
                       .form = "Max <CUDA><XPU> memory allocated was {max_allocated} GB",
                       .unit = gibibyte,
                       .unit_name = "GB",
                       .maxima = SeriesKind::reset_maximum,
                       .example = "Max CUDA memory allocated was 27 GB"}),
    checked(LineFormat{.name = "finetuning/llama_recipes_reserved",
                       .anchor = " memory reserved was ",
                       .form = "Max <CUDA><XPU> memory reserved was {max_reserved} GB",
                       .unit = gibibyte,
                       .unit_name = "GB",
                       .maxima = SeriesKind::reset_maximum,
                       .example = "Max CUDA memory reserved was 33 GB"}),
    checked(LineFormat{.name = "finetuning/llama_recipes_active",
                       .anchor = "Peak active ",
                       .form = "Peak active <CUDA><XPU> memory was {active} GB",
                       .unit = gibibyte,
                       .unit_name = "GB",
                       .current = SeriesKind::reset_maximum,
                       .example = "Peak active CUDA memory was 29 GB"}),
    checked(LineFormat{.name = "finetuning/torchtune_disk",
                       .anchor = "peak_memory_active:",
                       .form = "Step {step} |~peak_memory_active:{active} peak_memory_alloc:{max_allocated} "
                               "peak_memory_reserved:{max_reserved}",
                       .unit = gibibyte,
                       .unit_name = "",
                       .maxima = SeriesKind::reset_maximum,
                       .current = SeriesKind::reset_maximum,
                       .example = "Step 7 | lr:2e-05 tokens_per_second_per_gpu:901.2 peak_memory_active:41.2207 "
                                  "peak_memory_alloc:40.9113 peak_memory_reserved:46.1250 "}),
    checked(LineFormat{.name = "finetuning/torchtune_active",
                       .anchor = "GPU peak memory active: ",
                       .form = "GPU peak memory active: {active} Gi",
                       .unit = gibibyte,
                       .unit_name = "GiB",
                       .current = SeriesKind::reset_maximum,
                       .example = "\tGPU peak memory active: 15.13 GiB",
                       .label = "memory stats"}),
    checked(LineFormat{.name = "finetuning/torchtune_allocated",
                       .anchor = "GPU peak memory alloc",
                       .form = "GPU peak memory alloc<ation>: {max_allocated} Gi",
                       .unit = gibibyte,
                       .unit_name = "GiB",
                       .maxima = SeriesKind::reset_maximum,
                       .example = "\tGPU peak memory alloc: 15.11 GiB",
                       .label = "memory stats"}),
    checked(LineFormat{.name = "finetuning/torchtune_reserved",
                       .anchor = "GPU peak memory reserved: ",
                       .form = "GPU peak memory reserved: {max_reserved} Gi",
                       .unit = gibibyte,
                       .unit_name = "GiB",
                       .maxima = SeriesKind::reset_maximum,
                       .example = "\tGPU peak memory reserved: 16.02 GiB",
                       .label = "memory stats"}),
    checked(LineFormat{
        .name = "finetuning/llama_factory",
        .anchor = "\"vram_allocated\": ",
        .form = "\"current_steps\": {step},~\"vram_allocated\": {max_allocated}, \"vram_reserved\": {max_reserved}",
        .unit = gibibyte,
        .unit_name = "",
        .example = R"({"current_steps": 20, "total_steps": 300, "lr": 4e-05, "elapsed_time": "0:01:10", )"
                   R"("throughput": 2310.4, "vram_allocated": 18.21, "vram_reserved": 21.07})"}),
    checked(LineFormat{.name = "finetuning/nanogpt",
                       .anchor = "peak memory allocated: ",
                       .form = "peak memory allocated: {max_allocated} MiB reserved: {max_reserved} MiB",
                       .unit = mebibyte,
                       .unit_name = "MiB",
                       .example = "peak memory allocated: 30211 MiB reserved: 41876 MiB"}),
    checked(LineFormat{.name = "finetuning/nanogpt_old",
                       .anchor = "peak memory consumption: ",
                       .form = "peak memory consumption: {max_allocated} MiB",
                       .unit = mebibyte,
                       .unit_name = "MiB",
                       .example = "peak memory consumption: 30211 MiB"}),
};

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
                        .patterns = patterns,
                        .gauges = gauges};

}  // namespace oomdoctor::parsers
