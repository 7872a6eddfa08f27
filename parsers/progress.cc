// The position and the phase of the run: progress bars, plain step lines, and the announcements of training libraries.
//
// Bars and plain lines are fallbacks. Announcements are non-exclusive: the line may contain something else
// ("Evaluating: batch 3/40 | allocated 9.1 GiB"), and the memory on it must be read too. A bar may count anything
// ("1.16batch/s"). Its blocks or the usual unit of loops identify it.
#include "parse/context.h"
#include "parse/freeform.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

bool is_progress(const FreeformLine& printed) {
  return printed.leads && !printed.evaluation && !printed.other_work && (printed.step || printed.epoch);
}

consteval Pattern plain(std::string_view name, std::string_view anchor, std::string_view example,
                        bool (*quick_reject)(std::string_view, std::size_t)) {
  return checked(Pattern{.name = name,
                         .anchor = anchor,
                         .example = example,
                         .emit = emit_step,
                         .fallback = true,
                         .fold_case = true,
                         .accepts_parsed = is_progress,
                         .quick_reject = quick_reject});
}

void evaluation(const Match&, EventSink& sink) { sink.remark("phase/evaluation"); }
void training(const Match&, EventSink& sink) { sink.remark("phase/training"); }
void loading(const Match&, EventSink& sink) { sink.remark("phase/load"); }
void saving(const Match&, EventSink& sink) { sink.remark("phase/checkpoint_save"); }
void generating(const Match&, EventSink& sink) { sink.remark("phase/generation"); }
void completed(const Match&, EventSink& sink) { sink.remark("run/completed"); }
void resumed(const Match&, EventSink& sink) {
  sink.remark("run/resumed");
  sink.remark("phase/checkpoint_load");
}

/// quick_reject: "loading" is common, but only a few lines with it are about the model.
bool loads_model(std::string_view block, std::size_t at) {
  const std::string_view after = block.substr(at + std::string_view("oading ").size(), 12);
  for (const std::string_view word :
       {"the ", "all ", "model", "weights", "tensors", "safetensors", "pretrained", "pipeline", "text enc"})
    if (after.starts_with(word)) return true;
  return false;
}

/// A launcher that restarts the job after a failure prints the attempt.
void attempt(const Match& m, EventSink& sink) {
  sink.remark("run/attempt", static_cast<double>(leading_integer(m[1])));
}

using Emit = void (*)(const Match&, EventSink&);
consteval Pattern marker(std::string_view name, std::string_view anchor, std::string_view regex,
                         std::string_view example, Emit emit) {
  return checked(
      Pattern{.name = name, .anchor = anchor, .regex = regex, .example = example, .emit = emit, .non_exclusive = true});
}

/// A message overwrites the bar on its line. The remainder of the bar has no description.
void emit_covered_bar(const Match& m, EventSink& sink) {
  sink.step({leading_integer(m[1]), leading_integer(m[2]), {}});
}

consteval Pattern resuming(std::string_view name, std::string_view anchor, std::string_view example) {
  return marker(
      name, anchor,
      R"([Rr]esum(?:ing|ed) (?:training from |from (?:the )?(?:last )?(?:checkpoint|step|epoch|global step|iteration)))",
      example, resumed);
}

