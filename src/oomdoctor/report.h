// The report: the only type that crosses the library's boundary. Plain strings, numbers and file:line; every writer is
// a pure function of it. Field names follow the JSON contract, version 1.0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace oomdoctor {

inline constexpr const char* report_schema_version = "1.1";

struct Location {
  std::string path;
  std::int64_t line = 0, end_line = 0;
  std::string excerpt;             ///< the cleaned line, bounded; for people, not in the JSON
  int column = 0, end_column = 0;  ///< of what matters in the excerpt, 0-based bytes; equal when nothing is marked
  std::string lead{};              ///< what stands in front of a cut excerpt; for redact() alone

  friend bool operator==(const Location&, const Location&) = default;
};

struct ReportInput {
  std::string path, kind;
  std::int64_t bytes = 0, lines = 0;
  std::string compression;  ///< "" when none
  bool truncated = false;
};

struct Retry {
  std::string decision;  ///< "stop", "retry_unchanged", "retry_with_change"
  std::string change;
};

/// What ended a run: "exception", "crash", "timeout", "nccl", "device_error", "finished", …
struct RunEnd {
  std::string kind;
  std::string text;  ///< the line
  Location location;
};

struct Verdict {
  std::string
      outcome;        ///< "oom", "handled_oom", "at_risk", "possible_oom", "ended_otherwise", "no_oom", "unrecognised"
  std::string cause;  ///< a cause id, "undetermined", or "" when there is nothing to explain
  std::string cause_title;
  double confidence = 0;
  std::string headline;
  std::optional<std::string> incident;  ///< its id
  Retry retry;
  std::optional<RunEnd> end;  ///< of the last run, where the log shows it and it was not memory
};

/// One run of several: of a job whose log holds them, or of several jobs with logs of their own.
struct ReportRun {
  std::string id;
  std::string path;
  std::int64_t first_line = 0, last_line = 0;
  std::string outcome;  ///< "oom", "handled_oom", "possible_oom", "ended_otherwise", "no_oom"
  std::optional<RunEnd> end;
  std::string headline;
};

struct Share {
  std::string label;
  std::int64_t bytes = 0;
};

struct ReportAccount {
  std::int64_t capacity_bytes = 0;
  std::vector<Share> shares;  ///< shares + unexplained = capacity
  std::int64_t unexplained_bytes = 0, slack_bytes = 0;
};

struct ReportFrame {
  std::string file;
  std::int64_t line = 0;
  std::string function, code;
};

struct ReportIncident {
  std::string id;
  std::string kind, agent, framework, message_format;
  Location location;
  std::vector<Location> occurrences;
  std::int64_t more_occurrences = 0;
  bool handled = false;
  std::optional<std::string> follows;
  std::vector<int> ranks;  ///< that ran out by themselves in the same way, its own among them; empty where only one did
  std::optional<int> device, rank;
  std::optional<std::int64_t> pid, step;
  std::string host;
  std::optional<double> time;  ///< seconds since 1970 by the log's clock, where it prints a date; not in the JSON
  std::optional<double> epoch;
  std::string phase;
  std::string moment;   ///< of an engine's own start; printed in words only
  std::string numbers;  ///< those that decide: "1.50 GiB requested, 1.06 GiB of 23.69 GiB free"; printed in words only
  std::optional<std::int64_t> requested_bytes, capacity_bytes, free_bytes, process_bytes, allocated_bytes,
      reserved_bytes, unallocated_bytes, private_pool_bytes, limit_bytes;
  std::vector<std::pair<std::int64_t, std::int64_t>> other_processes;  ///< pid, bytes
  std::optional<ReportFrame> frame;                                    ///< the user's own frame nearest to the failure
  std::optional<ReportFrame> ask_frame;  ///< the innermost frame, where the memory was asked for
  std::optional<ReportAccount> account;
};

struct ReportEstimate {
  double value = 0, low = 0, high = 0;
};

struct ReportForecast {
  std::int64_t capacity_bytes = 0;
  double step = 0, step_low = 0;
  std::optional<double> step_high;
  bool beyond_data = false;
};

/// A place of a fitted curve with its 95 % interval.
struct ReportCurvePoint {
  double x = 0, y = 0, low = 0, high = 0;
};

/// What the run was doing; steps and values as printed.
struct ReportStage {
  std::string kind;  ///< "idle", "load", "warmup", "working", "evaluation", "pause", "release" or "restart"
  double first_step = 0, last_step = 0, first_value = 0, last_value = 0;
  double slope = 0;  ///< per step
};

