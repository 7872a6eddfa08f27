// The fields of a part (one log's ScanResult as JSON), version 1: see fields.h. All fields are optional: one that is
// empty is left out. Besides the functions of fields.h, a visitor has buckets() and exit_or_remark().
#pragma once

#include "model/scan_result.h"
#include "report/report_fields.h"

namespace oomdoctor {

inline constexpr const char* part_version_field = "oomdoctor_partial";

// Limits for foreign input, far above what a scan produces.
inline constexpr std::size_t max_frames = 1 << 16, max_other_processes = 1 << 16;  ///< per failure
inline constexpr std::size_t max_devices = 1 << 10, max_kept_blocks = 1 << 24;     ///< of a snapshot
inline constexpr std::size_t max_remarks = 1 << 13;                                ///< and ids, parsers, notes

void fields(auto& field, Is<Bytes> auto& of) {
  field.type("size");
  field("count", of.count);
  field("slack", of.slack);
}

void fields(auto& field, Is<Evidence> auto& of) {
  field.type("evidence");
  field("line", of.span.first_line);
  field("end_line", of.span.last_line);
  field("column", of.span.column);
  field("end_column", of.span.end_column);
  field("event", of.span.event, {.description = "of a snapshot's trace, from 0"});
  field("offset", of.span.offset, {.description = "of a file that is not text, from 0"});
  field("reader", of.reader);
  field("excerpt", of.excerpt);
  field("lead", of.lead);
}

void fields(auto& field, Is<Origin> auto& of) {
  field.type("where");
  field("rank", of.rank);
  field("device", of.device);
  field("pid", of.pid);
  field("host", of.host);
}

void fields(auto& field, Is<When> auto& of) {
  field.type("when");
  field("order", of.order, as_count);
  field("time", of.time);
  field("step", of.step);
  field("epoch", of.epoch);
  field("before", of.before);
  field("epoch_over", of.epoch_over);
  field("bar_full", of.bar_full);
  field("bar", of.bar);
}

void fields(auto& field, Is<OtherProcess> auto& of) {
  field("pid", of.pid);
  field("used", of.used);
}

void fields(auto& field, Is<Frame> auto& of) {
  field("file", of.file);
  field("line", of.line);
  field("function", of.function);
  field("code", of.code);
  field("library", of.library);
  field("no_grad", of.no_grad);
  field("outer", of.outer);
  field("passes_on", of.passes_on);
  field("runs_any", of.runs_any);
}

void fields(auto& field, Is<Oom> auto& of) {
  field("kind", of.kind);
  field("agent", of.agent);
  field("framework", of.framework);
  field("message_format", of.message_format);
  field("program", of.program);
  field("traits", of.traits, {.max_items = enum_names<OomTrait>.size()});
  field("request", of.request);
  field("capacity", of.capacity);
  field("free", of.free);
  field("process", of.process);
  field("allocated", of.allocated);
  field("reserved", of.reserved);
  field("unallocated", of.unallocated);
  field("private_pools", of.private_pools);
  field("page_cache", of.page_cache);
  field("largest_free", of.largest_free);
  field("limit", of.limit);
  field("others", of.others, {.max_items = max_other_processes});
  field("caught", of.caught);
  field("beyond_exabyte", of.beyond_exabyte);
  field("sizes_not_available", of.sizes_not_available);
  field("printed_advice", of.printed_advice);
  field("process_name", of.process_name);
  field("frames", of.frames, {.max_items = max_frames});
}

void fields(auto& field, Is<RunPlace> auto& of) {
  field("number", of.number);
  field("first_line", of.first_line);
  field("progress_lines", of.progress_lines);
  field("first_step", of.first_step);
  field("started", of.started, {.description = "seconds since 1970, as the next two"});
  field("saved", of.saved, {.description = "the latest checkpoint with a step after it"});
  field("saving", of.saving, {.description = "a checkpoint after that"});
}

void fields(auto& field, Is<Incident> auto& of) {
  field.type("incident");
  field("oom", of.oom);
  field("at", of.evidence);
  field("in_use", of.in_use);
  field("context", of.context, {.max_items = 2 * ScanLimits::context});
  field("where", of.origin);
  field("when", of.when);
  field("occurrences", of.occurrences, {.max_items = ScanLimits::occurrences});
  field("more_occurrences", of.more_occurrences);
  field("victims", of.victims);
  field("handled", of.handled);
  field("handled_by", of.handled_by);
  field("run", of.run);
}

/// A bucket with a single value takes three numbers, others eight. A restart adds `true`.
void fields(auto& field, Is<Series> auto& of) {
  field.type("series");
  field("metric", of.metric);
  field("kind", of.kind);
  field("where", of.origin);
  field("label", of.label);
  field("phase", of.phase);
  field("unit", of.unit);
  field("ambiguous_unit", of.ambiguous_unit);
  field("run", of.run);
  field("quantum", of.quantum);
  field("capacity", of.capacity);
  field("has_steps", of.has_steps);
  field("has_times", of.has_times);
  field("counts_epochs", of.counts_epochs);
  field("first", of.first_evidence);
  field("last", of.last_evidence);
  field("max", of.max_evidence);
  field("n", of.n, as_count);
  field("first_x", of.first_x);
  field("last_x", of.last_x);
  field("first_value", of.first_value);
  field("last_value", of.last_value);
  field("max_value", of.max_value);
  field("min_value", of.min_value);
  field("max_x", of.max_x);
  field("max_time", of.max_time);
  field("falls", of.falls);
  field("plateaus", of.plateaus);
  field("interval", of.interval);
  field.buckets("buckets", of);
}

void fields(auto& field, Is<KnownSetting> auto& of) {
  field("value", of.value);
  field("at", of.evidence);
  field("before", of.before, {.description = "another value that it had earlier"});
  field("before_line", of.before_line);
}

void fields(auto& field, Is<Exit> auto& of) {
  field("code", of.code);
  field("signal", of.signal);
}

void fields(auto& field, Is<Remark> auto& of) {
  field("id", of.id);
  field("number", of.number);
}

void fields(auto& field, Is<Event> auto& of) {
  field("at", of.evidence);
  field("where", of.origin);
  field("when", of.when);
  field.exit_or_remark(of);
}

void fields(auto& field, Is<Input> auto& of) {
  field("kind", of.kind);
  field("bytes", of.bytes);
  field("lines", of.lines);
  field("compression", of.compression);
  field("truncated", of.truncated);
  field("unreadable", of.unreadable);
}

void fields(auto& field, Is<Note> auto& of) {
  field("severity", of.severity, {.values = {"note", "warning", "error"}});
  field("text", of.text);
  field("at", of.at);
  field("unread", of.unread);
  field("code", of.code);
}

void fields(auto& field, Is<LostEvidence> auto& of) {
  field("what", of.what);
  field("why", of.why);
  field("path", of.path);
  field("only_samples", of.only_samples);
  field("at", of.at);
}

void fields(auto& field, Is<Coverage> auto& of) {
  field("lines", of.lines);
  field("claimed", of.claimed);
  field("by_parser", of.by_parser, {.max_items = max_remarks});
}

void fields(auto& field, Is<RefusedRequest> auto& of) {
  field("event", of.event);
  field("time", of.time);
  field("size", of.size);
  field("segment", of.segment);
  field("device_free", of.device_free);
  field("frames", of.frames, {.max_items = max_frames});
  field("in_backward", of.in_backward);
  field("in_load", of.in_load);
  field("in_optimizer_init", of.in_optimizer_init);
  field("loads_checkpoint", of.loads_checkpoint);
  field("handled", of.handled);
}

void fields(auto& field, Is<SnapshotShares> auto& of) {
  field("states", of.states);
  field("cache", of.cache);
  field("evaluation", of.evaluation);
  field("logits", of.logits);
  field("request", of.request);
}

void fields(auto& field, Is<KeptBlock> auto& of) {
  field.type("kept_block");
  field("address", of.address);
  field("size", of.size);
  field("holder", of.holder, {.description = "index into report.holders"});
}

void fields(auto& field, Is<MemorySnapshot> auto& of) {
  field.type("device_snapshot");
  field("report", of.report);
  field("live_memory", of.report.live_memory);
  field("map", of.report.map);
  field("refused", of.refused);
  field("shares", of.shares);
  field("usable_bytes", of.usable_bytes);
  field("private_bytes", of.private_bytes);
  field("grown_bytes", of.grown_bytes);
  field("grows_in_evaluation", of.grows_in_evaluation);
  field("step_ratio", of.step_ratio);
  field("time", of.time, {.description = "of the last event, seconds since 1970"});
  field("blocks", of.blocks, {.description = "only without a trace", .max_items = max_kept_blocks});
}

void fields(auto& field, Is<ScanResult> auto& of) {
  field.type("case");
  field("input", of.inputs.front());
  field("incidents", of.incidents, {.max_items = ScanLimits::incidents});
  field("more_incidents", of.more_incidents);
  field("later_runs", of.later_runs, {.max_items = ScanLimits::runs});
  field("series", of.series, {.max_items = ScanLimits::series});
  field("more_series", of.more_series);
  field("settings", of.settings, {.max_items = ScanLimits::settings});
  field("snapshots", of.snapshots, {.max_items = max_devices});
  field("remarks", of.remarks, {.max_items = max_remarks});
  field("remark_counts", of.remark_counts, {.max_items = max_remarks});
  field("first_step", of.first_step);
  field("last_step", of.last_step);
  field("last_before", of.last_before);
  field("progress_lines", of.progress_lines);
  field("last_progress", of.last_progress);
  field("first_time", of.period.first, {.description = "the earliest time printed with a date, seconds since 1970"});
  field("last_time", of.period.last);
  field("impossible_values", of.impossible_values);
  field("first_impossible", of.first_impossible);
  field("coverage", of.coverage);
  field("lost", of.lost, {.max_items = ScanLimits::lost});
  field("more_lost", of.more_lost);
  field("notes", of.notes, {.max_items = max_remarks});
  field("more_notes", of.more_notes);
}

}  // namespace oomdoctor
