// The fields of the JSON report, version 1.2: see fields.h. A test checks that each struct of the report lists all its
// members.
#pragma once

#include <string>

#include "model/memory_snapshot.h"
#include "oomdoctor/report.h"
#include "report/advice_words.h"
#include "report/fields.h"

namespace oomdoctor {

inline constexpr std::initializer_list<const char*> outcomes = {
    "oom", "handled_oom", "at_risk", "possible_oom", "ended_otherwise", "no_oom", "unrecognised"};
inline constexpr std::initializer_list<const char*> x_units = {"step", "epoch", "second", "value"};
inline constexpr FieldSpec as_step_or_infinite{.form = NumberForm::step, .infinite = true};

void fields(auto& field, Is<Location> auto& of) {
  field.type("location");
  field("path", of.path);
  std::optional<std::int64_t> line, end_line;  // a file that is not text has none
  if (!of.event && !of.offset) line = of.line, end_line = of.end_line;
  field("line", line, {.description = "1-based line on which the message begins", .minimum = 0});
  field("end_line", end_line, as_count);
  field("event", of.event, {.description = "0-based event of the device's trace in a snapshot", .minimum = 0});
  field("offset", of.offset, {.description = "0-based byte of an unpacked file that is not text", .minimum = 0});
  field.words_only(of.excerpt, of.column, of.end_column, of.lead);
}

void fields(auto& field, Is<ReportInput> auto& of) {
  field.type("input");
  field("path", of.path);
  field("kind", of.kind, {.description = "log, smi_csv, kernel_log, …"});
  field("bytes", of.bytes, as_count);
  field("lines", of.lines, as_count);
  field("compression", of.compression, if_any);
  field("truncated", of.truncated, if_any);
}

void fields(auto& field, Is<Retry> auto& of) {
  field("decision", of.decision, {.values = {"", "stop", "retry_unchanged", "retry_with_change", "unknown"}});
  field("change", of.change, if_any);
}

void fields(auto& field, Is<RunEnd> auto& of) {
  field.type("run_end", "what ended a run, where the log shows it and it was not memory");
  field("kind", of.kind,
        {.description = "exception, crash, timeout, cancelled, disk_full, limit, nccl, device_error, signal, rejected, "
                        "exit, finished"});
  field("text", of.text, {.description = "the line"});
  field("location", of.location);
}

/// `cause` is always present, so that scripts need no check for the field.
void fields(auto& field, Is<Verdict> auto& of) {
  field.type("verdict");
  field("outcome", of.outcome, {.values = outcomes});
  field("cause", of.cause,
        {.description = "a cause id, undetermined, or null when there is nothing to explain", .null_if_empty = true});
  field("cause_title", of.cause_title, if_any);
  field("confidence", of.confidence, as_probability);
  field("headline", of.headline);
  field("incident", of.incident, {.description = "id of the incident that it is about"});
  field("retry", of.retry);
  field("end", of.end);
}

void fields(auto& field, Is<ReportRun> auto& of) {
  field.type("run");
  field("id", of.id);
  field("path", of.path);
  field("first_line", of.first_line, {.minimum = 1});
  field("last_line", of.last_line, {.minimum = 1});
  field("outcome", of.outcome, {.values = outcomes});
  field("end", of.end);
  field("headline", of.headline);
  field.words_only(of.failure, of.several_ends);
}

void fields(auto& field, Is<Share> auto& of) {
  field("label", of.label);
  field("bytes", of.bytes, in_bytes);
}

void fields(auto& field, Is<ReportAccount> auto& of) {
  field.type("account", "shares + unexplained = capacity");
  field("capacity_bytes", of.capacity_bytes, in_bytes);
  field("shares", of.shares);
  field("unexplained_bytes", of.unexplained_bytes, in_bytes);
  field("slack_bytes", of.slack_bytes, in_bytes);
}

void fields(auto& field, Is<ReportFrame> auto& of) {
  field.type("frame");
  field("file", of.file);
  field("line", of.line, as_count);
  field("function", of.function);
  field("code", of.code, if_any);
  field.words_only(of.runs_any);
}

/// The sizes are those of the message as printed. The memory breakdown has sums and differences.
void fields(auto& field, Is<ReportIncident> auto& of) {
  field.type("incident");
  field("id", of.id);
  field("kind", of.kind, {.values = {"device", "host", "shared_memory", "masked", "pool"}});
  field("agent", of.agent, {.description = "who refused or killed"});
  field("framework", of.framework, if_any);
  field("message_format", of.message_format, if_any);
  field("location", of.location);
  field("occurrences", of.occurrences, {.description = "the same failure printed again"});
  field("more_occurrences", of.more_occurrences, {.optional = true, .minimum = 1});
  field("handled", of.handled, {.description = "the program continued"});
  field("follows", of.follows,
        {.description = "id of the incident that this one came after: its consequence, or the same on another rank"});
  field("device", of.device);
  field("rank", of.rank);
  field("pid", of.pid);
  field("host", of.host, if_any);
  field("step", of.step);
  field("epoch", of.epoch);
  field("phase", of.phase,
        {.optional = true,
         .values = {"load", "first_step", "optimizer_init", "forward", "backward", "optimizer", "evaluation",
                    "generation", "checkpoint_save", "checkpoint_load", "data_loading"}});
  field.words_only(of.context, of.time, of.run_step, of.epoch_over, of.bar, of.moment, of.numbers, of.other_memory,
                   of.accelerator);
  field("requested_bytes", of.requested_bytes, in_bytes);
  field("capacity_bytes", of.capacity_bytes, in_bytes);
  field("free_bytes", of.free_bytes, in_bytes);
  field("process_bytes", of.process_bytes, in_bytes);
  field("allocated_bytes", of.allocated_bytes, in_bytes);
  field("reserved_bytes", of.reserved_bytes, in_bytes);
  field("unallocated_bytes", of.unallocated_bytes, in_bytes);
  field("private_pool_bytes", of.private_pool_bytes, in_bytes);
  field("limit_bytes", of.limit_bytes, in_bytes);
  field("ranks", of.ranks,
        {.description = "the ranks that ran out in the same way, each by itself; incidents that follow have their "
                        "numbers",
         .optional = true,
         .min_items = 2});
  field.list(
      "other_processes", of.other_processes,
      [](auto& process, auto& pid_and_bytes) {
        process("pid", pid_and_bytes.first);
        process("bytes", pid_and_bytes.second, in_bytes);
      },
      if_any);
  field("frame", of.frame);
  field("ask_frame", of.ask_frame);
  field("account", of.account);
}

void fields(auto& field, Is<ReportEstimate> auto& of) {
  field.type("estimate", "with its 95% interval");
  field("value", of.value, as_real);
  field("low", of.low, as_real);
  field("high", of.high, as_real);
}

void fields(auto& field, Is<ReportForecast> auto& of) {
  field.type("forecast", "a 90% interval for the step at which capacity is reached");
  field("capacity_bytes", of.capacity_bytes, in_bytes);
  field("step", of.step, as_step_or_infinite);
  field("step_low", of.step_low, as_step_or_infinite);
  field("step_high", of.step_high,
        {.description = "null: no bound", .form = NumberForm::step, .null_if_empty = true, .infinite = true});
  field("beyond_data", of.beyond_data, {.description = "further ahead than the log is long"});
}

void fields(auto& field, Is<ReportCurvePoint> auto& of) {
  field.row();
  field("step", of.x, as_step_or_infinite);
  field("value", of.y, as_value);
  field("low", of.low, as_value);
  field("high", of.high, as_value);
}

void fields(auto& field, Is<ReportStage> auto& of) {
  field.type("stage");
  field("kind", of.kind,
        {.values = {"idle", "load", "warmup", "working", "evaluation", "pause", "release", "restart"}});
  field("first_step", of.first_step, as_step_or_infinite);
  field("last_step", of.last_step, as_step_or_infinite);
  field("first_value", of.first_value, as_value);
  field("last_value", of.last_value, as_value);
  field("slope", of.slope, {.description = "bytes per step", .infinite = true});
}

void fields(auto& field, Is<ReportTrend> auto& of) {
  field.type("trend");
  field("leak", of.leak, {.description = "growth without a bound"});
  field("shape", of.shape,
        {.values = {"flat", "warmup", "step", "saturating", "sawtooth", "spike", "noisy", "linear", "accelerating",
                    "too_short"}});
  field("confidence", of.confidence, as_probability);
  field("slope", of.slope, {.description = "bytes per step"});
  field("acceleration", of.acceleration, {.description = "bytes per step²"});
  field("onset_step", of.onset_step, as_step);
  field("change_points", of.change_points, as_step);
  field("period", of.period, as_step);
  field("model", of.model);
  field.list("models", of.models,
             [](auto& model, auto& name_and_score) {
               model("name", name_and_score.first);
               model("score", name_and_score.second, as_real);
             },
             {.description = "candidates, lower is better"});
  field("capacity_bytes", of.capacity_bytes, in_bytes);
  field("forecast", of.forecast);
  field("why", of.why);
  field.words_only(of.release, of.moves, of.equal_rises, of.unsure, of.increment);
  field("stages", of.stages,
        {.description = "what the run was doing, in order; the rest of the trend speaks of the working stage that it "
                        "ended in",
         .optional = true});
  field("curve", of.curve,
        {.description = "of the model, for drawing: step, value, and the 95% interval of the curve there",
         .optional = true});
}

/// An array, because a series has hundreds of points.
void fields(auto& field, Is<ReportPoint> auto& of) {
  field.row();
  field("step", of.x, as_step_or_infinite);
  field("value", of.y, as_value);
}

void fields(auto& field, Is<ReportLevel> auto& of) {
  field("value", of.value, as_value);
  field("low", of.low, as_value);
  field("high", of.high, as_value);
  field("n", of.n);
}

void fields(auto& field, Is<ReportSeries> auto& of) {
  field.type("series");
  field.whole_values(of.unit != "%");
  field("id", of.id);
  field("metric", of.metric);
  field("kind", of.kind);
  field("label", of.label, if_any);
  field("rank", of.rank);
  field("device", of.device);
  field("run", of.run,
        {.description = "number of its run, from 1, where the log has several", .optional = true, .minimum = 1});
  field.words_only(of.followed, of.accelerator);
  field("unit", of.unit, {.description = "as printed"});
  field("x_unit", of.x_unit, {.description = "what first_step, slope and forecast count", .values = x_units});
  field("n", of.n, {.description = "values that the log prints, before any thinning", .minimum = 0});
  field("first_step", of.first_step, as_step);
  field("last_step", of.last_step, as_step);
  field.words_only(of.start_time, of.clock);
  field("first_value", of.first_value, as_value);
  field("last_value", of.last_value, as_value);
  field("max_value", of.max_value, as_value);
  field("quantum", of.quantum, as_value);
  field("first_location", of.first);
  field("last_location", of.last);
  field("trend", of.trend);
  field("steady", of.steady,
        {.description = "the level after the warm-up: its median, the tenths of the values, and how many they are; "
                        "absent where values are few or grow without a bound"});
  field("points", of.points, {.description = "step and value, thinned"});
}

void fields(auto& field, Is<ReportRank> auto& of) {
  field.type("rank", "values are those of the series that the diagnosis is about");
  std::optional<bool> leak;  // absent without a series, as its values are
  if (!of.metric.empty()) leak = of.leak;
  field("rank", of.rank, as_count);
  field("failed", of.failed, {.description = "ran out of memory, and the program did not catch it"});
  field("last_step", of.last_step);
  field("metric", of.metric, if_any);
  field("first_value", of.first_value, as_value);
  field("last_value", of.last_value, as_value);
  field("max_value", of.max_value, as_value);
  field("leak", leak);
  field("location", of.location);
}

void fields(auto& field, Is<Reason> auto& of) {
  field.type("reason");
  std::string first = of.facts.empty() ? "" : of.facts.front();
  field("fact", first);
  field("text", of.text);
  field("weight", of.weight, {.description = "natural logarithm of the likelihood ratio"});
  field("locations", of.locations);
}

void fields(auto& field, Is<ExplainedFix> auto& of) { field.words_only(of.id, of.title); }

void fields(auto& field, Is<CauseExplanation> auto& of) {
  field.words_only(of.text, of.signs_for, of.signs_against, of.fixes, of.no_fix);
}

void fields(auto& field, Is<ReportCause> auto& of) {
  field.type("cause");
  field("cause", of.cause);
  field("title", of.title);
  field("probability", of.probability, as_probability);
  field("explain", of.explain, if_any);
  field("because", of.because);
  field("against", of.against);
  field.words_only(of.guide, of.explanation);
}

void fields(auto& field, Is<FixSetting> auto& of) {
  field("for", of.scope);
  field("text", of.text, {.description = "a line to copy"});
  field("from", of.from, if_any);
  field("to", of.to, if_any);
  field.words_only(of.from_facts, of.from_locations, of.prose, of.gap);
}

/// `saves` and `settings` are always present, and empty if unknown.
void fields(auto& field, Is<ReportFix> auto& of) {
  field.type("fix");
  field("id", of.id);
  field("title", of.title);
  field("causes", of.causes);
  field.group("saves", [&](auto& saves) {
    saves("low_bytes", of.saves_low_bytes, in_bytes);
    saves("high_bytes", of.saves_high_bytes, in_bytes);
    saves("formula", of.saves_formula, if_any);
  });
  field.object("cost", of.cost, [](auto& cost, auto& level) {
    std::string text(cost_text(level));
    cost("class", level, {.minimum = 0, .maximum = 4});
    cost("text", text);
  });
  field.object("risk", of.risk, [](auto& risk, auto& level) {
    std::string text(risk_text(level));
    risk("class", level, {.minimum = 0, .maximum = 3});
    risk("text", text);
  });
  field("enough", of.enough, {.description = "frees what is needed on its own, with the margin"});
  field("if_not_already", of.if_not_already, {.description = "the log does not show whether it is set"});
  field("why", of.why, if_any);
  field("settings", of.settings);
  field("not_with", of.not_with);
  field("verify", of.verify, if_any);
  field.words_only(of.diagnostic, of.outside, of.allows, of.serves_request, of.falls_short, of.facts);
  field("locations", of.locations, if_any);
}

void fields(auto& field, Is<ReportPlan> auto& of) {
  field.type("plan", "the smallest set of fixes that fits with the margin");
  field("fixes", of.fixes);
  field("need_bytes", of.need_bytes, in_bytes);
  field("margin_bytes", of.margin_bytes, in_bytes);
  field("predicted_peak_bytes", of.predicted_peak_bytes, in_bytes);
  field("would_have_fitted", of.would_have_fitted);
  field("at_least", of.at_least, if_any);
}

void fields(auto& field, Is<HeldBack> auto& of) {
  field("id", of.id);
  field("title", of.title);
  field("because", of.because);
  field.words_only(of.generic);
}

void fields(auto& field, Is<Question> auto& of) {
  field("missing", of.missing);
  field("text", of.text);
  field("command", of.command);
  field.words_only(of.prose, of.gap);
}

void fields(auto& field, Is<ReportNote> auto& of) {
  field.type("note");
  field("severity", of.severity, {.values = {"note", "warning", "error"}});
  field("code", of.code, if_any);
  field("text", of.text);
  field("location", of.location);
  field.words_only(of.brief);
}

void fields(auto& field, Is<ReportLostEvidence> auto& of) {
  field.type("lost_evidence", "could not be kept, opened, read or judged");
  field("what", of.what);
  field("why", of.why);
  field("path", of.path, if_any);
  field("location", of.location);
}

inline constexpr FieldSpec or_null{.null_if_empty = true};
inline constexpr FieldSpec bytes_or_null{.description = "bytes", .null_if_empty = true};

/// The fields of a line are members of the object that has it.
void code_line_fields(auto& field, auto& of) {
  field.begin_member();
  field("file", of.file, or_null);
  field("line", of.line, or_null);
  field("function", of.function, or_null);
  field.end_member();
}

void fields(auto& field, Is<ReportHolder> auto& of) {
  field.type("holder");
  code_line_fields(field, of.at);
  field("category", of.category,
        {.values = {"parameter", "gradient", "optimizer_state", "activation", "input", "temporary", "kv_cache",
                    "workspace", "collective", "unrecorded", "unknown"}});
  field("live_bytes", of.live_bytes, in_bytes);
  field("blocks", of.blocks, as_count);
}

void fields(auto& field, Is<ReportGrowth> auto& of) {
  field.type("snapshot_growth");
  code_line_fields(field, of.at);
  field("bytes_per_step", of.bytes_per_step, in_bytes);
  field("blocks_per_step", of.blocks_per_step, as_real);
  field("first_step", of.first_step, {.description = "1 is the first step of the trace", .null_if_empty = true});
  field("unit", of.unit, {.values = {"step", "snapshot"}});
}

void fields(auto& field, Is<ReportPinner> auto& of) {
  field.type("pinner", "its live blocks keep free memory of these segments");
  code_line_fields(field, of.at);
  field("blocks", of.blocks, as_count);
  field("live_bytes", of.live_bytes, in_bytes);
  field("stranded_bytes", of.stranded_bytes, in_bytes);
}

void fields(auto& field, Is<ReportWhatIf> auto& of) {
  field.type("what_if");
  field("setting", of.setting);
  field("fits", of.fits, or_null);
  field("peak_reserved_bytes", of.peak_reserved_bytes, in_bytes);
}

void fields(auto& field, Is<ReportLiveCurve> auto& of) {
  field.type("live_curve");
  code_line_fields(field, of.at);
  field("category", of.category);
  field("bytes", of.bytes, {.max_items = SnapshotPictures::points + 1});
}

void fields(auto& field, Is<ReportLiveMemory> auto& of) {
  field.type("live_memory");
  field("curves", of.curves, {.max_items = SnapshotPictures::curves});
  field("peak_bytes", of.peak_bytes, in_bytes);
  field("peak_event", of.peak_event, as_count);
  field("events", of.events, as_count);
}

void fields(auto& field, Is<ReportMapPiece> auto& of) {
  field.type("map_piece");
  field("kind", of.kind);
  field("bytes", of.bytes, in_bytes);
  field("begins_segment", of.begins_segment);
}

void fields(auto& field, Is<ReportMapList> auto& of) {
  field.type("map_list");
  field("stream", of.stream);
  field("small", of.small);
  field("private_pool", of.private_pool);
  field("of_request", of.of_request);
  field("segments", of.segments, as_count);
  field("bytes", of.bytes, in_bytes);
  field("free_bytes", of.free_bytes, in_bytes);
  field("pieces", of.pieces, {.max_items = SnapshotPictures::pieces});
}

void fields(auto& field, Is<ReportMemoryMap> auto& of) {
  field.type("memory_map");
  field("row_bytes", of.row_bytes, in_bytes);
  field("joined_blocks", of.joined_blocks, as_count);
  field("lists", of.lists, {.max_items = SnapshotPictures::lists});
  field("more_lists", of.more_lists, as_count);
}

void fields(auto& field, Is<ReportSnapshot> auto& of) {
  field.type("snapshot", "of one device, at the last failure or at the end; what the file cannot tell is null");
  field("path", of.path);
  field("form", of.form, {.values = {"pickle", "json", "html"}});
  field("protocol", of.protocol, or_null);
  field("torch", of.torch, {.description = "the oldest release whose keys account for the file"});
  field("device", of.device);
  field("rank", of.rank, or_null);
  field("events", of.events, as_count);
  field("history", of.history, {.values = {"cut", "full", "state", "none"}});
  field("unrecorded_bytes", of.unrecorded_bytes, bytes_or_null);
  field("at", of.at, {.values = {"oom", "after_unwind", "end"}});
  field("reserved_bytes", of.reserved_bytes, in_bytes);
  field("live_bytes", of.live_bytes, in_bytes);
  field("live_basis", of.live_basis, {.values = {"requested", "rounded"}});
  field("pending_bytes", of.pending_bytes, in_bytes);
  field("free_cached_bytes", of.free_cached_bytes, bytes_or_null);
  field("largest_free_bytes", of.largest_free_bytes, bytes_or_null);
  field("device_free_bytes", of.device_free_bytes, bytes_or_null);
  field("request_bytes", of.request_bytes, bytes_or_null);
  field("failure", of.failure,
        {.values = {"fragmentation", "stream_pending", "private_pool", "capacity", "none", "unknown"}});
  field("holders", of.holders, {.description = "live bytes by line of code, most first", .max_items = most_code_lines});
  field("growth", of.growth,
        {.description = "lines that keep more and more; null if the file cannot tell",
         .null_if_empty = true,
         .max_items = most_code_lines});
  field("pinners", of.pinners, {.max_items = most_code_lines});
  field("what_if", of.what_if,
        {.description = "the recorded requests under other settings of the allocator", .max_items = most_code_lines});
  field("what_if_unavailable", of.what_if_unavailable, if_any);
  field("joined_incident", of.joined_incident, or_null);
  field("own_incident", of.own_incident, or_null);
  field.words_only(of.live_memory, of.map);
}

void fields(auto& field, Is<ReportCoverage> auto& of) {
  field("lines", of.lines, as_count);
  field("claimed", of.claimed, as_count);
  field("by_parser", of.by_parser);
}

void fields(auto& field, Is<ReportSetting> auto& of) {
  field("name", of.name);
  field("value", of.value);
  field("location", of.location);
}

void fields(auto& field, Is<Report> auto& of) {
  field.constant("schema_version", report_schema_version, {.pattern = "^1\\.[0-9]+$"});
  field.group("tool", [&](auto& tool) {
    tool.constant("name", "oomdoctor");
    tool("version", of.tool_version);
  });
  field.words_only(of.job);
  field("inputs", of.inputs);
  field("settings", of.settings,
        {.description = "what the run was set to, as the log printed it last; by name", .optional = true});
  field("verdict", of.verdict);
  field(
      "runs", of.runs,
      {.description = "where the log contains several runs of the job; the verdict is about the last one, or about the "
                      "last that ran out of memory where the last is unfinished",
       .optional = true});
  field("incidents", of.incidents, {.description = "one for each distinct failure, the first one first"});
  field("more_incidents", of.more_incidents, {.optional = true, .minimum = 1});
  field("series", of.series);
  field("more_series", of.more_series,
        {.description = "of very many ranks; ranks has their figures", .optional = true, .minimum = 1});
  field("input_lengths", of.input_lengths,
        {.description = "lengths of the batches' inputs, where the log prints them; no memory", .optional = true});
  field("ranks", of.ranks,
        {.description = "the ranks next to each other, by number; there where two are known", .optional = true});
  field("snapshots", of.snapshots, {.description = "of each allocator snapshot, device by device", .optional = true});
  field("causes", of.causes, {.description = "the most probable first"});
  field("fixes", of.fixes, {.description = "in the order to try"});
  field("plan", of.plan);
  field("held_back", of.held_back, {.description = "popular or printed advice that does not help here"});
  field("questions", of.questions, {.description = "what would settle it"});
  field("coverage", of.coverage);
  field("lost", of.lost,
        {.description = "evidence that could not be kept, opened, read or judged; with it, the outcome is never no_oom",
         .optional = true});
  field("more_lost", of.more_lost, {.optional = true, .minimum = 1});
  field("notes", of.notes);
  field.words_only(of.neighbours, of.neighbours_lost);
  field("why_not", of.why_not);
  field("trace", of.trace, if_any);
}

}  // namespace oomdoctor
