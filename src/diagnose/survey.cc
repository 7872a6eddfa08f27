// Logs of many jobs in, one line for each job out.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/natural_order.h"
#include "base/parallel.h"
#include "diagnose/pipeline.h"
#include "fold/jobs.h"
#include "fold/path_tags.h"
#include "fold/result_merger.h"
#include "oomdoctor/diagnose.h"
#include "report/survey.h"
#include "report/words.h"
#include "serialize/part_files.h"
#include "serialize/survey_lines.h"

namespace oomdoctor {
namespace {

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
      const bool is_file = !source.memory && !source.member;
      if (is_file && holds_survey_lines(source.path))
        add_jobs(source.path);
      else if (is_file && holds_parts(source.path))
        part_files.push_back(source.path);
      else
        logs_.push_back({std::make_unique<LogSource>(std::move(source)), 0});
    }
    add_parts(part_files);
    std::stable_sort(logs_.begin(), logs_.end(),
                     [this](const SurveyedLog& a, const SurveyedLog& b) { return natural_less(path(a), path(b)); });
    const auto same = [this](const SurveyedLog& a, const SurveyedLog& b) { return is_same(a, b); };
    logs_.erase(std::unique(logs_.begin(), logs_.end(), same), logs_.end());
  }

  std::size_t size() const { return logs_.size(); }
  bool has_known() const { return !jobs_.empty(); }
  /// Adds the jobs that other surveys have read. A survey may have run twice, and the logs have grown in between: of
  /// the lines of one job, that of the most logs and the latest end stays, in whatever order the files come. A note
  /// counts the others, because two machines may have the same paths.
  void add_known(std::vector<SurveyJob>& lines) {
    if (jobs_.empty()) return;
    const auto identity = [](const SurveyJob& job) { return std::tie(job.path, job.job, job.user); };
    const auto key = [&](const SurveyJob& job) {
      return std::tuple_cat(identity(job), std::tie(job.logs, job.ended_at, job.step, job.headline));
    };
    if (lines.empty())
      lines = std::move(jobs_);
    else
      std::move(jobs_.begin(), jobs_.end(), std::back_inserter(lines));
    std::sort(lines.begin(), lines.end(), [&](const SurveyJob& a, const SurveyJob& b) { return key(b) < key(a); });
    std::size_t differ = 0;
    const auto same = [&](const SurveyJob& a, const SurveyJob& b) {
      if (identity(a) != identity(b)) return false;
      differ += key(a) != key(b);
      return true;
    };
    lines.erase(std::unique(lines.begin(), lines.end(), same), lines.end());
    if (differ > 0)
      add_problem(fmt::format("{} of jobs left out: another line of the same paths has more logs or a later end",
                              plural(static_cast<std::int64_t>(differ), "line", "lines")));
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    paths.reserve(logs_.size());
    for (const SurveyedLog& log : logs_) paths.push_back(path(log));
    return paths;
  }

  const std::string& path_of(std::size_t i) const { return path(logs_[i]); }
  std::optional<double> file_time(std::size_t i) const {
    const SurveyedLog& log = logs_[i];
    const auto time = log.source ? oomdoctor::file_time(*log.source) : parts_->id(log.part).modified;
    return time ? std::optional(static_cast<double>(*time)) : std::nullopt;
  }

  /// A log that cannot be read gives an unreadable input and a problem.
  ScanResult read(std::size_t i, std::size_t threads) {
    const SurveyedLog& log = logs_[i];
    try {
      if (!log.source) return take_problem(parts_->read(log.part));
      if (is_stream(*log.source)) throw Error(path(log) + " is not a file");
      return reader_.read(*log.source, threads);
    } catch (const Error& error) {
      add_problem(left_out_words(error.what()));
      return unread_log(path(log), error);
    }
  }

  /// What was left out, with the reasons. Sorted, and each once, because a log may be read twice.
  std::vector<ReportNote> notes() const {
    std::vector<ReportNote> notes;
    for (const std::string& problem : problems_) notes.push_back({"warning", problem, std::nullopt});
    return notes;
  }

 private:
  struct SurveyedLog {
    std::unique_ptr<LogSource> source;  ///< on its own: there may be 100,000 parts, which have none
    std::size_t part = 0;               ///< index into parts_, if there is no source
  };

  const std::string& path(const SurveyedLog& log) const {
    return log.source ? log.source->path : parts_->id(log.part).path;
  }

  void add_jobs(const std::string& file) {
    try {
      read_survey_lines(
          file, [&](SurveyJob job) { jobs_.push_back(std::move(job)); },
          [&](const std::string& problem) { add_problem(left_out_words(problem)); });
    } catch (const Error& error) {
      add_problem(left_out_words(error.what()));
    }
  }

  void add_parts(const std::vector<std::string>& files) {
    if (files.empty()) return;
    try {
      parts_.emplace(files);
    } catch (const Error&) {
      if (logs_.empty()) throw;
      for (const std::string& file : files) add_problem(left_out_words(find_problem(file)));
      return;
    }
    for (const std::string& problem : parts_->problems()) add_problem(left_out_words(problem));
    logs_.reserve(logs_.size() + parts_->size());
    for (std::size_t i = 0; i < parts_->size(); ++i) logs_.push_back({nullptr, i});
  }

  /// The first problem of a file that has no part.
  static std::string find_problem(const std::string& file) {
    try {
      PartFiles({file});
      return file + " was changed while it was read";
    } catch (const Error& error) {
      return error.what();
    }
  }

  bool is_same(const SurveyedLog& a, const SurveyedLog& b) const {
    if (path(a) != path(b) || !a.source) return false;  // the order is stable: files come before parts
    if (b.source) return true;
    try {
      return reader_.digest_of(*a.source) == parts_->id(b.part).digest;
    } catch (const Error&) {
      return false;
    }
  }

  ScanResult take_problem(ScanResult file) {
    if (file.inputs.front().unreadable == PartFiles::lost)
      for (const LostEvidence& part : file.lost) add_problem(left_out_words(part.why));
    return file;
  }

  void add_problem(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    problems_.insert(problem);
  }

  LogReader reader_;
  std::optional<PartFiles> parts_;
  std::vector<SurveyJob> jobs_;  ///< of other surveys
  std::vector<SurveyedLog> logs_;
  std::mutex mutex_;  ///< guards problems_
  std::set<std::string> problems_;
};

