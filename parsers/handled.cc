// Messages which show that the program continued: it reduced the batch, skipped the batch, or used another method.
//
// Most of them are near the allocator's own message and only mark that failure as handled (remarks handled/…). If the
// tool swallowed the allocator's message, this message is the only report: an Oom with `caught`. In both cases the run
// survived.
#include <algorithm>
#include <array>

#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

/// True if the allocator's own message is on the notice's line or up to 14 lines above it. Programs print at most that
/// many lines between the two. The scan stops at an earlier notice in the same words, because the message belongs to
/// that notice.
bool is_already_reported(const Match& m) {
  static constexpr std::array<std::string_view, 3> messages{"Tried to allocate", "would exceed allowed memory",
                                                            "THCudaCheck FAIL"};
  const auto has_message = [](std::string_view text) {
    return std::any_of(messages.begin(), messages.end(), [&](auto word) { return text.find(word) != text.npos; });
  };
  constexpr std::size_t max_notice_length = 20;
  const std::string_view words = m.text.substr(m.captures.begin, max_notice_length);
  const std::string_view notice = words.substr(0, words.find_first_of("0123456789"));
  bool found = has_message(m.text);
  if (found) return true;
  m.cursor.backward(14, [&](const Line& line) {
    found = has_message(line.text);
    return !found && line.text.find(notice) == line.text.npos;
  });
  return found;
}

/// If a logger writes the notice with its exception, the allocator's message is the last line of the traceback below.
std::optional<Line> find_own_message(const Cursor& cursor) {
  constexpr int max_traceback_lines = 120;
  if (!find_after(cursor, 1, "Traceback (most recent call last)")) return std::nullopt;
  return find_after(cursor, max_traceback_lines, "Tried to allocate");
}

/// Marks a failure as handled. Emits the failure itself only if the log does not contain its own message.
void emit_caught(const Match& m, EventSink& sink, std::string_view format, std::string_view remark,
                 std::string_view device = {}, std::optional<double> number = {}) {
  if (is_program_text(m.cursor.line().body())) return;
  Origin where;
  if (!device.empty()) where.device = static_cast<int>(leading_integer(device));
  sink.at(where);
  const auto own = find_own_message(m.cursor);
  if (own) sink.claim_through(own->number);
  sink.remark(remark, number);
  if (own || is_already_reported(m)) return;
  Oom oom;
  oom.framework = "pytorch";
  oom.message_format = std::string(format);
  oom.caught = true;
  sink.oom(std::move(oom));
}

void smaller(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body()))
    sink.remark("handled/smaller_batch", static_cast<double>(leading_integer(m[1])));
}
void lightning(const Match& m, EventSink& sink) {
  emit_caught(m, sink, "lightning-batch-size", "handled/smaller_batch", {}, static_cast<double>(leading_integer(m[1])));
}
void skipped(const Match&, EventSink& sink) { sink.remark("handled/skipped"); }
void non_fatal(const Match&, EventSink& sink) { sink.remark("handled/non_fatal"); }

void reduced(const Match& m, EventSink& sink) { emit_caught(m, sink, "ultralytics-batch", "handled/smaller_batch"); }
void assigner(const Match& m, EventSink& sink) { emit_caught(m, sink, "ultralytics-assigner", "handled/fallback"); }
void fairseq(const Match& m, EventSink& sink) {
  emit_caught(m, sink, "fairseq", "handled/skipped", m.has(1) ? m[1] : std::string_view{});
}
void composer(const Match& m, EventSink& sink) { emit_caught(m, sink, "composer", "handled/smaller_batch"); }
void detectron(const Match& m, EventSink& sink) { emit_caught(m, sink, "detectron2", "handled/fallback"); }
void comfyui(const Match& m, EventSink& sink) { emit_caught(m, sink, "comfyui", "handled/fallback"); }
void skips(const Match& m, EventSink& sink) { emit_caught(m, sink, "skipped", "handled/skipped"); }
void retries(const Match& m, EventSink& sink) { emit_caught(m, sink, "retried", "handled/retried"); }

/// fairseq prints the exception before it decides what to do. The run continued if fairseq announces that below or
/// directly above. Memory summaries of 40 lines per device may come in between.
void fairseq_exception(const Match& m, EventSink& sink) {
  static constexpr int max_summary_lines = 400;
  if (find_after(m.cursor, max_summary_lines, "attempting to recover from OOM") ||
      find_before(m.cursor, 6, "attempting to recover from OOM") ||
      find_after(m.cursor, max_summary_lines, "skipping batch") ||
      find_after(m.cursor, max_summary_lines, "retrying batch"))
    sink.remark("handled/skipped");
}

