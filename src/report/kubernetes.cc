#include "report/kubernetes.h"

#include "report/escape.h"
#include "report/findings.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {

std::string kubernetes_text(const Report& report) {
  constexpr std::size_t most_bytes = 1024;
  std::string text = outcome_words(report.verdict.outcome);
  if (const std::string said = diagnosis_text(report); !said.empty()) text += ": " + said;
  if (!report.verdict.retry.decision.empty()) text += "\nRun again: " + retry_words(report.verdict.retry);
  text = plain_block(text) + '\n';
  if (text.size() <= most_bytes) return text;
  const std::string end = "…\n";
  return std::string(utf8_prefix(text, most_bytes - end.size())) + end;
}

}  // namespace oomdoctor
