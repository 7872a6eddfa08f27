// The fields of the JSON of an estimate: see fields.h.
#pragma once

#include "estimate/estimate.h"
#include "oomdoctor/version.h"
#include "report/fields.h"

namespace oomdoctor {

void fields(auto& field, Is<Term> auto& of) {
  field.type("term");
  field("id", of.id);
  field("label", of.label);
  field("bytes", of.bytes.count);
  field("slack_bytes", of.bytes.slack, if_any);
  field("formula", of.formula);
  field("moment", of.moment);
  field("with_batch", of.with_batch);
  field("with_sequence", of.with_sequence);
}

void fields(auto& field, Is<Missing> auto& of) {
  field.type("missing");
  field("label", of.label);
  field("needs", of.needs);
}

void fields(auto& field, Is<PlannedChange> auto& of) {
  field.type("change");
  field("id", of.id);
  field("title", of.title);
  field("setting", of.setting);
  field("cost", of.cost);
  field("risk", of.risk);
  field("saves_bytes", of.saves);
  field("peak_bytes", of.peak);
}

void fields(auto& field, Is<Plan> auto& of) {
  field.type("plan");
  field("fits", of.fits);
  field("changes", of.changes);
}

void fields(auto& field, Is<SweepPoint> auto& of) {
  field.type("sweep_point");
  field("batch", of.batch);
  field("sequence", of.sequence);
  field("peak_bytes", of.peak);
  field("fits", of.fits);
}

void fields(auto& field, Is<Sweep> auto& of) {
  field.type("sweep");
  field("sequences", of.sequences);
  field("largest_batches", of.largest);
  field("points", of.points);
}

void fields(auto& field, Is<MemoryEstimate> auto& of) {
  std::optional<i64> margin;
  if (of.capacity) margin = compute_margin(*of.capacity);
  field.group("tool", [](auto& tool) {
    tool.constant("name", "oomdoctor");
    tool("version", version);
  });
  field("model", of.model);
  field("parameters", of.parameters);
  field("active_parameters", of.active_parameters);
  field("outcome", judge_outcome(of), {.values = {"fits", "probably_fits", "probably_not", "does_not_fit", "unknown"}});
  field("capacity_bytes", of.capacity);
  field("margin_bytes", margin);
  field.group("peak", [&](auto& peak) {
    peak("moment", of.budget.peak);
    peak("bytes", of.budget.total.count);
    peak("slack_bytes", of.budget.total.slack);
  });
  field("assumed", of.assumed);
  field("terms", of.budget.terms);
  field("missing", of.budget.missing);
  field("host", of.budget.host);
  field("largest_batch", of.largest_batch);
  field("longest_sequence", of.longest_sequence);
  field("plan", of.plan);
  field("ranks_with_zero_3", of.ranks);
  field("sweep", of.sweep);
}

}  // namespace oomdoctor