/// All but the stages speaks of the working stage that the run ended in.
struct ReportTrend {
  bool leak = false;
  std::string shape;
  double confidence = 0;
  ReportEstimate slope, acceleration;
  std::optional<double> onset_step;
  std::vector<double> change_points;
  std::optional<double> period;
  std::string model;
  std::vector<std::pair<std::string, double>> models;
  std::optional<ReportForecast> forecast;
  std::string why;
  std::string increment;                ///< what a step keeps, where the rate says so; printed in words only
  std::vector<ReportStage> stages;      ///< in order; empty where the values are too few
  std::vector<ReportCurvePoint> curve;  ///< of the model, over the values and on to the forecast; may be empty
};

struct ReportPoint {
  double x = 0, y = 0;
};

/// Where the values of a series lie once it has settled.
struct ReportLevel {
  double value = 0, low = 0, high = 0;  ///< the median; four fifths of the values lie from `low` to `high`
  std::int64_t n = 0;                   ///< values behind the warm-up
};

struct ReportSeries {
  std::string id, metric, kind, label;
  std::optional<int> rank, device;
  std::string unit;
  std::string x_unit =
      "step";  ///< what first_step, slopes and forecasts count: "step", or "second" where only times are printed
  std::int64_t n = 0;
  std::optional<double> first_step, last_step;
  double first_value = 0, last_value = 0, max_value = 0, quantum = 0;
  ReportTrend trend;
  std::optional<ReportLevel> steady;  ///< absent where values are few, or grow without a bound
  std::vector<ReportPoint> points;    ///< thinned by min-max
  Location first, last;
};

/// One rank beside the others. Values are those of the series that the diagnosis is about.
struct ReportRank {
  int rank = 0;
  bool failed = false;  ///< for want of memory, and nobody handled it
  std::optional<std::int64_t> last_step;
  std::string metric;
  std::optional<double> first_value, last_value, max_value;
  bool leak = false;                 ///< its series grows without a bound
  std::optional<Location> location;  ///< the last line of the series
};

struct Because {
  std::string fact, text;
  double weight = 0;
  std::vector<Location> locations;
};

struct ReportCause {
  std::string cause, title, explain;
  double probability = 0;
  std::vector<Because> because, against;
  std::string guide = {};  ///< words only: the page about it, a path in this project; "" for a cause of own rules
};

struct FixSetting {
  std::string scope;     ///< "environment", "plain PyTorch", "HF Trainer", …; the JSON calls it "for"
  std::string text;      ///< a line that can be copied
  std::string from, to;  ///< "" when it is no change of one value
};

struct CostClass {
  int level = 0;
  std::string text;
};

struct ReportFix {
  std::string id, title;
  std::vector<std::string> causes;
  std::optional<std::int64_t> saves_low_bytes, saves_high_bytes;
  std::string saves_formula;
  CostClass cost, risk;
  bool enough = false;          ///< alone it frees what is needed, with the margin
  bool if_not_already = false;  ///< the log does not tell whether it is set already
  std::string why;              ///< the numbers of this log that speak for it
  std::vector<FixSetting> settings;
  std::vector<std::string> not_with;
  std::string verify;
  std::vector<Location> locations;
};

struct ReportPlan {
  std::vector<std::string> fixes;
  std::int64_t need_bytes = 0, margin_bytes = 0;
  std::optional<std::int64_t> predicted_peak_bytes;
  bool would_have_fitted = false;
};

struct HeldBack {
  std::string id, title, because;
};

struct Question {
  std::string missing, text, command;
};

struct ReportNote {
  std::string severity, text;
  std::optional<Location> location;
};

struct ReportCoverage {
  std::int64_t lines = 0, claimed = 0;
  std::map<std::string, std::int64_t> by_parser;
};

/// What the run was set to, as the log printed it last.
struct ReportSetting {
  std::string name, value;
  Location location;
};

struct Report {
  std::string tool_version;
  std::string job;  ///< words only: the scheduler's number, from the name of a log; "" where unknown
  std::vector<ReportInput> inputs;
  std::vector<ReportSetting> settings;  ///< by name
  Verdict verdict;
  std::vector<ReportRun> runs;  ///< empty where the log holds one
  std::vector<ReportIncident> incidents;
  std::int64_t more_incidents = 0;
  std::vector<ReportSeries> series;
  std::int64_t more_series = 0;             ///< of very many ranks; they are in `ranks` alone
  std::vector<ReportSeries> input_lengths;  ///< of the batches, where the log prints them; no memory
  std::vector<ReportRank> ranks;            ///< by number; empty where fewer than two are known
  std::vector<ReportCause> causes;
  std::vector<ReportFix> fixes;
  std::optional<ReportPlan> plan;
  std::vector<HeldBack> held_back;
  std::vector<Question> questions;
  ReportCoverage coverage;
  std::vector<ReportNote> notes;
  std::optional<ReportCause> why_not;  ///< the cause that the caller asked about, with all its signs, fired or not
  std::vector<std::string> trace;  ///< which facts were known, with values and citations; filled only when asked for
};

}  // namespace oomdoctor
