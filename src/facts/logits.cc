// The logits by the size of the request: batch × sequence × vocabulary, where the log prints the first two and the
// third is the vocabulary of published models. Or by the width of the largest tensors that the log lists.
#include <algorithm>
#include <array>
#include <cmath>

#include "facts/analysis.h"

namespace oomdoctor {
namespace {

/// Sizes of the vocabularies of published models: vocab_size in their config.json. Smaller ones give too small logits.
constexpr auto vocabularies = std::to_array<double>(
    {32000,  32016,  32064,  32128,  32256,  32768,  49152,  50257,  50265,  50272,  50304,  50400,  50432,  50688,
     51200,  51865,  51866,  64000,  65024,  92544,  96103,  100352, 102400, 119547, 125696, 128256, 129280, 131072,
     151552, 151936, 152064, 163840, 200064, 201088, 250002, 250054, 250112, 250880, 256000, 256206, 262144});
constexpr double max_slack = 0.001;  ///< of the request: with coarser digits, a vocabulary fits by chance

}  // namespace

void logits_facts(Facts& facts) {
  if (const auto width = facts.number("settings.live_vocabulary");
      width && std::find(vocabularies.begin(), vocabularies.end(), *width) != vocabularies.end())
    facts.set("advice.live_logits", Value{true}, facts.find("settings.live_vocabulary")->evidence);
  const Fact* request = facts.find("oom.request");
  const auto batch = facts.number("settings.batch_size"), length = facts.number("settings.sequence_length");
  if (request == nullptr || !batch || !length || facts.find("settings.vocabulary") != nullptr) return;
  const Number size = std::get<Number>(request->value);
  if (size.value <= 0 || size.slack > max_slack * size.value) return;
  for (const double width : {4.0, 2.0}) {
    const double row = *batch * *length * width;
    const auto fits = [&](double vocabulary) { return std::abs(row * vocabulary - size.value) <= size.slack; };
    if (std::count_if(vocabularies.begin(), vocabularies.end(), fits) != 1) continue;
    std::vector<Evidence> evidence = request->evidence;
    for (const std::string_view name : {"settings.batch_size", "settings.sequence_length"}) {
      const auto& from = facts.find(name)->evidence;
      evidence.insert(evidence.end(), from.begin(), from.end());
    }
    facts.set("advice.logits_vocabulary",
              Value{Number{*std::find_if(vocabularies.begin(), vocabularies.end(), fits), 0}}, evidence);
    facts.set("advice.logits_width", Value{Number{width, 0}}, evidence);
    return;
  }
}

}  // namespace oomdoctor
