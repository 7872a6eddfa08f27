// The whole pipeline on one page: read, analyse, judge, report.
#include "oomdoctor/diagnose.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/natural_order.h"
#include "base/parallel.h"
#include "facts/analysis.h"
#include "growth/samples.h"
#include "judge/verdict.h"
#include "oomdoctor/growing_logs.h"
#include "oomdoctor/version.h"
#include "parse/jobs.h"
#include "parse/path_tags.h"
#include "parse/result_merger.h"
#include "parse/scanner.h"
#include "parse/user_formats.h"
#include "redact/redact.h"
#include "report/assemble.h"
#include "report/several_jobs.h"
#include "report/survey.h"
#include "serialize/part_files.h"
#include "serialize/partial.h"
#include "text/digest.h"
#include "text/followed_file.h"
#include "text/source.h"

namespace oomdoctor {

namespace {

std::string declared_text(const Parser& parser) {
  const std::size_t n = parser.gauges.size();
  return "Read with " + std::to_string(n) + (n == 1 ? " line format" : " line formats") + " of " +
         std::string(parser.name);
}

/// Reads logs with the shipped formats and the user's. Each result names the user's formats in a note, because a reader
/// of the report may not have them.
class LogReader {
 public:
  explicit LogReader(const std::vector<std::string>& format_files) {
    // Built once, then const, because a process may read many logs. Never destroyed, because that would only delay the
    // exit.
    static const Scanner& shipped = *new Scanner(all_parsers(), shipped_prefilter_plan());
    scanner_ = &shipped;
    if (format_files.empty()) return;
    formats_.emplace(all_parsers());
    for (const std::string& path : format_files) formats_->add_file(path);
    scanner_ = &extended_.emplace(formats_->parsers(), shipped_prefilter_plan());
  }

  /// Reads one log on `threads` threads.
  ScanResult read(const LogSource& log, std::size_t threads) const {
    // The descriptor is open only during this call: there may be more logs than descriptors.
    Source source = log.memory ? Source::of_text(log.path, *log.memory) : Source::open(log.path);
    return finished(scanner_->scan(source, {.jobs = threads}));
  }

  const Scanner& scanner() const { return *scanner_; }

  /// A scan with everything that a result has beside it.
  ScanResult finished(ScanResult scan) const {
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

 private:
  const Scanner* scanner_;
  std::optional<UserFormats> formats_;
  std::optional<Scanner> extended_;
};

std::size_t thread_count(const Options& options) { return options.jobs > 0 ? options.jobs : default_jobs(); }

/// With few logs, read one after the other, each on all threads. With many, read them in parallel, one thread each.
std::size_t threads_per_log(std::size_t logs, const Options& options) {
  const std::size_t threads = thread_count(options);
  return logs < threads ? threads : 1;
}

/// Built on first use, because a healthy log needs no rules. Never destroyed, because that would only delay the exit.
const RulePack& shipped_pack() {
  static const RulePack& pack = *new RulePack(shipped_rules());
  return pack;
}

/// The shipped rules plus the user's. Built before oomdoctor reads a log, so an invalid rule fails at once.
class Rules {
 public:
  explicit Rules(const Options& options) {
    if (!options.rules_folder.empty()) extended_.emplace(shipped_pack()).add_folder(options.rules_folder);
  }
  const RulePack& pack() const { return extended_ ? *extended_ : shipped_pack(); }

