#include "render/ci_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "report/escape.h"
#include "report/report_fields.h"

namespace oomdoctor {
namespace {

constexpr double min_exported_probability = 0.01;

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// The samples of one metric. A metric without samples is not written.
class Gauge {
 public:
  Gauge(std::string_view name, std::string_view help) : name_(name), help_(help) {}

  void add(const Labels& labels, double value) {
    if (!std::isfinite(value)) return;
    std::string text;
    for (const auto& [label, label_value] : labels)
      if (!label_value.empty())
        text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", label, prometheus_label(label_value));
    if (!text.empty()) text = '{' + text + '}';
    fmt::format_to(std::back_inserter(samples_), "{}{} {}\n", name_, text, value);
  }

  std::string str() const {
    if (samples_.empty()) return {};
    return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{2}", name_, help_, samples_);
  }

 private:
  std::string_view name_, help_;
  std::string samples_;
};

std::string optional_text(const auto& value) { return value ? std::to_string(*value) : std::string(); }

std::string verdict_gauges(const Report& report) {
  Gauge outcome("oomdoctor_outcome", "1 for the outcome of the last analysis, else 0.");
  for (const char* name : outcomes) outcome.add({{"outcome", name}}, to_string(report.verdict.outcome) == name ? 1 : 0);
  Gauge causes("oomdoctor_cause_probability", "How probable each cause is.");
  for (const auto& cause : report.causes)
    if (cause.probability >= min_exported_probability) causes.add({{"cause", cause.cause}}, cause.probability);
  return outcome.str() + causes.str();
}

std::string incident_gauges(const Report& report) {
  Gauge count("oomdoctor_incidents", "Out-of-memory failures that no earlier one caused.");
  Gauge sizes("oomdoctor_incident_bytes", "What the message of a failure says of memory.");
  std::int64_t handled = 0, ended = report.more_incidents;
  for (const auto& of : report.incidents) {
    if (of.follows) continue;
    ++(of.handled ? handled : ended);
    const std::pair<const char*, const std::optional<std::int64_t>&> all[] = {
        {"requested", of.requested_bytes}, {"capacity", of.capacity_bytes},   {"free", of.free_bytes},
        {"process", of.process_bytes},     {"allocated", of.allocated_bytes}, {"reserved", of.reserved_bytes},
        {"limit", of.limit_bytes}};
    for (const auto& [name, size] : all)
      if (size)
        sizes.add({{"incident", of.id},
                   {"size", name},
                   {"rank", optional_text(of.rank)},
                   {"device", optional_text(of.device)}},
                  static_cast<double>(*size));
  }
  count.add({{"handled", "false"}}, static_cast<double>(ended));
  count.add({{"handled", "true"}}, static_cast<double>(handled));
  return count.str() + sizes.str();
}

// Series in percent are left out, because oomdoctor_series_bytes has bytes only.
std::string series_gauges(const Report& report) {
  Gauge sizes("oomdoctor_series_bytes", "First, last and greatest value of a memory series.");
  Gauge growth("oomdoctor_series_growth_bytes", "What a series that grows without a bound gains by each step.");
  Gauge full("oomdoctor_series_full", "The step, or second, at which a growing series is expected to be full.");
  for (const auto& of : report.series) {
    if (of.unit == "%") continue;
    const Labels labels = {{"series", of.id},
                           {"metric", of.metric},
                           {"label", of.label},
                           {"rank", optional_text(of.rank)},
                           {"device", optional_text(of.device)}};
    const auto with = [&](std::string_view label, std::string value) {
      Labels more = labels;
      more.emplace_back(label, std::move(value));
      return more;
    };
    sizes.add(with("value", "first"), std::round(of.first_value));
    sizes.add(with("value", "last"), std::round(of.last_value));
    sizes.add(with("value", "max"), std::round(of.max_value));
    if (of.trend.leak) growth.add(with("per", of.x_unit), std::round(of.trend.slope.value));
    if (of.trend.forecast) full.add(with("unit", of.x_unit), std::round(of.trend.forecast->step));
  }
  return sizes.str() + growth.str() + full.str();
}

}  // namespace

std::string prometheus_text(const Report& report) {
  Gauge lines("oomdoctor_lines", "Lines of the logs that were read, and those that were recognised.");
  lines.add({{"state", "read"}}, static_cast<double>(report.coverage.lines));
  lines.add({{"state", "recognised"}}, static_cast<double>(report.coverage.claimed));
  Gauge lost("oomdoctor_lost_evidence", "Evidence that could not be kept, opened, read or judged.");
  lost.add({}, static_cast<double>(report.lost.size()) + static_cast<double>(report.more_lost));
  return verdict_gauges(report) + incident_gauges(report) + series_gauges(report) + lines.str() + lost.str();
}

}  // namespace oomdoctor
