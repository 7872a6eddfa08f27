// What the program concludes from each sample, as an approved list: causes, fixes, questions and trends, with their
// numbers and without prose. Labels say which conclusions are right. This list shows every one that a change moves.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"
#include "unit/approved.h"

namespace oomdoctor {
namespace {

std::string number(double value) { return fmt::format("{:.3g}", std::abs(value) < 1e-9 ? 0 : value); }

template <typename T>
std::string optional(std::string_view name, const std::optional<T>& value) {
  return value ? fmt::format(" {} {}", name, number(static_cast<double>(*value))) : "";
}

std::string weights(const std::vector<Reason>& reasons) {
  std::string out;
  for (const Reason& reason : reasons) {
    out += fmt::format(" {}", number(reason.weight));
    if (!reason.facts.empty()) out += fmt::format(" {}", reason.facts.front());
  }
  return out;
}

std::string trend_of(const ReportSeries& series) {
  const ReportTrend& trend = series.trend;
  std::string out = fmt::format("{} {} by {}: {} {}{} {:.2f}", series.id, series.metric, series.x_unit, trend.model,
                                trend.shape, trend.leak ? " leak" : "", trend.confidence);
  out += fmt::format(" slope {}", number(trend.slope.value));
  if (trend.acceleration.value != 0) out += fmt::format(" acceleration {}", number(trend.acceleration.value));
  out += optional("onset", trend.onset_step) + optional("period", trend.period);
  for (const double at : trend.change_points) out += fmt::format(" change {}", number(at));
  if (trend.forecast)
    out += fmt::format(" full {} from {}", number(trend.forecast->step), number(trend.forecast->step_low)) +
           optional("to", trend.forecast->step_high);
  for (const ReportStage& stage : trend.stages)
    out += fmt::format(" {} {}-{}", stage.kind, number(stage.first_step), number(stage.last_step));
  if (series.steady) out += fmt::format(" level {} of {}", number(series.steady->value), series.steady->n);
  return out;
}

std::string conclusions(const Report& report) {
  std::string out = fmt::format("  {} {}, retry {}", to_string(report.verdict.outcome), report.verdict.cause,
                                report.verdict.retry.decision);
  if (report.verdict.end) out += fmt::format(", end {}", report.verdict.end->kind);
  out += '\n';
  for (const ReportRun& run : report.runs)
    out += fmt::format("  run {}-{} {}\n", run.first_line, run.last_line, to_string(run.outcome));
  for (const ReportIncident& i : report.incidents) {
    if (i.ranks.empty() && !i.account) continue;
    out += fmt::format("  {} of {} ranks", i.id, i.ranks.size());
    if (i.account) {
      out += " account";
      for (const Share& share : i.account->shares) out += fmt::format(" {}", number(static_cast<double>(share.bytes)));
    }
    out += '\n';
  }
  for (const ReportCause& cause : report.causes)
    if (cause.probability >= 0.05)
      out += fmt::format("  cause {} {:.2f}{}{}\n", cause.cause, cause.probability, weights(cause.because),
                         weights(cause.against));
  for (const ReportFix& fix : report.fixes) {
    out += fmt::format("  fix {}{}", fix.id, fix.enough ? " enough" : "") + optional("saves", fix.saves_low_bytes) +
           optional("to", fix.saves_high_bytes);
    for (const FixSetting& setting : fix.settings)
      if (!setting.to.empty()) out += fmt::format(" {}→{}", setting.from, setting.to);
    out += '\n';
  }
  if (report.plan) out += fmt::format("  plan needs {}\n", number(static_cast<double>(report.plan->need_bytes)));
  for (const HeldBack& held : report.held_back) out += fmt::format("  held back {}\n", held.id);
  for (const Question& question : report.questions) out += fmt::format("  question {}\n", question.missing);
  for (const ReportSeries& series : report.series)
    if (!series.trend.model.empty()) out += fmt::format("  {}\n", trend_of(series));
  return out;
}

}  // namespace

TEST_CASE("the conclusions from each sample", "[golden][approved]") {
  std::string list;
  for (const auto& path : testing::sample_logs()) {
    const std::string name = testing::sample_name(path);
    list += name + '\n' + conclusions(diagnose({{name, testing::read_file(path)}}));
  }
  check_approved("conclusions.txt", list);
}

}  // namespace oomdoctor
