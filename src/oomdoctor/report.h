// The report: the only type that crosses the library's boundary. It consists of plain strings, numbers and file:line,
// and every writer is a pure function of it. The stages fill its types directly. Field names follow the JSON contract.
// Texts from the log are unescaped; sizes are in bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oomdoctor {

/// The version of the JSON contract.
inline constexpr const char* report_schema_version = "1.2";

/// What happened to memory, from best to worst.
enum class Outcome { unrecognised, no_oom, ended_otherwise, handled_oom, at_risk, possible_oom, oom };

constexpr std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 7> names = {
      "unrecognised", "no_oom", "ended_otherwise", "handled_oom", "at_risk", "possible_oom", "oom"};
  return names[static_cast<std::size_t>(outcome)];
}

/// A line or a range of lines in an input, counted from 1.
struct Location {
  std::string path;
  std::int64_t line = 0, end_line = 0;
  std::string excerpt;             ///< the cleaned line, of bounded length; for people, not in the JSON
  int column = 0, end_column = 0;  ///< the marked part of the excerpt, 0-based bytes; equal if nothing is marked
  std::string lead{};              ///< the text before a cut excerpt; only redact() reads it
  // A place in a file that is not text, and has no lines:
  std::optional<std::int64_t> event{};   ///< an event of an allocator's trace, from 0
  std::optional<std::int64_t> offset{};  ///< a byte of the unpacked file, from 0

  friend bool operator==(const Location&, const Location&) = default;
};

/// One input: `kind` is the kind of source, `path` "-" is standard input.
struct ReportInput {
  std::string path, kind;
  std::int64_t bytes = 0, lines = 0;
  std::string compression;  ///< "" if none
  bool truncated = false;
};

/// Whether another try makes sense.
struct Retry {
  std::string decision;  ///< "stop", "retry_unchanged", "retry_with_change" or "unknown"; "" if no log was readable
  std::string change;    ///< for "retry_with_change": the title of the fix
};

/// The event that ended a run: "exception", "crash", "timeout", "nccl", "device_error", "finished", …
struct RunEnd {
  std::string kind;
  std::string text;  ///< the line, of bounded length
  Location location;
};

/// The result of the diagnosis.
struct Verdict {
  Outcome outcome = Outcome::no_oom;
  std::string cause;  ///< a cause id, "undetermined", or "" if there is nothing to explain
  std::string cause_title;
  double confidence = 0;  ///< probability of the first cause, 0 … 1
  std::string headline;
  std::optional<std::string> incident;  ///< id of the incident that the verdict is about
  Retry retry;
  std::optional<RunEnd> end;  ///< the end of the last run, if the log shows one that was not a memory failure
};

/// One of several runs: of a job with several runs in its log, or of several jobs with separate logs.
struct ReportRun {
  std::string id;
  std::string path;
  std::int64_t first_line = 0, last_line = 0;
  Outcome outcome = Outcome::no_oom;
  std::optional<RunEnd> end;
  std::string headline;
  std::optional<Location> failure = {};  ///< words only: the failure that the headline cites
  bool several_ends = false;             ///< words only: exceptions of several kinds, perhaps of several runs
};

/// One part of a memory breakdown.
struct Share {
  std::string label;
  std::int64_t bytes = 0;
};

/// The memory breakdown of a failure.
struct ReportAccount {
  std::int64_t capacity_bytes = 0;
  std::vector<Share> shares;  ///< the sum of shares and unexplained_bytes is capacity_bytes
  std::int64_t unexplained_bytes = 0, slack_bytes = 0;
};

/// One frame of a traceback.
struct ReportFrame {
  std::string file;
  std::int64_t line = 0;
  std::string function, code;
  bool runs_any = false;  ///< a framework's frame that runs any operation; in words only
};

/// The kind of device whose memory a job uses; `device` if the log does not show which.
enum class Accelerator { gpu, npu, tpu, device };

