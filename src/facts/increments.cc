// The tensor that each step keeps: compares the growth per step with the sizes of tensors that a step creates. A match
// within the tolerance names a candidate. Without a match the fact stays unknown.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "facts/analysis.h"

namespace oomdoctor {
namespace {

constexpr double tolerance =
    0.02;  ///< relative; blocks are rounded up to 512 bytes or 2 MiB, and the slope has an error
/// A tensor that is kept every so many steps (at each log line or evaluation) adds this part of its size per step.
constexpr std::array<int, 7> intervals = {1, 2, 5, 10, 50, 100, 1000};

/// A tensor that a step creates, and the facts that its size comes from.
struct StepTensor {
  std::string description;
  double size = 0;
  std::vector<std::string_view> from;
};

std::vector<StepTensor> list_candidates(const Facts& facts) {
  std::vector<StepTensor> candidates;
  if (const auto request = facts.number("oom.request"))
    candidates.push_back({"a tensor of the size of the last request", *request, {"oom.request"}});
  const auto batch = facts.number("settings.batch_size"), length = facts.number("settings.sequence_length");
  if (const auto vocabulary = facts.number("settings.vocabulary"); batch && length && vocabulary)
    for (const int width : {4, 2})
      candidates.push_back({fmt::format("the logits of a batch ({:.0f} × {:.0f} × {:.0f} × {} bytes)", *batch, *length,
                                        *vocabulary, width),
                            *batch * *length * *vocabulary * width,
                            {"settings.batch_size", "settings.sequence_length", "settings.vocabulary"}});
  if (const auto hidden = facts.number("settings.hidden"); batch && length && hidden)
    for (const int width : {4, 2})
      candidates.push_back({fmt::format("the hidden states of a batch ({:.0f} × {:.0f} × {:.0f} × {} bytes)", *batch,
                                        *length, *hidden, width),
                            *batch * *length * *hidden * width,
                            {"settings.batch_size", "settings.sequence_length", "settings.hidden"}});
  if (const auto side = facts.number("settings.image_size"); batch && side)
    candidates.push_back(
        {fmt::format("a batch of images ({:.0f} × 3 × {:.0f} × {:.0f} × 4 bytes)", *batch, *side, *side),
         *batch * 3 * *side * *side * 4,
         {"settings.batch_size", "settings.image_size"}});
  return candidates;
}

}  // namespace

void increment_fact(Facts& facts) {
  const auto slope = facts.number("trend.slope");
  if (!slope || *slope <= 0 || !facts.is_true("trend.leak") || facts.is_true("trend.accelerating")) return;
  for (const int every : intervals)
    for (const StepTensor& candidate : list_candidates(facts)) {
      const double kept = *slope * every;
      if (std::abs(kept - candidate.size) > tolerance * candidate.size) continue;
      std::vector<Evidence> evidence = facts.find("trend.slope")->evidence;
      for (const auto name : candidate.from)
        evidence.insert(evidence.end(), facts.find(name)->evidence.begin(), facts.find(name)->evidence.end());
      const std::string frequency = every == 1 ? "each step keeps " : fmt::format("every {} steps it keeps ", every);
      facts.set("trend.increment", Value{frequency + candidate.description}, std::move(evidence));
      return;
    }
}

}  // namespace oomdoctor