 private:
  std::optional<RulePack> extended_;
};

/// The report, and what it was made from.
struct Result {
  ScanResult scan;
  Analysis analysis;
  Report report;
};

Result diagnose_scan(ScanResult scan, const Rules& rules, const Options& options, std::size_t threads) {
  const AnalysisOptions how{options.capacity_bytes, threads};
  resolve_units(scan, how);
  for (Series& series : scan.series) count_values_of_repeated_steps(series);
  Analysis analysis = analyse(scan, how);
  const Diagnosis diagnosis = needs_judgement(analysis) ? judge(rules.pack(), analysis.facts) : Diagnosis{};
  Report report = assemble(scan, analysis, diagnosis, {options.why_not, options.trace});
  report.tool_version = version;
  for (const Input& input : scan.inputs)
    if (report.job.empty()) report.job = job_in_path(input.path);
  return {std::move(scan), std::move(analysis), std::move(report)};
}

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

bool can_be_read_again(const LogSource& log) {
  std::error_code error;
  return log.memory || std::filesystem::is_regular_file(log.path, error);
}

/// The user by the paths of the logs, else by those of the code: the user's own first, then the environment.
std::string find_user(const ScanResult& scan) {
  std::string user;
  const auto look_in = [&](const std::string& path) {
    if (user.empty()) user = user_in_path(path);
  };
  for (const Input& input : scan.inputs) look_in(input.path);
  for (const bool library : {false, true})
    for (const Incident& incident : scan.incidents)
      for (const Frame& frame : incident.oom.frames)
        if (frame.library == library) look_in(frame.file);
  return user;
}

/// The logs of a survey, in the order of their paths: files, and logs in parts.
class SurveyLogs {
 public:
  SurveyLogs(std::vector<LogSource> sources, const Options& options) : reader_(options.format_files) {
    std::vector<std::string> part_files;
    for (LogSource& source : sources) {
      if (!source.memory && holds_parts(source.path))
        part_files.push_back(source.path);
      else
        logs_.push_back({source.path, std::move(source), std::nullopt});
    }
    add_parts(part_files);
    std::stable_sort(logs_.begin(), logs_.end(),
                     [](const Log& a, const Log& b) { return natural_less(a.path, b.path); });
    const auto same = [this](const Log& a, const Log& b) { return is_same(a, b); };
    logs_.erase(std::unique(logs_.begin(), logs_.end(), same), logs_.end());
  }

  std::size_t size() const { return logs_.size(); }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const Log& log : logs_) paths.push_back(log.path);
    return paths;
  }

  /// A log that cannot be read gives an unreadable input and a problem.
  ScanResult read(std::size_t i, std::size_t threads) {
    const Log& log = logs_[i];
    try {
      if (!log.source) return take_problem(parts_->read(*log.part));
      if (!can_be_read_again(*log.source)) throw Error(log.path + " is no file");
      return reader_.read(*log.source, threads);
    } catch (const Error& error) {
      ScanResult nothing;
      nothing.inputs.emplace_back();
      nothing.inputs.front().path = log.path;
      nothing.inputs.front().unreadable = "left out";
      add_problem(left_out_words(error.what()));
      return nothing;
    }
  }

  /// What was left out, with the reasons. Sorted, and each once, because a log may be read twice.
  std::vector<ReportNote> notes() const {
    std::vector<ReportNote> notes;
    for (const std::string& problem : problems_) notes.push_back({"warning", problem, std::nullopt});
    return notes;
  }

 private:
  struct Log {
    std::string path;
    std::optional<LogSource> source;
    std::optional<std::size_t> part;  ///< index into parts_, if there is no source
  };

  void add_parts(const std::vector<std::string>& files) {
    if (files.empty()) return;
    try {
      parts_.emplace(files);
    } catch (const Error&) {
      if (logs_.empty()) throw;
      for (const std::string& file : files) add_problem(left_out_words(problem_of(file)));
      return;
    }
    for (const std::string& problem : parts_->problems()) add_problem(left_out_words(problem));
    for (std::size_t i = 0; i < parts_->size(); ++i) logs_.push_back({parts_->id(i).path, std::nullopt, i});
  }

  /// The first problem of a file that has no part.
  static std::string problem_of(const std::string& file) {
    try {
      PartFiles({file});
      return file + " was changed while it was read";
    } catch (const Error& error) {
      return error.what();
    }
  }

  bool is_same(const Log& a, const Log& b) const {
    if (a.path != b.path || !a.source) return false;  // the order is stable: files come before parts
    if (b.source) return true;
    try {
      const std::string digest = a.source->memory ? digest_of_text(*a.source->memory) : digest_of_file(a.path);
      return digest == parts_->id(*b.part).digest;
    } catch (const Error&) {
      return false;
    }
  }

  ScanResult take_problem(ScanResult file) {
    if (file.inputs.front().unreadable == PartFiles::lost)
      for (const Note& note : file.notes) add_problem(note.text);
    return file;
  }

  void add_problem(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    problems_.insert(problem);
  }