/// One out-of-memory failure. An absent number was not printed.
struct ReportIncident {
  std::string id;
  std::string kind, agent, framework, message_format;
  Location location;
  std::vector<Location> context;  ///< the lines before and after it; for people, not in the JSON
  std::vector<Location> occurrences;
  std::int64_t more_occurrences = 0;   ///< repetitions of the message beyond `occurrences`
  bool handled = false;                ///< the program survived it
  std::optional<std::string> follows;  ///< id of the root cause, if this failure is a consequence
  std::vector<int> ranks;  ///< all ranks that ran out of memory independently in the same way, including this one;
                           ///< empty for a single rank
  std::optional<int> device, rank;
  std::optional<std::int64_t> pid, step;
  std::string host;
  std::optional<double> time;  ///< seconds since 1970 by the log's clock, if it prints a date; not in the JSON
  std::optional<double> epoch;
  std::optional<std::int64_t> run_step;  ///< counted over all epochs, as the series count; `step` is as printed
  std::string phase;                     ///< for example "backward"; "" if unknown
  bool epoch_over = false;               ///< the end of `epoch` was printed; in words only
  std::optional<std::int64_t> bar;       ///< what the bar of an evaluation counts to; in words only
  std::string moment;                    ///< a more exact phase of an engine's start; printed in words only
  std::string numbers;       ///< the decisive ones, for texts only: "1.50 GiB requested, 1.06 GiB of 23.69 GiB free"
  std::string other_memory;  ///< what is known beyond them, for texts only: "the job requested 48 GiB"
  Accelerator accelerator = Accelerator::gpu;  ///< in words only
  std::optional<std::int64_t> requested_bytes, capacity_bytes, free_bytes, process_bytes, allocated_bytes,
      reserved_bytes, unallocated_bytes, private_pool_bytes, limit_bytes;
  std::vector<std::pair<std::int64_t, std::int64_t>> other_processes;  ///< pid, bytes
  std::optional<ReportFrame> frame;      ///< the frame in the user's code nearest to the failure
  std::optional<ReportFrame> ask_frame;  ///< the innermost frame, which requested the memory
  std::optional<ReportAccount> account;
};

/// A value with its interval.
struct ReportEstimate {
  double value = 0, low = 0, high = 0;
};

/// When a growing series fills its memory: steps, or seconds for a series over time. `step_high` is absent if the
/// interval has no upper bound.
struct ReportForecast {
  std::int64_t capacity_bytes = 0;
  double step = 0, step_low = 0;
  std::optional<double> step_high;
  bool beyond_data = false;  ///< further ahead than the log is long
};

/// A point of a fitted curve with its 95% interval.
struct ReportCurvePoint {
  double x = 0, y = 0, low = 0, high = 0;
};

/// One stage of the run; steps and values as printed.
struct ReportStage {
  std::string kind;  ///< "idle", "load", "warmup", "working", "evaluation", "pause", "release" or "restart"
  double first_step = 0, last_step = 0, first_value = 0, last_value = 0;
  double slope = 0;  ///< per step
};

/// The growth of a series. All fields except `stages` describe the working stage in which the run ended.
struct ReportTrend {
  bool leak = false;  ///< it grows without a bound
  std::string shape;
  double confidence = 0;
  ReportEstimate slope, acceleration;
  std::optional<double> onset_step;   ///< the first step of the growth
  std::vector<double> change_points;  ///< steps of its jumps
  std::optional<double> period;       ///< steps of a regular rise and fall
  std::string model;  ///< the chosen law; `models` has the criterion of all candidates (lower is better)
  std::vector<std::pair<std::string, double>> models;
  std::optional<ReportForecast> forecast;
  std::optional<std::int64_t> capacity_bytes;  ///< of the memory that the series fills, if known
  std::string why;
  std::string release;                  ///< the part of it about memory that is free again at the end; in words only
  bool moves = false;                   ///< `shape` is "too_short", but the values rise or fall; in words only
  bool equal_rises = false;             ///< `moves`, and the last rises are equal; in words only
  bool unsure = false;                  ///< `leak`, but by so few values that it may be a load; in words only
  std::string increment;                ///< the tensor that a step keeps, if the rate shows it; printed in words only
  std::vector<ReportStage> stages;      ///< in order; empty if there are too few values
  std::vector<ReportCurvePoint> curve;  ///< of the model, over the values and the forecast; may be empty
};

struct ReportPoint {
  double x = 0, y = 0;
};

/// The level of a series after it has settled.
struct ReportLevel {
  double value = 0, low = 0, high = 0;  ///< the median; four fifths of the values are between `low` and `high`
  std::int64_t n = 0;                   ///< number of values after the warm-up
};

