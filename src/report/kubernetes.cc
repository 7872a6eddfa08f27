#include "report/kubernetes.h"

#include "report/escape.h"
#include "report/findings.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {

std::string kubernetes_text(const Report& report) {
  constexpr std::size_t max_bytes = 1024;
  std::string text = outcome_words(report.verdict.outcome);
  if (const std::string diagnosis = diagnosis_text(report); !diagnosis.empty()) text += ": " + diagnosis;
  if (!report.verdict.retry.decision.empty()) text += "\nRun again: " + retry_words(report.verdict.retry);
  text = plain_block(text) + '\n';
  if (text.size() <= max_bytes) return text;
  const std::string end = "…\n";
  return std::string(utf8_prefix(text, max_bytes - end.size())) + end;
}

}  // namespace oomdoctor