/// The line of a job, and the properties by which a machine's record finds it.
struct SurveyedJob {
  JobSpan span;
  SurveyJob line;
};

SurveyedJob survey_job(const std::vector<std::size_t>& job, SurveyLogs& logs, const Rules& rules,
                       const Options& options, std::size_t threads) {
  LogIdentity identity;
  ResultMerger merger;
  for (const std::size_t i : job) {
    ScanResult file = logs.read(i, threads);
    merge_identity(identity, read_identity(file));
    merger.add(std::move(file));
  }
  const Result result = diagnose_scan(merger.take(), rules, options, threads, Purpose::line);
  SurveyedJob out{span_of(identity), make_survey_job(result.report, result.scan, result.analysis)};
  out.line.user = find_user(result.scan);
  if (!out.line.failed_at && !out.line.ended_at)
    for (const std::size_t i : job)
      if (logs.path_of(i) == out.line.path) out.line.file_time = logs.file_time(i);
  return out;
}

}  // namespace

// A job's logs are read once and forgotten, so that memory use is one job per thread. Only a job that a machine's
// record belongs to is read again, together with the record.
Survey survey(const std::vector<LogSource>& sources, const Options& given) {
  Options options = given;
  options.lost.clear();  // they belong to no job
  options.notes.clear();
  const Rules rules(options);
  SurveyLogs logs(sources, options);
  std::vector<std::vector<std::size_t>> jobs = group_by_path(logs.paths());
  if (jobs.empty() && !logs.has_known()) throw Error("no log to survey");
  const std::size_t threads = threads_per_log(jobs.size(), options);
  std::vector<JobSpan> spans(jobs.size());
  std::vector<SurveyJob> lines(jobs.size());
  std::size_t done = 0;
  for_each_in_order(
      jobs.size(), thread_count(options),
      [&](std::size_t i) {
        SurveyedJob job = survey_job(jobs[i], logs, rules, options, threads);
        spans[i] = job.span;
        lines[i] = std::move(job.line);
      },
      [&](std::size_t i) {
        done += jobs[i].size();
        if (options.progress) options.progress({done, logs.size()});
      });
  const auto owners = find_jobs_of_records(spans);
  std::set<std::size_t> extended;
  for (std::size_t record = 0; record < owners.size(); ++record) {
    if (!owners[record]) continue;
    jobs[*owners[record]].insert(jobs[*owners[record]].end(), jobs[record].begin(), jobs[record].end());
    extended.insert(*owners[record]);
  }
  const std::vector<std::size_t> again(extended.begin(), extended.end());
  for_each_index(again.size(), thread_count(options), [&](std::size_t i) {
    std::sort(jobs[again[i]].begin(), jobs[again[i]].end());
    lines[again[i]] = survey_job(jobs[again[i]], logs, rules, options, threads).line;
  });
  std::size_t kept = 0;  // in place: a second list of lines would double the memory of a large survey
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!owners[i] && kept++ != i) lines[kept - 1] = std::move(lines[i]);
  lines.resize(kept);
  logs.add_known(lines);
  std::vector<ReportNote> notes = logs.notes();
  for (const ReportLostEvidence& lost : given.lost)
    notes.push_back({"warning", left_out_words(lost_evidence_words(lost)), std::nullopt});
  for (const std::string& note : given.notes) notes.push_back({"note", note, std::nullopt});
  return make_survey(std::move(lines), std::move(notes));
}

}  // namespace oomdoctor