/// One memory series. Values are in bytes, or in percent if `unit` is "%".
struct ReportSeries {
  std::string id, metric, kind, label;
  std::optional<int> rank, device;
  std::optional<std::int64_t> run;             ///< its number, from 1, in a log with several runs
  bool followed = true;                        ///< of the run that the verdict is about; in words only
  Accelerator accelerator = Accelerator::gpu;  ///< in words only
  std::string unit;
  std::string x_unit = "step";  ///< the unit of first_step, slopes and forecasts: "step", "epoch", "second" if the log
                                ///< prints only times, else "value"
  std::int64_t n = 0;
  std::optional<double> first_step, last_step;
  double start_time =
      0;  ///< of x 0 in seconds since 1970, by the log's clock; 0 if the log has no dates; in words only
  double first_value = 0, last_value = 0, max_value = 0,
         quantum = 0;  ///< `quantum`: one unit of the last printed digit
  ReportTrend trend;
  std::optional<ReportLevel> steady;  ///< absent if there are few values, or growth without a bound
  std::vector<ReportPoint> points;    ///< thinned; the minimum and the maximum of each interval remain
  std::vector<ReportPoint> clock;     ///< dated steps, with seconds since 1970 as y, both increasing; in words only
  Location first, last;
};

/// One rank in comparison with the others. The values are those of the series that the diagnosis is about.
struct ReportRank {
  int rank = 0;
  bool failed = false;  ///< it ran out of memory, and nothing handled the failure
  std::optional<std::int64_t> last_step;
  std::string metric;
  std::optional<double> first_value, last_value, max_value;
  bool leak = false;                 ///< its series grows without a bound
  std::optional<Location> location;  ///< the last line of the series
};

/// One reason for or against a cause, with its lines.
struct Reason {
  std::vector<std::string> facts;  ///< names of the facts that the sign read; the JSON has the first
  std::string text;
  double weight = 0;  ///< nats; positive for, negative against the cause
  std::vector<Location> locations;
};

/// A fix that a cause may have.
struct ExplainedFix {
  std::string id, title;
};

/// What `oomdoctor explain` prints of a cause, with letters for the numbers of a log.
struct CauseExplanation {
  std::string text;
  std::vector<std::string> signs_for, signs_against;  ///< strongest first
  std::vector<ExplainedFix> fixes;
  std::string no_fix;  ///< why there is none
};

/// One cause with its probability and reasons.
struct ReportCause {
  std::string cause, title, explain;
  double probability = 0;
  std::vector<Reason> because, against;  ///< strongest first
  std::string guide = {};  ///< words only: URL of the page about it; "" for a cause of own rules, or without a site
  CauseExplanation explanation = {};  ///< words only: of a probable cause without a page; else empty
};

/// One way to apply a fix.
struct FixSetting {
  std::string scope;     ///< "environment", "plain PyTorch", "HF Trainer", …; the JSON calls it "for"
  std::string text;      ///< a line to copy, or prose
  std::string from, to;  ///< old and new value; "" if the setting is not a change of one value
  std::vector<std::string> from_facts = {};   ///< names of the facts of the old value; not in the JSON
  std::vector<Location> from_locations = {};  ///< the lines that show it; not in the JSON
  bool prose = false;                         ///< words only: the text is an instruction, no line to copy
  bool gap = false;                           ///< words only: a line with a gap that the reader fills first
};

/// One fix. The savings are a range in bytes, absent if unknown.
struct ReportFix {
  std::string id, title;
  std::vector<std::string> causes;
  std::optional<std::int64_t> saves_low_bytes, saves_high_bytes;
  std::string saves_formula;
  int cost = 0, risk = 0;       ///< classes: cost 0 to 4, risk 0 to 3
  bool enough = false;          ///< this fix alone frees the missing memory, with the margin
  bool serves_request = false;  ///< it covers the failed request, and the step may need more; not in the JSON
  bool falls_short = false;     ///< the first fix, and less than what is missing with the margin; not in the JSON
  bool if_not_already = false;  ///< the log does not show whether it is already set
  std::string why;              ///< the numbers of this log that support it
  std::vector<FixSetting> settings;
  std::vector<std::string> not_with;  ///< ids of fixes that exclude it
  std::string verify;                 ///< the check in the next run
  bool diagnostic = false;            ///< it provides information, and changes nothing in the next run; not in the JSON
  bool outside = false;               ///< it asks for another machine, or for what is other people's; not in the JSON
  bool allows = false;                ///< it frees nothing: the program may take so much more; not in the JSON
  std::vector<std::string> facts;     ///< names of the facts that decided; not in the JSON
  std::vector<Location> locations;
};