  LogReader reader_;
  std::optional<PartFiles> parts_;
  std::vector<Log> logs_;
  std::mutex mutex_;  ///< guards problems_
  std::set<std::string> problems_;
};

/// The line of a job, and the properties by which a machine's record finds it.
struct SurveyedJob {
  LogIdentity identity;
  SurveyJob line;
};

SurveyedJob survey_job(const std::vector<std::size_t>& job, SurveyLogs& logs, const Rules& rules,
                       const Options& options, std::size_t threads) {
  SurveyedJob out;
  ResultMerger merger;
  for (const std::size_t i : job) {
    ScanResult file = logs.read(i, threads);
    merge_identity(out.identity, read_identity(file));
    merger.add(std::move(file));
  }
  const Result result = diagnose_scan(merger.take(), rules, options, threads);
  out.line = make_survey_job(result.report, result.scan, result.analysis);
  out.line.user = find_user(result.scan);
  return out;
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

/// A log that grows, and the scan of its beginning.
struct GrowingLog {
  explicit GrowingLog(const std::string& path, const Scanner& scanner)
      : file(std::make_unique<FollowedFile>(path)),
        scan(scanner, Source::of_reader(path, [this_file = file.get()](char* buffer, std::size_t size) {
               return this_file->read(buffer, size);
             })) {}

  std::unique_ptr<FollowedFile> file;  ///< its address is stable
  GrowingScan scan;
};

struct GrowingLogs::Impl {
  explicit Impl(const Options& given) : options(given), rules(given), reader(given.format_files) {}

  Options options;
  Rules rules;
  LogReader reader;
  std::vector<GrowingLog> logs;
};

GrowingLogs::GrowingLogs(const std::vector<std::string>& paths, const Options& options)
    : impl_(std::make_unique<Impl>(options)) {
  for (const std::string& path : paths) impl_->logs.emplace_back(path, impl_->reader.scanner());
}
GrowingLogs::~GrowingLogs() = default;

std::int64_t GrowingLogs::read() {
  std::int64_t bytes = 0;
  for (GrowingLog& log : impl_->logs) {
    while (log.file->take(GrowingScan::needed_bytes) >= GrowingScan::needed_bytes) log.scan.advance();
    bytes += log.file->bytes();
  }
  return bytes;
}

Report GrowingLogs::conclude() {
  ResultMerger merger;
  for (GrowingLog& log : impl_->logs) merger.add(impl_->reader.finished(log.scan.finish()));
  return diagnose_scan(merger.take(), impl_->rules, impl_->options, thread_count(impl_->options)).report;
}

// A job's logs are read once and forgotten, so that memory use is one job per thread. Only a job that a machine's
// record belongs to is read again, together with the record.
Survey survey(const std::vector<LogSource>& sources, const Options& options) {
  const Rules rules(options);
  SurveyLogs logs(sources, options);
  std::vector<std::vector<std::size_t>> jobs = group_by_path(logs.paths());
  if (jobs.empty()) throw Error("no log to survey");
  const std::size_t threads = threads_per_log(jobs.size(), options);
  std::vector<std::optional<SurveyedJob>> results(jobs.size());
  std::size_t done = 0;
  for_each_in_order(
      jobs.size(), thread_count(options),
      [&](std::size_t i) { results[i] = survey_job(jobs[i], logs, rules, options, threads); },
      [&](std::size_t i) {
        done += jobs[i].size();
        if (options.progress) options.progress({done, logs.size()});
      });
  std::vector<LogIdentity> identities;
  for (const auto& result : results) identities.push_back(result->identity);
  std::set<std::size_t> extended;
  const auto owners = find_jobs_of_records(identities);
  for (std::size_t record = 0; record < owners.size(); ++record) {
    if (!owners[record]) continue;
    jobs[*owners[record]].insert(jobs[*owners[record]].end(), jobs[record].begin(), jobs[record].end());
    extended.insert(*owners[record]);
    results[record].reset();
  }
  const std::vector<std::size_t> again(extended.begin(), extended.end());
  for_each_index(again.size(), thread_count(options), [&](std::size_t i) {
    std::sort(jobs[again[i]].begin(), jobs[again[i]].end());
    results[again[i]] = survey_job(jobs[again[i]], logs, rules, options, threads);
  });
  std::vector<SurveyJob> lines;
  for (auto& result : results)
    if (result) lines.push_back(std::move(result->line));
  return make_survey(std::move(lines), logs.notes());
}

}  // namespace oomdoctor
