// The position and the phase of the run: progress bars, plain step lines, and the announcements of training libraries.
//
// Bars and plain lines are fallbacks. Announcements are non-exclusive: the line may contain something else
// ("Evaluating: batch 3/40 | allocated 9.1 GiB"), and the memory on it must be read too. A bar may count anything
// ("1.16batch/s"). Its blocks or the usual unit of loops identify it.
#include "base/ascii.h"
#include "read/context.h"
#include "read/freeform.h"
#include "read/parser.h"

namespace oomdoctor::parsers::progress {

bool is_progress(const FreeformLine& printed) {
  return printed.calls || printed.items ||
         (printed.leads && !printed.evaluation && !printed.other_work && (printed.step || printed.epoch));
}

/// may_match: "train 40", not "train set" or "to train 3 models".
bool counts_training(std::string_view block, std::size_t at) {
  const std::string_view after = block.substr(at + std::string_view("train ").size(), 2);
  return !after.empty() && (is_digit(after[0]) || (after[0] == '[' && after.size() > 1 && is_digit(after[1])));
}

void train_loss(const Match& m, EventSink& sink) {
  sink.step({leading_integer(m[1]), m.has(2) ? std::optional(leading_integer(m[2])) : std::nullopt, {}});
}

void update(const Match& m, EventSink& sink) { sink.step({leading_integer(m[1]), {}, {}}); }

void round(const Match& m, EventSink& sink) { sink.step({leading_integer(m[1]), {}, {}}); }

void resumed(const Match&, EventSink& sink) {
  sink.remark("run/resumed");
  sink.remark("phase/checkpoint_load");
}

/// may_match: "loading" is common, but only a few lines with it are about the model.
bool loads_model(std::string_view block, std::size_t at) {
  const std::string_view after = block.substr(at + std::string_view("oading ").size(), 12);
  for (const std::string_view word :
       {"the ", "all ", "model", "weights", "tensors", "safetensors", "pretrained", "pipeline", "text enc"})
    if (after.starts_with(word)) return true;
  return false;
}

/// A launcher that restarts the job after a failure prints the attempt.
void attempt(const Match& m, EventSink& sink) {
  const std::string_view number = m.has(1) ? m[1] : m.has(2) ? m[2] : m[3];
  sink.remark("run/attempt", static_cast<double>(leading_integer(number)));
}

/// A mark alone may also be before a command in an advice: 1. With names before it, it is a prompt: 0.
void command(const Match& m, EventSink& sink) { sink.remark("run/command", m.has(1) ? 1 : 0); }

/// A message overwrites the bar on its line. The remainder of the bar has no description.
void emit_covered_bar(const Match& m, EventSink& sink) {
  sink.step({leading_integer(m[1]), leading_integer(m[2]), {}});
}

}  // namespace oomdoctor::parsers::progress