/// The fixes that together free the missing memory.
struct ReportPlan {
  std::vector<std::string> fixes;
  std::int64_t need_bytes = 0, margin_bytes = 0;  ///< `need_bytes` includes the margin
  std::optional<std::int64_t> predicted_peak_bytes;
  bool would_have_fitted = false;
  bool at_least = false;  ///< `need_bytes` is a lower bound: what was still to come needs more than the failed request
};

/// Popular advice that would not help, with the reason.
struct HeldBack {
  std::string id, title, because;
  bool generic = false;  ///< words only: popular everywhere, but this log neither shows nor suggests it
};

/// A missing fact, and the command that finds it.
struct Question {
  std::string missing, text, command;
  bool prose = false;  ///< words only: the command is an instruction, no line to copy
  bool gap = false;    ///< words only: it has a gap that the reader fills first
};

/// A remark on the reading of the logs: "error", "warning" or "note".
struct ReportNote {
  std::string severity, text;
  std::optional<Location> location;
  bool brief = false;     ///< not in the JSON: the short report shows it, although it is not a warning
  std::string code = {};  ///< of a note about a snapshot that was not, or not wholly, read
};

/// Evidence that could not be kept, opened, read or judged. A report with such evidence never rules a failure out.
struct ReportLostEvidence {
  std::string what;                  ///< "123 bytes of output", "the log"
  std::string why;                   ///< "Permission denied"
  std::string path;                  ///< of the file or folder; of the log if a log reports it
  std::optional<Location> location;  ///< the line of a log that reports it

  friend bool operator==(const ReportLostEvidence&, const ReportLostEvidence&) = default;
};

/// A line of the program's code; absent for memory that no line of the user's code requested.
struct CodeLine {
  std::optional<std::string> file;
  std::optional<std::int64_t> line;
  std::optional<std::string> function;

  friend bool operator==(const CodeLine&, const CodeLine&) = default;
};

/// The live memory of a line of code.
struct ReportHolder {
  CodeLine at;
  std::string category;  ///< that of most bytes
  std::int64_t live_bytes = 0, blocks = 0;
};

/// A line of code that keeps more and more memory.
struct ReportGrowth {
  CodeLine at;
  std::int64_t bytes_per_step = 0;
  double blocks_per_step = 0;
  std::optional<std::int64_t> first_step;  ///< 1 is the first step of the trace
  std::string unit = "step";               ///< "snapshot": from the file before to this one
};

/// A line of code whose live blocks keep free memory in pieces.
struct ReportPinner {
  CodeLine at;
  std::int64_t blocks = 0, live_bytes = 0, stranded_bytes = 0;
};

/// The recorded requests under another setting of the allocator.
struct ReportWhatIf {
  std::string setting;
  std::optional<bool> fits;  ///< all of them and the refused one; absent if none was refused
  std::int64_t peak_reserved_bytes = 0;
};

/// Why a refused request did not fit. The first that holds the request, each with those before it.
enum class SnapshotFailure {
  fragmentation,   ///< the free blocks of its list and the free memory of the device, in pieces
  stream_pending,  ///< the blocks of other streams
  private_pool,    ///< the blocks of other pools
  capacity,        ///< nothing
  none,            ///< no request was refused
  unknown,
};

inline constexpr std::array<std::string_view, 6> snapshot_failure_names = {
    "fragmentation", "stream_pending", "private_pool", "capacity", "none", "unknown"};
constexpr std::string_view to_string(SnapshotFailure failure) {
  return snapshot_failure_names[static_cast<std::size_t>(failure)];
}

/// The live memory of a line of code over the trace of a snapshot, for a picture.
struct ReportLiveCurve {
  CodeLine at;
  std::string category;             ///< without a line: of the memory; "others" for all that have no curve of their own
  std::vector<std::int64_t> bytes;  ///< one value for each point
};

/// Live memory over the trace. A point is the moment with the most live memory among equally many events.
struct ReportLiveMemory {
  std::vector<ReportLiveCurve> curves;  ///< the line that once had the most comes first, "others" last
  std::int64_t peak_bytes = 0, peak_event = 0;
  std::int64_t events = 0;  ///< up to the moment of the snapshot
};

/// What a picture shows of a block. A pinner is a live block that keeps free memory of its segment in pieces.
enum class DrawnBlock { live, pending, free, pinner };

