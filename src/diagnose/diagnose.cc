// Logs in, report out; in one go, or in parts.
#include "oomdoctor/diagnose.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "diagnose/pipeline.h"
#include "parse/jobs.h"
#include "parse/result_merger.h"
#include "redact/redact.h"
#include "report/several_jobs.h"
#include "serialize/part_files.h"
#include "serialize/partial.h"
#include "text/digest.h"

namespace oomdoctor {
namespace {

/// The logs of a diagnosis. Threads call `read` concurrently.
struct Logs {
  std::size_t size = 0;
  std::function<ScanResult(std::size_t log)> read;
  bool rereadable = true;  ///< each log can be read twice
};

/// Reports each job separately. It reads the logs a second time, so memory use is one scan per thread.
Report diagnose_jobs(const std::vector<std::vector<std::size_t>>& jobs, const Logs& logs, const Rules& rules,
                     const Options& options) {
  std::vector<std::optional<Report>> results(jobs.size());
  SeveralJobs all;
  for_each_in_order(
      jobs.size(), thread_count(options),
      [&](std::size_t job) {
        ResultMerger merger;
        for (const std::size_t log : jobs[job]) merger.add(logs.read(log));
        results[job] = diagnose_scan(merger.take(), rules, options, 1).report;
      },
      [&](std::size_t job) { all.add(*std::exchange(results[job], std::nullopt), jobs[job]); });
  return all.take();
}

/// Reads all logs in parallel and merges them in their order. Logs of several jobs are read again, job by job.
Report diagnose_logs(const Logs& logs, const Rules& rules, const Options& options) {
  ResultMerger merger;
  std::vector<LogIdentity> identities;
  std::vector<std::optional<ScanResult>> results(logs.size);
  for_each_in_order(
      logs.size, thread_count(options), [&](std::size_t i) { results[i] = logs.read(i); },
      [&](std::size_t i) {
        identities.push_back(read_identity(*results[i]));
        merger.add(*std::exchange(results[i], std::nullopt));
        if (options.progress) options.progress({i + 1, logs.size});
      });
  if (logs.rereadable)
    if (const auto jobs = group_by_job(identities); jobs.size() > 1) return diagnose_jobs(jobs, logs, rules, options);
  return diagnose_scan(merger.take(), rules, options, thread_count(options)).report;
}

}  // namespace

Report diagnose(const std::vector<LogSource>& sources, const Options& options) {
  const Rules rules(options);
  const LogReader logs(options.format_files);
  const std::size_t threads = threads_per_log(sources.size(), options);
  return diagnose_logs({sources.size(), [&](std::size_t i) { return logs.read(sources[i], threads); },
                        std::all_of(sources.begin(), sources.end(), can_be_read_again)},
                       rules, options);
}

void read_parts(const std::vector<LogSource>& sources, const Options& options, const PartSink& take) {
  const LogReader logs(options.format_files);
  const std::size_t threads = threads_per_log(sources.size(), options);
  std::vector<std::string> lines(sources.size());
  for_each_in_order(
      sources.size(), thread_count(options),
      [&](std::size_t i) {
        const LogSource& log = sources[i];
        const std::string digest = log.memory ? digest_of_text(*log.memory) : digest_of_file(log.path);
        ScanResult file = logs.read(log, threads);
        if (!options.secrets_in_parts) remove_secrets(file);
        lines[i] = partial_line({without_secrets(log.path), digest}, file);
      },
      [&](std::size_t i) {
        take(std::exchange(lines[i], {}));
        if (options.progress) options.progress({i + 1, sources.size()});
      });
}

Report merge(const std::vector<std::string>& part_files, const Options& options) {
  const Rules rules(options);
  const PartFiles parts(part_files);
  std::atomic<std::size_t> lost = 0;
  const auto read = [&](std::size_t i) {
    ScanResult file = parts.read(i);
    if (file.inputs.front().unreadable == PartFiles::lost) ++lost;
    return file;
  };
  Report report = diagnose_logs({parts.size(), read}, rules, options);
  if (lost > 0 &&
      lost == parts.size())  // the logs that could not be read then may be readable now, so the reason may be absent
    throw parts.find_problem(0).value_or(Error("no part could be read", "", "try again"));
  for (const std::string& problem : parts.problems())
    report.notes.push_back({"warning", left_out_words(problem), std::nullopt});
  return report;
}

std::vector<std::string> merge_parts(const std::vector<std::string>& part_files, const PartSink& take) {
  const PartFiles parts(part_files);
  std::vector<std::string> problems = parts.problems();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (const auto why = parts.find_problem(i))  // a part is passed on only after it was read without an error
      problems.emplace_back(why->what());
    else
      take(parts.line(i));
  }
  return problems;
}

}  // namespace oomdoctor
