// oomdoctor estimate: the memory need of a run before there is a log.
#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/estimate_limits.h"
#include "cli/estimate_options.h"
#include "facts/gpu_models.h"
#include "render/screens.h"
#include "serialize/json.h"

namespace oomdoctor::cli {
namespace {

const Term* find_optimizer_term(const Budget& budget) {
  for (const Term& term : budget.terms)
    if (term.id == "optimizer") return &term;
  return nullptr;
}

/// Adds a note on the optimizer's size with fp32 master weights, which most trainers keep. A run with Adam entirely in
/// 16 bits takes half of their memory.
void note_mixed_precision(const EstimateRequest& request, MemoryEstimate& estimate) {
  if (request.run.precision != Precision::pure_16bit || request.run.optimizer != Optimizer::adam) return;
  RunShape usual = request.run;
  usual.precision = Precision::mixed;
  const Budget other = compute_budget(request.model, usual);
  const Term *pure = find_optimizer_term(estimate.budget), *mixed = find_optimizer_term(other);
  if (pure == nullptr || mixed == nullptr) return;
  estimate.notes.push_back(
      fmt::format("with fp32 master weights, as mixed precision has it (--precision mixed), the "
                  "optimizer would take {} instead of {}",
                  computed_bytes_text(mixed->bytes.count), computed_bytes_text(pure->bytes.count)));
}

/// The budget, and then either the GPUs that it fits, or, with a given capacity, the limits and changes that make it
/// fit.
MemoryEstimate estimate_memory(const EstimateRequest& request, bool sweep) {
  MemoryEstimate estimate = request.said;
  estimate.budget = compute_budget(request.model, request.run);
  check_range(estimate.budget);
  note_mixed_precision(request, estimate);
  if (!estimate.capacity) {
    for (const GpuModel& model : gpu_models())
      if (model.common && fits(estimate.budget, model.bytes())) estimate.fitting_gpus.emplace_back(model.name);
    return estimate;
  }
  const i64 capacity = *estimate.capacity;
  estimate.largest_batch = largest_batch(request.model, request.run, capacity);
  estimate.longest_sequence = longest_sequence(request.model, request.run, capacity);
  if (sweep) estimate.sweep = compute_sweep(request.model, request.run, capacity);
  if (fits(estimate.budget, capacity)) return estimate;
  estimate.plan = compute_plan(request.model, request.run, capacity);
  check_range(estimate.plan->budget);
  if (request.run.work == RunKind::training) estimate.ranks = ranks_that_fit(request.model, request.run, capacity);
  return estimate;
}

}  // namespace

int run_estimate(const Arguments& arguments) {
  const RenderOptions view = make_render_options(arguments);
  const bool json = arguments.value("format") == "json";
  const MemoryEstimate estimate = estimate_memory(parse_estimate_request(arguments), arguments.has("sweep"));
  print(json ? estimate_json(estimate) : estimate_screen(estimate, view));
  return estimate.capacity && !fits(estimate.budget, *estimate.capacity) ? 1 : 0;
}

}  // namespace oomdoctor::cli
