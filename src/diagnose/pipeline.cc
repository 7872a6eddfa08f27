#include "diagnose/pipeline.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/parallel.h"
#include "evidence/evidence_reader.h"
#include "fold/path_tags.h"
#include "fold/series_retention.h"
#include "growth/samples.h"
#include "judge/verdict.h"
#include "oomdoctor/version.h"
#include "report/assemble.h"
#include "text/digest.h"
#include "text/source.h"

namespace oomdoctor {
namespace {

constexpr std::string_view end_of_command = "the end of the command";  ///< as oomdoctor run itself says it

std::string declared_text(const Parser& parser) {
  const std::size_t n = parser.gauges.size();
  return "Read with " + std::to_string(n) + (n == 1 ? " line format" : " line formats") + " of " +
         std::string(parser.name);
}

/// Built on first use, because a healthy log needs no rules. Never destroyed, because that would only delay the exit.
const RulePack& shipped_pack() {
  static const RulePack& pack = *new RulePack(shipped_rules());
  return pack;
}

}  // namespace

LogReader::LogReader(const std::vector<std::string>& format_files) {
  // Built once, then const, because a process may read many logs. Never destroyed, because that would only delay the
  // exit.
  static const Scanner& shipped = *new Scanner(all_parsers(), shipped_prefilter_plan());
  scanner_ = &shipped;
  if (format_files.empty()) return;
  formats_.emplace(all_parsers());
  for (const std::string& path : format_files) formats_->add_file(path);
  scanner_ = &extended_.emplace(formats_->parsers(), shipped_prefilter_plan());
}

ScanResult LogReader::read(const LogSource& log, std::size_t threads) const {
  // The descriptor is open only during this call: there may be more logs than descriptors.
  Source source = log.memory   ? Source::of_text(log.path, *log.memory)
                  : log.member ? archives_.open(log.member->archive, log.member->index, log.path)
                               : Source::open(log.path, log.continued);
  if (is_evidence(source.peek())) return finished(read_evidence(source));
  return finished(scanner_->scan(source, {.jobs = threads}));
}

std::string LogReader::digest_of(const LogSource& log) const {
  if (log.memory) return digest_of_text(*log.memory);
  if (!log.member) return digest_of_file(log.path, log.continued);
  return digest_of_bytes(archives_.reader(log.member->archive, log.member->index));
}

ScanResult LogReader::finished(ScanResult scan) const {
  const auto is_end = [](const LostEvidence& lost) { return lost.what == end_of_command; };
  if (scan.remark_counts.contains("run/recorded") && !scan.remark_counts.contains("run/record_ends") &&
      std::none_of(scan.lost.begin(), scan.lost.end(), is_end))
    scan.lose({.what = std::string(end_of_command), .why = "oomdoctor run was killed before it"});
  if (formats_)
    for (const Parser* parser : formats_->parsers())
      if (parser->declared) scan.notes.push_back({Severity::note, declared_text(*parser), {}});
  limit_series(scan.series);
  if (scan.notes.size() > ScanLimits::notes) {
    scan.more_notes += static_cast<i64>(scan.notes.size() - ScanLimits::notes);
    scan.notes.resize(ScanLimits::notes);
  }
  return scan;
}

ScanResult unread_log(const std::string& path, const Error& error) {
  const auto* of_file = dynamic_cast<const FileError*>(&error);
  const std::string why = of_file != nullptr ? of_file->reason() : error.what();
  ScanResult file;
  file.inputs.emplace_back().path = path;
  file.inputs.front().unreadable = "unreadable (" + why + ")";
  file.lose({.what = "the log", .why = why, .path = path});
  return file;
}

bool was_cut_by_failure(const ScanResult& file) {
  const Input& input = file.inputs.front();
  return input.truncated && input.compression.empty();  // only an archive can end early by itself
}

Rules::Rules(const Options& options) {
  if (!options.rules_folder.empty()) extended_.emplace(shipped_pack()).add_folder(options.rules_folder);
}

const RulePack& Rules::pack() const { return extended_ ? *extended_ : shipped_pack(); }

Result diagnose_scan(ScanResult scan, const Rules& rules, const Options& options, std::size_t threads,
                     Purpose purpose) {
  const bool all_series = purpose == Purpose::report;
  const AnalysisOptions how{options.capacity_bytes, threads, all_series};
  for (const ReportLostEvidence& lost : options.lost) scan.lose({lost.what, lost.why, lost.path});
  for (const std::string& note : options.notes) scan.notes.push_back({Severity::note, note, {}});
  resolve_units(scan, how);
  for (Series& series : scan.series) count_values_of_repeated_steps(series);
  Analysis analysis = analyse(scan, how);
  const Diagnosis diagnosis =
      needs_judgement(analysis) ? judge(rules.pack(), analysis.facts, analysis.quotes) : Diagnosis{};
  Report report = assemble(scan, analysis, diagnosis, {options.why_not, options.trace, all_series});
  report.tool_version = version;
  for (const Input& input : scan.inputs)
    if (report.job.empty()) report.job = job_in_path(input.path);
  return {std::move(scan), std::move(analysis), std::move(report)};
}

std::size_t thread_count(const Options& options) { return options.jobs > 0 ? options.jobs : default_jobs(); }

std::size_t threads_per_log(std::size_t logs, const Options& options) {
  const std::size_t threads = thread_count(options);
  return logs < threads ? threads : 1;
}

std::optional<std::int64_t> file_time(const LogSource& log) {
  if (log.memory || log.member || is_stream(log)) return std::nullopt;
  struct stat status {};
  const std::string& last = log.continued.empty() ? log.path : log.continued.back();
  if (stat(last.c_str(), &status) != 0 || status.st_mtime < 0) return std::nullopt;
  return static_cast<std::int64_t>(status.st_mtime);
}

bool is_stream(const LogSource& log) {
  std::error_code error;
  if (log.memory || log.member) return false;
  const auto status = std::filesystem::status(log.path, error);
  return log.path == "-" || (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status));
}

}  // namespace oomdoctor