constexpr Pattern patterns[] = {
    plain("progress/bar", "it/s", " 12%|#2        | 12/100 [00:10<01:15,  1.16it/s, loss=0.31]", may_end_bar),
    plain("progress/slow_bar", "s/it", " 12%|#2        | 12/100 [00:30<03:45,  2.56s/it, loss=0.31]", may_end_bar),
    plain("progress/batch_bar", "batch/s", " 12%|#2        | 12/100 [00:10<01:15,  1.16batch/s, loss=0.31]",
          may_end_bar),
    plain("progress/slow_batch_bar", "s/batch", " 12%|#2        | 12/100 [00:30<03:45,  2.56s/batch, loss=0.31]",
          may_end_bar),
    plain("progress/blocks", "%|\xE2\x96", " 12%|\u2588\u258F        | 12/100 [00:10<01:15,  1.16img/s]", nullptr),
    checked(Pattern{.name = "progress/behind_message",
                    .anchor = "of memory",
                    .regex = R"(\bof memory\b[^|\r\n]{0,400}\| {0,6}(\d{1,9})/(\d{1,9}) \[\d{1,4}:\d\d(?::\d\d)?<)",
                    .captures = 2,
                    .example = "WARNING: out of memory in loss                 | 5/2538 [00:01<31:32,  1.34batch/s]",
                    .emit = emit_covered_bar,
                    .non_exclusive = true}),
    plain("progress/step", "step", "step 240: loss 2.1190, lr 1.0e-04", may_name_step),
    plain("progress/iteration", "iter", "iteration 12/1000", may_name_step),
    plain("progress/epoch", "epoch", "Epoch 3/10", may_name_step),
    marker("progress/running_evaluation", "***** Running ",
           R"(\*{5} Running (?:[Ee]valuation|[Pp]rediction|[Vv]alidation|[Tt]est))", "***** Running Evaluation *****",
           evaluation),
    marker("progress/running_training", "***** Running ", R"(\*{5} Running [Tt]raining)",
           "***** Running training *****", training),
    marker("progress/evaluating", "Evaluating",
           R"(^[^\r\n]{0,60}\bEvaluating(?::| (?:step|batch|epoch|the model|on )|\.\.\.| {0,3}$))",
           "Evaluating:  12%|#2   | 6/50 [00:02<00:15]", evaluation),
    marker("progress/validating", "Validati",
           R"(^[^\r\n]{0,60}\bValidat(?:ing|ion)(?:: {0,6}\d{1,3}%|:? {0,3}$| DataLoader \d|\.\.\.| [Ss]anity))",
           "Validation DataLoader 0:  12%|#2   | 6/50", evaluation),
    marker("progress/sanity", "Sanity Checking", R"(Sanity Checking(?: DataLoader \d{1,3})?:)",
           "Sanity Checking DataLoader 0:   0%|   | 0/2", evaluation),
    marker("progress/shards", "checkpoint shards", R"((?:Loading|Load) (?:[a-z]{2,12} )?checkpoint shards)",
           "Loading checkpoint shards:  33%|###   | 1/3 [00:04<00:08,  4.11s/it]", loading),
    checked(
        {.name = "progress/attempt",
         .anchor = "ttempt ",
         .regex =
             R"(\b[Aa]ttempt (\d{1,3})(?:/| of )\d{1,3}\b[^\r\n]{0,200}\b(?:torchrun|python3?|srun|launch|launching|command|deepspeed|accelerate)\b)",
         .captures = 1,
         .example = "[launcher] attempt 2/5: python train.py",
         .emit = attempt,
         .non_exclusive = true}),
    checked(
        {.name = "progress/loading",
         .anchor = "oading ",
         .regex =
             R"((?<!rror )(?<!iled )\b[Ll]oading (?:the |all )?(?:model|weights|tensors|safetensors|pretrained|pipeline|text encoder)\b(?! (?:config|card|info)))",
         .example = "load_tensors: loading model tensors, this can take a while",
         .emit = loading,
         .quick_reject = loads_model,
         .non_exclusive = true}),
    marker("progress/saving", "Saving model checkpoint", R"(Saving model checkpoint to)",
           "Saving model checkpoint to out/checkpoint-500", saving),
    marker("progress/saved_shard", "aving checkpoint", R"([Ss]aving checkpoint(?: shard)? (?:to |at step \d))",
           "INFO: saving checkpoint to out/step_500.pt", saving),
    marker("progress/megatron_saving", "saving checkpoint at iteration", R"(saving checkpoint at iteration {1,8}\d)",
           "saving checkpoint at iteration     500 to out/", saving),
    resuming("progress/resuming", "esuming ", "Resuming training from checkpoint out/checkpoint-500"),
    resuming("progress/resumed", "esumed ", "Resumed from checkpoint out/checkpoint-500"),
    marker("progress/continuing", "Continuing training from",
           R"(Continuing training from (?:checkpoint|epoch|global step))", "  Continuing training from global step 500",
           resumed),
    marker("progress/completed", "raining completed",
           R"(^[^\r\n]{0,80}\b[Tt]raining completed(?: in|\.|!| successfully| {0,3}$))",
           "Training completed. Do not forget to share your model on huggingface.co/models =)", completed),
    marker("progress/fit_stopped", "`Trainer.fit` stopped",
           R"(`Trainer\.fit` stopped: `max_(?:epochs|steps)=\d{1,9}` reached)",
           "`Trainer.fit` stopped: `max_epochs=3` reached.", completed),
    marker("progress/generating", "Generating:", R"(^[^\r\n]{0,40}\bGenerating: {0,6}\d{1,3}%)",
           "Generating:  12%|#2   | 6/50 [00:20<02:15]", generating),
};

}  // namespace

extern const Parser progress;
const Parser progress{.name = "progress",
                      .title = "progress bars, step lines and phases",
                      .source =
                          "tqdm: tqdm/std.py; transformers: trainer.py; Lightning: pytorch/callbacks/progress; "
                          "Megatron-LM: megatron/training/checkpointing.py; real logs",
                      .patterns = patterns};

}  // namespace oomdoctor::parsers
