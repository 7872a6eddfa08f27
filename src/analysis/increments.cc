// What one step keeps: the growth per step against the sizes of things that a step makes. A match within the slack of
// the slope names what to look for; several growths have no such size, and nothing is said then.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "analysis/analysis.h"

namespace oomdoctor {
namespace {

constexpr double tolerance = 0.02;  ///< blocks are rounded up to 512 bytes or 2 MiB, slopes have an error of their own
/// A tensor kept every so many steps (at each log, each evaluation) grows by a part of itself a step.
constexpr std::array<int, 7> intervals = {1, 2, 5, 10, 50, 100, 1000};

struct Thing {
  std::string description;
  double size = 0;
  std::vector<std::string_view> from;
};

std::vector<Thing> things_of(const Facts& facts) {
  std::vector<Thing> things;
  if (const auto request = facts.number("oom.request"))
    things.push_back({"a tensor of the size of the last request", *request, {"oom.request"}});
  const auto batch = facts.number("settings.batch_size"), length = facts.number("settings.sequence_length");
  if (const auto vocabulary = facts.number("settings.vocabulary"); batch && length && vocabulary)
    for (const int width : {4, 2})
      things.push_back({fmt::format("the logits of a batch ({:.0f} × {:.0f} × {:.0f} × {} bytes)", *batch, *length,
                                    *vocabulary, width),
                        *batch * *length * *vocabulary * width,
                        {"settings.batch_size", "settings.sequence_length", "settings.vocabulary"}});
  if (const auto hidden = facts.number("settings.hidden"); batch && length && hidden)
    for (const int width : {4, 2})
      things.push_back({fmt::format("the hidden states of a batch ({:.0f} × {:.0f} × {:.0f} × {} bytes)", *batch,
                                    *length, *hidden, width),
                        *batch * *length * *hidden * width,
                        {"settings.batch_size", "settings.sequence_length", "settings.hidden"}});
  if (const auto side = facts.number("settings.image_size"); batch && side)
    things.push_back({fmt::format("a batch of images ({:.0f} × 3 × {:.0f} × {:.0f} × 4 bytes)", *batch, *side, *side),
                      *batch * 3 * *side * *side * 4,
                      {"settings.batch_size", "settings.image_size"}});
  return things;
}

}  // namespace

void increment_fact(Facts& facts) {
  const auto slope = facts.number("trend.slope");
  if (!slope || *slope <= 0 || !facts.is_true("trend.leak") || facts.is_true("trend.accelerating")) return;
  for (const int every : intervals)
    for (const Thing& thing : things_of(facts)) {
      const double kept = *slope * every;
      if (std::abs(kept - thing.size) > tolerance * thing.size) continue;
      std::vector<Evidence> because = facts.find("trend.slope")->because;
      for (const auto name : thing.from)
        because.insert(because.end(), facts.find(name)->because.begin(), facts.find(name)->because.end());
      const std::string often = every == 1 ? "each step keeps " : fmt::format("every {} steps it keeps ", every);
      facts.set("trend.increment", Value{often + thing.description}, std::move(because));
      return;
    }
}

}  // namespace oomdoctor
