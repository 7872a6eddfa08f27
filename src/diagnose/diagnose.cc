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
#include "fold/jobs.h"
#include "fold/result_merger.h"
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
  std::vector<std::optional<Error>> problems(sources.size());  // each thread writes those of its logs
  const auto read = [&](std::size_t i) {
    try {
      return logs.read(sources[i], threads);
    } catch (const Error& error) {
      problems[i] = error;
      return unread_log(sources[i].path, error);
    }
  };
  Report report =
      diagnose_logs({sources.size(), read, std::none_of(sources.begin(), sources.end(), is_stream)}, rules, options);
  const auto failed = [](const std::optional<Error>& problem) { return problem.has_value(); };
  if (!problems.empty() && std::all_of(problems.begin(), problems.end(), failed)) throw *problems.front();
  return report;
}

namespace {

/// The part of one log, and why the log could not be opened.
struct MadePart {
  std::string line;
  std::optional<Error> problem;
};

/// The content identifies a log. Where it cannot be read to its end, the part itself does.
MadePart make_part(const LogSource& log, const LogReader& logs, const Options& options, std::size_t threads) {
  MadePart part;
  ScanResult file;
  std::string digest;
  if (is_stream(log)) digest_of_file(log.path);  // throws
  try {
    file = logs.read(log, threads);
    if (!was_cut_by_failure(file)) digest = logs.digest_of(log);
  } catch (const Error& error) {
    if (file.inputs.empty()) {
      part.problem = error;
      file = unread_log(log.path, error);
    }
  }
  if (!options.secrets_in_parts) remove_secrets(file);
  const std::string path = without_secrets(log.path);
  if (digest.empty()) digest = digest_of_text(partial_line({path, "", {}}, file));
  part.line = partial_line({path, digest, file_time(log)}, file);
  return part;
}

}  // namespace

// Parts of logs that cannot be opened wait for the first one that can: without any, there is only the error.
void read_parts(const std::vector<LogSource>& sources, const Options& options, const PartSink& take) {
  const LogReader logs(options.format_files);
  const std::size_t threads = threads_per_log(sources.size(), options);
  std::vector<MadePart> parts(sources.size());
  std::vector<std::string> waiting;
  std::optional<Error> first_problem;
  bool any = false;
  for_each_in_order(
      sources.size(), thread_count(options),
      [&](std::size_t i) { parts[i] = make_part(sources[i], logs, options, threads); },
      [&](std::size_t i) {
        const MadePart part = std::exchange(parts[i], {});
        any |= !part.problem;
        if (part.problem && !first_problem) first_problem = part.problem;
        waiting.push_back(part.line);
        if (any)
          for (const std::string& line : std::exchange(waiting, {})) take(line);
        if (options.progress) options.progress({i + 1, sources.size()});
      });
  if (!any && first_problem) throw Error(*first_problem);
  for (const ReportLostEvidence& lost : options.lost) {
    ScanResult file = unread_log(lost.path, FileError(lost.what, lost.why));
    file.lost.front().what = lost.what;
    if (!options.secrets_in_parts) remove_secrets(file);
    const std::string path = without_secrets(lost.path);
    take(partial_line({path, digest_of_text(partial_line({path, "", {}}, file)), {}}, file));
  }
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
  Options with_problems = options;
  for (const std::string& problem : parts.problems()) with_problems.lost.push_back({"a part", problem, "", {}});
  if (parts.size() == 0) with_problems.lost.push_back({"all logs", "the files contain no part", "", {}});
  Report report = diagnose_logs({parts.size(), read}, rules, with_problems);
  if (lost > 0 &&
      lost == parts.size())  // the logs that could not be read then may be readable now, so the reason may be absent
    throw parts.find_problem(0).value_or(Error("no part could be read", "", "try again"));
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