/// This line ends the text of the exception. A traceback below it shows that the process failed anyway.
void fairseq_skipping(const Match& m, EventSink& sink) {
  if (find_before(m.cursor, 2, "ran out of memory with exception") && !find_after(m.cursor, 2, "Traceback (most"))
    sink.remark("handled/skipped");
}

void preempted(const Match&, EventSink& sink) {
  Oom oom;
  oom.kind = OomKind::pool;
  oom.agent = Agent::serving;
  oom.framework = "vllm";
  oom.message_format = "vllm-preemption";
  oom.caught = true;
  sink.oom(std::move(oom));
}

void retracted(const Match&, EventSink& sink) {
  Oom oom;
  oom.kind = OomKind::pool;
  oom.agent = Agent::serving;
  oom.framework = "sglang";
  oom.message_format = "sglang-retract";
  oom.caught = true;
  sink.oom(std::move(oom));
}

/// A search continues with its next trial: the earlier failure was one of its trials.
void next_trial(const Match&, EventSink& sink) { sink.remark("run/went_on"); }

constexpr Pattern patterns[] = {
    checked({.name = "handled/accelerate",
             .anchor = "Decreasing batch size",
             .regex = R"(Decreasing batch size to: (\d{1,7})\b)",
             .captures = 1,
             .example = "Decreasing batch size to: 8.",
             .emit = smaller,
             .source = "accelerate: src/accelerate/utils/memory.py"}),
    checked(
        {.name = "handled/trying",
         .anchor = "batch size",
         .regex =
             R"((?:^|[\]:] )(?:Trying batch size:? |Determined [Ll]argest batch size: |Finished batch size finder, will continue with full run using batch size )(\d{1,7})\b)",
         .captures = 1,
         .example = "Determined largest batch size: 16",
         .emit = smaller,
         .source = "lm-evaluation-harness: lm_eval/models/huggingface.py"}),
    checked({.name = "handled/lightning",
             .anchor = "trying batch size",
             .regex = R"(Batch size \d{1,7} failed, trying batch size (\d{1,7}))",
             .captures = 1,
             .example = "Batch size 64 failed, trying batch size 32",
             .emit = lightning,
             .source = "lightning: src/lightning/pytorch/tuner/batch_size_scaling.py"}),
    checked({.name = "handled/autobatch",
             .anchor = "AutoBatch: ",
             .regex = R"(AutoBatch: Using batch-size (\d{1,7}) for )",
             .captures = 1,
             .example = "AutoBatch: Using batch-size 15 for CUDA:0 12.59G/22.03G (57%)",
             .emit = smaller,
             .source = "ultralytics: ultralytics/utils/autobatch.py"}),
    checked({.name = "handled/ultralytics_batch",
             .anchor = "out of memory with batch",
             .regex = R"(CUDA out of memory with batch=\d{1,6}\. Reducing to batch=\d{1,6} and retrying)",
             .example = "WARNING: CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).",
             .emit = reduced,
             .source = "ultralytics: ultralytics/engine/trainer.py"}),
    checked({.name = "handled/ultralytics_assigner",
             .anchor = "TaskAlignedAssigner",
             .regex = R"(CUDA OutOfMemoryError in (?:Rotated)?TaskAlignedAssigner, using CPU)",
             .example = "WARNING: CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU",
             .emit = assigner,
             .source = "ultralytics: ultralytics/utils/tal.py"}),
    checked(
        {.name = "handled/fairseq_batch",
         .anchor = "ran out of memory",
         .regex =
             R"(WARNING: ran out of memory(?: on GPU #(\d{1,3})| in validation step| with exception[^\r\n]{0,200})?, (?:skipping|retrying) (?:batch|step|update))",
         .captures = 1,
         .example = "| WARNING: ran out of memory on GPU #2, skipping batch",
         .emit = fairseq,
         .source = "fairseq: fairseq/trainer.py"}),
    checked({.name = "handled/fairseq_recover",
             .anchor = "recover from OOM",
             .regex = R"(attempting to recover from OOM in (?:forward|backward|validation))",
             .example = "| WARNING: attempting to recover from OOM in forward/backward pass",
             .emit = skipped,
             .source = "fairseq: fairseq/trainer.py"}),
    checked({.name = "handled/fairseq_all",
             .anchor = "OOM in all workers",
             .regex = R"(OOM in all workers, skipping update)",
             .example = "| WARNING: OOM in all workers, skipping update",
             .emit = skipped,
             .source = "fairseq: fairseq/trainer.py"}),
    checked(
        {.name = "handled/fairseq_exception",
         .anchor = "OOM: Ran out",
         .regex = R"(OOM: Ran out of memory with exception: )",
         .example =
             "| OOM: Ran out of memory with exception: CUDA out of memory.\n| WARNING: attempting to recover from OOM",
         .emit = fairseq_exception,
         .source = "fairseq: fairseq/trainer.py"}),
    checked({.name = "handled/fairseq_skipping",
             .anchor = "Skipping batch",
             .regex = R"(^ Skipping batch$)",
             .example = "| WARNING: ran out of memory with exception: no room;\n Skipping batch",
             .emit = fairseq_skipping,
             .source = "fairseq: fairseq/trainer.py"}),
    checked(
        {.name = "handled/composer",
         .anchor = "out of memory detected",
         .regex =
             R"(CUDA out of memory detected\. (?:Train microbatch size will be decreased from|Gradient Accumulation increased from) [\d.]{1,8} -> )",
         .example = "RuntimeWarning: CUDA out of memory detected. Train microbatch size will be decreased from 8 -> 4.",
         .emit = composer,
         .source = "composer: composer/trainer/trainer.py"}),
    checked({.name = "handled/detectron2",
             .anchor = "due to CUDA OOM",
             .regex = R"(Attempting to copy inputs(?: of [^\r\n]{0,160})? to (?:CPU|FP16|cpu|fp16) due to CUDA OOM)",
             .example = "Attempting to copy inputs of <function pairwise_iou at 0x7f3a> to CPU due to CUDA OOM",
             .emit = detectron,
             .source = "detectron2: detectron2/utils/memory.py"}),
    checked({.name = "handled/comfyui",
             .anchor = "Ran out of memory when",
             .regex = R"(Ran out of memory when regular VAE (?:decoding|encoding), retrying with tiled)",
             .example = "Warning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.",
             .emit = comfyui,
             .source = "ComfyUI: comfy/sd.py"}),
    checked({.name = "handled/non_fatal",
             .anchor = "non-fatal",
             .regex = R"(FAILED non-fatal(?:ly)?\b)",
             .example = "[eval:validation @ep5] FAILED non-fatally (KeyError: 'x')",
             .emit = non_fatal}),
    checked(
        {.name = "handled/skips",
         .anchor = "skip",
         .regex =
             R"((?:out of memory|OOM|OutOfMemoryError)\b[^\r\n]{0,80}[,;:.\-] {0,2}(?:[Ss]kipping|skipped) (?:this |the |current )?(?:batch|update|step|sample|iteration))",
         .example = "step 1841: CUDA out of memory - skipping this batch",
         .emit = skips,
         .fallback = true}),
    checked({.name = "handled/retries",
             .anchor = "retrying",
             .regex = R"((?:out of memory|OOM|OutOfMemoryError)\b[^\r\n]{0,60}[,;:.\-] {0,2}retrying\b)",
             .example = "OOM at batch 12, retrying with half the batch",
             .emit = retries,
             .fallback = true}),
    checked({.name = "handled/next_trial",
             .anchor = "finished with value",
             .regex = R"(Trial \d{1,7} finished with values?:)",
             .example = "[I 2025-01-30 20:08:03,200] Trial 4 finished with value: 0.73 and parameters: {'width': 768}.",
             .emit = next_trial,
             .source = "optuna: optuna/study/study.py"}),
    checked({.name = "handled/vllm_preemption",
             .anchor = "PreemptionMode.",
             .second_anchor = "enough KV cache",
             .regex = R"(ispreemptedbyPreemptionMode\.(?:RECOMPUTE|SWAP)modebecausethereisnotenoughKVcachespace)",
             .reach = Reach::message,
             .example = "WARNING 05-09 00:49:33 scheduler.py:1057] Sequence group 0 is preempted by "
                        "PreemptionMode.RECOMPUTE mode because "
                        "there is not enough KV cache space.",
             .emit = preempted,
             .source = "vllm: vllm/core/scheduler.py"}),
    checked(
        {.name = "handled/sglang_retract",
         .anchor = "#retracted_reqs",
         .regex =
             R"((?:Decode out of memory happened|KV cache pool is full\. Retract requests)\. #retracted_reqs: \d{1,6})",
         .example = "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.61",
         .emit = retracted,
         .source = "sglang: python/sglang/srt/managers/scheduler.py"}),
};

}  // namespace

extern const Parser handled;
const Parser handled{.name = "handled",
                     .title = "Failures that the program survived",
                     .source = "users' training loops: real logs",
                     .patterns = patterns};

}  // namespace oomdoctor::parsers
