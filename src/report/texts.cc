#include "report/texts.h"

#include <type_traits>

namespace oomdoctor {
namespace {

/// One operator per type of the report. Each binds all fields of its struct, so that a new field does not compile.
class Walk {
 public:
  explicit Walk(const TextVisit& visit) : visit_(visit) {}

  void operator()(std::string& text) { visit_(text, nullptr); }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(Number&) {}
  template <class T>
  void operator()(std::optional<T>& value) {
    if (value) (*this)(*value);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    for (auto& value : values) (*this)(value);
  }
  template <class First, class Second>
  void operator()(std::pair<First, Second>& pair) {
    all(pair.first, pair.second);
  }
  void operator()(std::map<std::string, std::int64_t>& counts) {
    std::map<std::string, std::int64_t> changed;
    for (const auto& [name, count] : counts) {
      std::string visited = name;
      (*this)(visited);
      changed[visited] += count;
    }
    counts = std::move(changed);
  }

  void operator()(Location& of) {
    auto& [path, line, end_line, excerpt, column, end_column, lead] = of;
    all(path, line, end_line, column, end_column);
    visit_(excerpt, &of);
  }
  void operator()(ReportInput& of) {
    auto& [path, kind, bytes, lines, compression, truncated] = of;
    all(path, kind, bytes, lines, compression, truncated);
  }
  void operator()(ReportSetting& of) {
    auto& [name, value, location] = of;
    all(name, value, location);
  }
  void operator()(Retry& of) {
    auto& [decision, change] = of;
    all(decision, change);
  }
  void operator()(Verdict& of) {
    auto& [outcome, cause, cause_title, confidence, headline, incident, retry, end] = of;
    all(outcome, cause, cause_title, confidence, headline, incident, retry, end);
  }
  void operator()(RunEnd& of) {
    auto& [kind, text, location] = of;
    all(kind, text, location);
  }
  void operator()(ReportRun& of) {
    auto& [id, path, first_line, last_line, outcome, end, headline] = of;
    all(id, path, first_line, last_line, outcome, end, headline);
  }
  void operator()(Share& of) {
    auto& [label, bytes] = of;
    all(label, bytes);
  }
  void operator()(ReportAccount& of) {
    auto& [capacity, shares, unexplained, slack] = of;
    all(capacity, shares, unexplained, slack);
  }
  void operator()(ReportFrame& of) {
    auto& [file, line, function, code] = of;
    all(file, line, function, code);
  }
  void operator()(ReportIncident& of) {
    auto& [id, kind, agent, framework, message_format, location, occurrences, more_occurrences, handled, follows, ranks,
           device, rank, pid, step, host, time, epoch, phase, moment, numbers, requested, capacity, free, process,
           allocated, reserved, unallocated, private_pool, limit, other_processes, frame, ask_frame, account] = of;
    all(id, kind, agent, framework, message_format, location, occurrences, more_occurrences, handled, follows, ranks,
        device, rank, pid, step, host, time, epoch, phase, moment, numbers, requested, capacity, free, process,
        allocated, reserved, unallocated, private_pool, limit, other_processes, frame, ask_frame, account);
  }
  void operator()(ReportEstimate& of) {
    auto& [value, low, high] = of;
    all(value, low, high);
  }
  void operator()(ReportLevel& of) {
    auto& [value, low, high, n] = of;
    all(value, low, high, n);
  }
  void operator()(ReportForecast& of) {
    auto& [capacity, step, step_low, step_high, beyond_data] = of;
    all(capacity, step, step_low, step_high, beyond_data);
  }
  void operator()(ReportTrend& of) {
    auto& [leak, shape, confidence, slope, acceleration, onset, change_points, period, model, models, forecast, why,
           increment, stages, curve] = of;
    all(leak, shape, confidence, slope, acceleration, onset, change_points, period, model, models, forecast, why,
        increment, stages, curve);
  }
  void operator()(ReportStage& of) {
    auto& [kind, first_step, last_step, first_value, last_value, slope] = of;
    all(kind, first_step, last_step, first_value, last_value, slope);
  }
  void operator()(ReportCurvePoint& of) {
    auto& [x, y, low, high] = of;
    all(x, y, low, high);
  }
  void operator()(ReportPoint& of) {
    auto& [x, y] = of;
    all(x, y);
  }
  void operator()(ReportSeries& of) {
    auto& [id, metric, kind, label, rank, device, unit, x_unit, n, first_step, last_step, first_value, last_value,
           max_value, quantum, trend, steady, points, first, last] = of;
    all(id, metric, kind, label, rank, device, unit, x_unit, n, first_step, last_step, first_value, last_value,
        max_value, quantum, trend, steady, points, first, last);
  }
  void operator()(ReportRank& of) {
    auto& [rank, failed, last_step, metric, first_value, last_value, max_value, leak, location] = of;
    all(rank, failed, last_step, metric, first_value, last_value, max_value, leak, location);
  }
  void operator()(Reason& of) {
    auto& [fact, text, weight, locations] = of;
    all(fact, text, weight, locations);
  }
  void operator()(ReportCause& of) {
    auto& [cause, title, explain, probability, because, against, guide] = of;
    all(cause, title, explain, probability, because, against, guide);
  }
  void operator()(FixSetting& of) {
    auto& [scope, text, from, to] = of;
    all(scope, text, from, to);
  }
  void operator()(CostClass& of) {
    auto& [level, text] = of;
    all(level, text);
  }
  void operator()(ReportFix& of) {
    auto& [id, title, causes, saves_low, saves_high, saves_formula, cost, risk, enough, if_not_already, why, settings,
           not_with, verify, locations] = of;
    all(id, title, causes, saves_low, saves_high, saves_formula, cost, risk, enough, if_not_already, why, settings,
        not_with, verify, locations);
  }
  void operator()(ReportPlan& of) {
    auto& [fixes, need, margin, predicted_peak, would_have_fitted] = of;
    all(fixes, need, margin, predicted_peak, would_have_fitted);
  }
  void operator()(HeldBack& of) {
    auto& [id, title, because] = of;
    all(id, title, because);
  }
  void operator()(Question& of) {
    auto& [missing, text, command] = of;
    all(missing, text, command);
  }
  void operator()(ReportNote& of) {
    auto& [severity, text, location] = of;
    all(severity, text, location);
  }
  void operator()(ReportCoverage& of) {
    auto& [lines, claimed, by_parser] = of;
    all(lines, claimed, by_parser);
  }
  void operator()(Report& of) {
    auto& [tool_version, job, inputs, settings, verdict, runs, incidents, more_incidents, series, more_series,
           input_lengths, ranks, causes, fixes, plan, held_back, questions, coverage, notes, why_not, trace] = of;
    all(tool_version, job, inputs, settings, verdict, runs, incidents, more_incidents, series, more_series,
        input_lengths, ranks, causes, fixes, plan, held_back, questions, coverage, notes, why_not, trace);
  }

 private:
  template <class... Fields>
  void all(Fields&... fields) {
    ((*this)(fields), ...);
  }

  const TextVisit& visit_;
};

}  // namespace

void visit_texts(Report& report, const TextVisit& visit) { Walk{visit}(report); }

}  // namespace oomdoctor
