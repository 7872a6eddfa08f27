// The trained model and how its states are distributed: numbers of parameters, adapters, FSDP, ZeRO stages in a
// configuration.
#include <cmath>
#include <string>

#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

/// Converts "1,724,915,725", or "124.44" with "M", to digits without commas.
std::string count_text(std::string_view number, std::string_view scale = {}) {
  std::size_t at = 0;
  const auto n = read_number(number, at);
  if (!n) return {};
  const double factor = scale == "K" ? 1e3 : scale == "M" ? 1e6 : scale == "B" ? 1e9 : 1;
  return std::to_string(whole_number(std::round(n->value * factor)));
}

void trainable_and_all(const Match& m, EventSink& sink) {
  sink.setting("trainable_parameters", count_text(m[1]));
  sink.setting("parameters", count_text(m[2]));
}

void trainable(const Match& m, EventSink& sink) { sink.setting("trainable_parameters", count_text(m[1])); }

void all(const Match& m, EventSink& sink) {
  sink.setting("parameters", count_text(m[1], m.has(2) ? m[2] : std::string_view{}));
}

void lightning(const Match& m, EventSink& sink) {
  sink.setting(m[3] == "Trainable" ? "trainable_parameters" : "parameters", count_text(m[1], m[2]));
}

void batch_per_device(const Match& m, EventSink& sink) { sink.setting("batch_size", m[1]); }
void accumulation(const Match& m, EventSink& sink) { sink.setting("accumulation", m[1]); }
void eval_batch(const Match& m, EventSink& sink) { sink.setting("eval_batch_size", m[1]); }
void lora(const Match&, EventSink& sink) { sink.setting("lora", "true"); }
void fsdp(const Match&, EventSink& sink) { sink.setting("fsdp", "true"); }
void zero_stage(const Match& m, EventSink& sink) { sink.setting("zero_stage", m[1]); }

constexpr Pattern patterns[] = {
    checked({.name = "model/trainable_and_all",
             .anchor = "trainable params: ",
             .regex = R"(trainable params: (\d[\d,]{0,18}) {0,2}\|\| all params: (\d[\d,]{0,18}))",
             .captures = 2,
             .example = "trainable params: 4,194,304 || all params: 6,742,609,920 || trainable%: 0.0622",
             .emit = trainable_and_all,
             .non_exclusive = true,
             .source = "peft: src/peft/peft_model.py"}),
    checked({.name = "model/trainable",
             .anchor = "umber of trainable parameters",
             .regex = R"([Nn]umber of trainable parameters {0,2}[:=] {0,2}(\d[\d,]{0,18}))",
             .captures = 1,
             .example = "  Number of trainable parameters = 124,439,808",
             .emit = trainable,
             .non_exclusive = true,
             .source = "transformers: src/transformers/trainer.py"}),
    checked({.name = "model/parameters",
             .anchor = "umber of parameters",
             .regex = R"([Nn]umber of parameters:? {0,2}=? {0,2}(\d[\d,]{0,18}(?:\.\d{1,4})?) {0,1}([KMB]\b)?)",
             .captures = 2,
             .example = "number of parameters: 124.44M",
             .emit = all,
             .non_exclusive = true,
             .source = "nanoGPT: model.py"}),
    checked({.name = "model/lightning",
             .anchor = " params",
             .regex = R"(^ {0,3}(\d{1,4}(?:\.\d)?) {1,4}([KMB]) {2,8}(Trainable|Total) params$)",
             .captures = 3,
             .example = "124 M     Trainable params",
             .emit = lightning,
             .non_exclusive = true,
             .source = "lightning: src/lightning/pytorch/utilities/model_summary/model_summary.py"}),
    checked({.name = "model/batch_per_device",
             .anchor = "Instantaneous batch size per device",
             .regex = R"(Instantaneous batch size per device {0,2}= {0,2}(\d{1,7})\b)",
             .captures = 1,
             .example = "  Instantaneous batch size per device = 8",
             .emit = batch_per_device,
             .non_exclusive = true,
             .source = "transformers: src/transformers/trainer.py"}),
    checked({.name = "model/accumulation",
             .anchor = "Gradient Accumulation steps",
             .regex = R"(Gradient Accumulation steps {0,2}= {0,2}(\d{1,7})\b)",
             .captures = 1,
             .example = "  Gradient Accumulation steps = 4",
             .emit = accumulation,
             .non_exclusive = true,
             .source = "transformers: src/transformers/trainer.py"}),
    checked({.name = "model/evaluation_batch",
             .anchor = "  Batch size = ",
             .regex = R"(^[^\r\n]{0,80} {2}Batch size = (\d{1,7})$)",
             .captures = 1,
             .example = "  Batch size = 8",
             .emit = eval_batch,
             .non_exclusive = true,
             .source = "transformers: src/transformers/trainer.py"}),
    checked(
        {.name = "model/lora_config",
         .anchor = "LoraConfig(",
         .regex = R"(LoraConfig\([^\r\n]{0,400}?\br=\d{1,4})",
         .example = "LoraConfig(peft_type='LORA', task_type='CAUSAL_LM', inference_mode=False, r=16, lora_alpha=32)",
         .emit = lora,
         .non_exclusive = true,
         .source = "peft: src/peft/tuners/lora/config.py"}),
    checked({.name = "model/lora_rank",
             .anchor = "lora_r",
             .regex = R"(\blora_r(?:ank)?['"]? {0,2}[:=] {0,2}[1-9]\d{0,3}\b)",
             .example = "lora_r: 16",
             .emit = lora,
             .non_exclusive = true,
             .source = "configurations as trainers print them: real logs"}),
    checked(
        {.name = "model/fsdp_option",
         .anchor = "fsdp",
         .regex =
             R"((?<![\w])fsdp['"]?(?: {0,2}[:=] {0,2}| )['"\[]{0,2}(?:<FSDPOption\.\w{1,20}: ')?(?:full_shard|shard_grad_op|hybrid_shard))",
         .example = "fsdp='full_shard auto_wrap',",
         .emit = fsdp,
         .non_exclusive = true,
         .source = "transformers: src/transformers/training_args.py"}),
    checked({.name = "model/fsdp_module",
             .anchor = "FullyShardedDataParallel(",
             .regex = R"(^[ ()\w.]{0,40}FullyShardedDataParallel\($)",
             .example = "FullyShardedDataParallel(",
             .emit = fsdp,
             .non_exclusive = true,
             .source = "torch: torch/distributed/fsdp/fully_sharded_data_parallel.py"}),
    checked({.name = "model/fsdp_launcher",
             .anchor = "istributed_type",
             .regex = R"(distributed_type['"]? {0,2}[:=] {0,2}['"]?(?:DistributedType\.)?FSDP)",
             .example = "distributed_type: FSDP",
             .emit = fsdp,
             .non_exclusive = true,
             .source = "accelerate: its configuration file"}),
    checked(
        {.name = "model/zero_stage",
         .anchor = "zero_optimization",
         .regex =
             R"(['"]?zero_optimization['"]?[:=]\{(?:['"]\w{2,40}['"]:[\w+."'-]{1,30},){0,6}['"]stage['"]:([0-3])\b)",
         .captures = 1,
         .reach = Reach::message,
         .example = R"("zero_optimization": {"stage": 3, "overlap_comm": true})",
         .emit = zero_stage,
         .non_exclusive = true,
         .source = "deepspeed: deepspeed/runtime/config.py"}),
};

}  // namespace

extern const Parser model;
const Parser model{
    .name = "model", .title = "size of the model and how it is spread", .source = "real logs", .patterns = patterns};

}  // namespace oomdoctor::parsers
