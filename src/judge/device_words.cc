#include "judge/device_words.h"

#include <string_view>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

/// The name of the device; "" for a GPU or an unknown device.
std::string noun_of(const Facts& facts) {
  if (facts.text("platform.vendor") == "huawei") return "NPU";
  if (facts.text("platform.vendor") == "google") return "TPU";
  return "";
}

}  // namespace

std::string with_device_noun(const std::string& text, const std::string& noun) {
  constexpr std::string_view gpu = "GPU";
  std::string out;
  std::size_t from = 0;
  for (std::size_t at = text.find(gpu); at != text.npos; at = text.find(gpu, at + gpu.size())) {
    const std::size_t plural = at + gpu.size() < text.size() && text[at + gpu.size()] == 's' ? 1 : 0;
    const std::size_t end = at + gpu.size() + plural;
    if ((at > 0 && is_word_char(text[at - 1])) || (end < text.size() && is_word_char(text[end]))) continue;
    out.append(text, from, at - from).append(noun);
    from = at + gpu.size();
  }
  return out.append(text, from);
}

void name_device(Diagnosis& diagnosis, const Facts& facts) {
  const std::string noun = noun_of(facts);
  if (noun.empty()) return;
  const auto rename = [&](std::string& text) { text = with_device_noun(text, noun); };
  for (RankedCause& cause : diagnosis.causes) {
    rename(cause.title), rename(cause.explain);
    for (auto* signs : {&cause.supporting, &cause.against})
      for (FiredSign& sign : *signs) rename(sign.text);
  }
  for (RankedFix& fix : diagnosis.fixes)
    rename(fix.title), rename(fix.why), rename(fix.verify), rename(fix.saves_formula);
  for (HeldBackFix& held : diagnosis.held_back) rename(held.title), rename(held.because);
  for (OpenQuestion& question : diagnosis.questions) rename(question.missing), rename(question.text);
}

}  // namespace oomdoctor
