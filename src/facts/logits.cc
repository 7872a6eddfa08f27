// The logits by the size of the request: batch × sequence × vocabulary, where the log prints the first two and the
// third is the vocabulary of published models. Or by the width of the largest tensors that the log lists, or of the
// largest buffer that XLA plans.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/parse_whole.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

/// Sizes of the vocabularies of published models: vocab_size in their config.json. Smaller ones give too small logits.
constexpr auto vocabularies = std::to_array<double>(
    {32000,  32016,  32064,  32128,  32256,  32768,  49152,  50257,  50265,  50272,  50304,  50400,  50432,  50688,
     51200,  51865,  51866,  64000,  65024,  92544,  96103,  100352, 102400, 119547, 125696, 128256, 129280, 131072,
     151552, 151936, 152064, 163840, 200064, 201088, 250002, 250054, 250112, 250880, 256000, 256206, 262144});
/// Others so close to these that only an exact number distinguishes them.
constexpr auto close_vocabularies = std::to_array<double>({256128, 257152, 257216, 262208});
constexpr double max_slack = 0.001;  ///< of the request: with coarser digits, a vocabulary fits by chance

bool is_vocabulary(double size) {
  const auto contains = [&](const auto& known) { return std::find(known.begin(), known.end(), size) != known.end(); };
  return contains(vocabularies) || contains(close_vocabularies);
}

/// The dimensions of a printed shape, "f32[2,2048,32000]"; none of a tuple.
std::vector<i64> dimensions_of(std::string_view shape) {
  std::vector<i64> dimensions;
  const std::size_t open = shape.find('[');
  if (open == shape.npos || shape.front() == '(') return dimensions;
  for (std::size_t at = open; at < shape.size() && shape[at] != ']'; at = shape.find_first_of(",]", at + 1))
    dimensions.push_back(leading_integer(shape.substr(at + 1)));
  return dimensions;
}

/// The vocabulary of the logits that XLA's plan has as its largest buffer. The weights of the output layer are as wide:
/// their rows are the width of a layer, a multiple of 64.
std::optional<double> planned_vocabulary(const Facts& facts) {
  constexpr i64 multiple_of_widths = 64;
  const auto shape = facts.text("settings.plan_shape");
  if (!shape) return std::nullopt;
  const std::vector<i64> dimensions = dimensions_of(*shape);
  if (dimensions.size() < 2 || !is_vocabulary(static_cast<double>(dimensions.back()))) return std::nullopt;
  const auto batch = facts.number("settings.batch_size"), length = facts.number("settings.sequence_length");
  const bool rows_of_tokens = dimensions.size() > 2 || dimensions.front() % multiple_of_widths != 0 ||
                              (batch && length && static_cast<double>(dimensions.front()) == *batch * *length);
  return rows_of_tokens ? std::optional(static_cast<double>(dimensions.back())) : std::nullopt;
}

}  // namespace

void logits_facts(Facts& facts) {
  if (const auto width = facts.number("settings.live_vocabulary"); width && is_vocabulary(*width))
    facts.set("advice.live_logits", Value{true}, facts.find("settings.live_vocabulary")->evidence);
  const auto planned = planned_vocabulary(facts);
  if (planned)
    facts.set("advice.planned_vocabulary", Value{Number{*planned, 0}}, facts.find("settings.plan_shape")->evidence);
  if (const Fact* size = facts.find(planned ? "settings.plan_largest" : "oom.request"))
    facts.set("advice.logits", size->value, size->evidence);
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