/// A piece of a segment: a block, or several blocks that are too small to be drawn.
struct ReportMapPiece {
  DrawnBlock kind = DrawnBlock::live;  ///< of several blocks that of most bytes, or pinner if one of them is
  std::int64_t bytes = 0;
  bool begins_segment = false;
};

/// The segments of one list of free blocks, by address.
struct ReportMapList {
  std::int64_t stream = 0;
  bool small = false;         ///< for requests up to 1 MiB
  bool private_pool = false;  ///< of a CUDA graph, or a torch.cuda.MemPool
  bool of_request = false;    ///< the refused request may use it
  std::int64_t segments = 0, bytes = 0, free_bytes = 0;
  std::vector<ReportMapPiece> pieces;
};

/// Where the blocks are, for a picture.
struct ReportMemoryMap {
  std::int64_t row_bytes = 0;        ///< of one row of the picture
  std::int64_t joined_blocks = 0;    ///< that are drawn together with others
  std::vector<ReportMapList> lists;  ///< that of the request first, then the largest
  std::int64_t more_lists = 0;
};

/// What an allocator snapshot shows of one device, at the last failure, or else at its end. Sums are exact, and what
/// the file cannot tell is absent.
struct ReportSnapshot {
  std::string path, form;
  std::optional<int> protocol;
  std::string torch;  ///< the oldest release whose keys account for the file
  int device = 0;
  std::optional<int> rank;
  std::int64_t events = 0;
  std::string history;  ///< "cut", "full", "state" or "none"
  std::optional<std::int64_t> unrecorded_bytes;
  std::string at;  ///< "oom", "after_unwind" or "end"
  std::int64_t reserved_bytes = 0, live_bytes = 0;
  std::string live_basis = "requested";
  std::int64_t pending_bytes = 0;
  std::optional<std::int64_t> free_cached_bytes, largest_free_bytes, device_free_bytes, request_bytes;
  SnapshotFailure failure = SnapshotFailure::unknown;
  std::vector<ReportHolder> holders;                ///< most bytes first
  std::optional<std::vector<ReportGrowth>> growth;  ///< most bytes first
  std::vector<ReportPinner> pinners;                ///< most stranded bytes first
  std::vector<ReportWhatIf> what_if;
  std::string what_if_unavailable;
  std::optional<std::string> joined_incident, own_incident;
  std::optional<ReportLiveMemory> live_memory;  ///< in pictures only; absent without a trace
  std::optional<ReportMemoryMap> map;           ///< in pictures only; absent if the layout is unknown
};

/// The number of lines, and of the lines that a parser recognized.
struct ReportCoverage {
  std::int64_t lines = 0, claimed = 0;
  std::map<std::string, std::int64_t> by_parser;
};

/// A setting of the run, with its last printed value.
struct ReportSetting {
  std::string name, value;
  Location location;
};

/// The whole report.
struct Report {
  std::string tool_version;
  std::string job;  ///< words only: the scheduler's number, from the name of a log; "" where unknown
  std::vector<ReportInput> inputs;
  std::vector<ReportSetting> settings;  ///< sorted by name
  Verdict verdict;
  std::vector<ReportRun> runs;  ///< empty if there is only one
  std::vector<ReportIncident> incidents;
  std::int64_t more_incidents = 0;  ///< beyond `incidents`
  std::vector<ReportSeries> series;
  std::int64_t more_series = 0;             ///< of very many ranks; only `ranks` has them
  std::vector<ReportSeries> input_lengths;  ///< lengths of the batches, if the log prints them; no memory
  std::vector<ReportRank> ranks;            ///< sorted by number; empty if fewer than two are known
  std::vector<ReportSnapshot> snapshots;    ///< of each file and device
  std::vector<ReportCause> causes;          ///< most probable first
  std::vector<ReportFix> fixes;             ///< in the order to try
  std::optional<ReportPlan> plan;
  std::vector<HeldBack> held_back;
  std::vector<Question> questions;
  ReportCoverage coverage;
  std::vector<ReportLostEvidence> lost;
  std::int64_t more_lost = 0;  ///< beyond `lost`
  std::vector<ReportNote> notes;
  std::vector<Location> neighbours;    ///< words only: the lines next to cited ones, where an output shows them
  std::string neighbours_lost;         ///< words only: why some of them could not be read; "" if all could
  std::optional<ReportCause> why_not;  ///< the cause that the caller asked about, with all its signs, fired or not
  std::vector<std::string> trace;      ///< the known facts with values and citations; only on request
};

}  // namespace oomdoctor
