// One sign that two logs belong to different jobs outweighs missing knowledge. A name that makes them logs of one
// program outweighs all signs. So the ranks of a job stay together, whatever they print.
#include "fold/jobs.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <type_traits>

#include "base/ascii.h"
#include "fold/path_tags.h"

namespace oomdoctor {
namespace {

/// Max pause. Two programs of one job may print different things, but not long after each other.
constexpr double max_pause = 600;  // seconds
/// Relative difference. GPUs of one model report totals that differ by the driver's own share.
constexpr double capacity_tolerance = 0.05;

/// Settings that are equal on all ranks of a job.
constexpr std::array<std::string_view, 16> settings_of_a_job{
    "batch_size",      "accumulation",     "sequence_length", "precision",  "optimizer", "world_size", "zero_stage",
    "layers",          "hidden",           "heads",           "vocabulary", "torch",     "image_size", "frames",
    "tensor_parallel", "pipeline_parallel"};

/// Base frameworks. A job uses one of them.
constexpr std::array<std::string_view, 12> foundations{"pytorch",   "tensorflow", "jax",      "paddle",
                                                       "mindspore", "julia",      "mlx",      "mxnet",
                                                       "xgboost",   "kaldi",      "lightgbm", "catboost"};

/// True if the program itself reported the failure, not its machine.
bool is_own_report(Agent agent) {
  switch (agent) {
    case Agent::kernel:
    case Agent::cgroup:
    case Agent::slurm:
    case Agent::kubernetes:
    case Agent::scheduler:
    case Agent::daemon:
      return false;
    default:
      return true;
  }
}

/// True for an allocator of a GPU. All programs of a job use the same one, so different ones separate jobs.
bool is_allocator(Agent agent) {
  switch (agent) {
    case Agent::cuda_allocator:
    case Agent::hip_allocator:
    case Agent::xpu_allocator:
    case Agent::npu_allocator:
    case Agent::mps_allocator:
    case Agent::tf_bfc:
    case Agent::xla:
      return true;
    default:
      return false;
  }
}

/// True for a form like "torch-2.4": it shows the PyTorch version, of which a job uses one.
bool names_version(std::string_view message_format) {
  constexpr std::string_view torch = "torch-";
  return message_format.starts_with(torch) && message_format.size() > torch.size() &&
         is_digit(message_format[torch.size()]);
}

std::string outermost_script(const Oom& oom) {
  const auto own = std::find_if(oom.frames.begin(), oom.frames.end(), [](const Frame& f) { return !f.library; });
  return own == oom.frames.end() ? "" : own->file;
}

bool differ(const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; }

/// True if `later` begins long after `earlier` ended, or starts its steps anew. The next part of a split log continues
/// the steps instead.
bool is_another_time(const LogIdentity& earlier, const LogIdentity& later) {
  if (!earlier.period.last || !later.period.first || *later.period.first < *earlier.period.last) return false;
  if (earlier.last_step && later.first_step) return *later.first_step < *earlier.last_step;
  return *later.period.first - *earlier.period.last > max_pause;
}

/// The numbers of equal and different values among the settings that both logs print.
struct Settings {
  int alike = 0, different = 0;
};

Settings compare_settings(const LogIdentity& a, const LogIdentity& b) {
  Settings settings;
  for (const auto& [name, value] : a.settings)
    if (const auto other = b.settings.find(name); other != b.settings.end())
      ++(other->second == value ? settings.alike : settings.different);
  return settings;
}

/// True if neither names nor contents of the logs have anything in common.
bool have_nothing_in_common(const LogIdentity& a, const LogIdentity& b) {
  const auto known = [&](const std::string& word) { return b.words.contains(word); };
  if (a.words.empty() || b.words.empty() || std::any_of(a.words.begin(), a.words.end(), known)) return false;
  const bool same_script = !a.script.empty() && a.script == b.script;
  return !same_script && !(a.capacity && a.capacity == b.capacity) && compare_settings(a, b).alike == 0 &&
         !a.period.overlaps(b.period);
}

/// True if one sign shows that the logs belong to different jobs.
bool belong_to_different_jobs(const LogIdentity& a, const LogIdentity& b) {
  if (differ(a.job, b.job) || is_another_time(a, b) || is_another_time(b, a)) return true;
  if (differ(a.framework, b.framework) || differ(a.allocator, b.allocator) || differ(a.wording, b.wording) ||
      differ(a.script, b.script))
    return true;
  if (a.capacity && b.capacity &&
      static_cast<double>(std::abs(*a.capacity - *b.capacity)) > capacity_tolerance * static_cast<double>(*a.capacity))
    return true;
  return compare_settings(a, b).different > 0 || have_nothing_in_common(a, b);
}

/// The key of logs that belong to one job by name.
std::string name_of_job(const LogIdentity& log) {
  return log.job.empty() ? "program " + log.program : "job " + log.job;
}

struct Job {
  LogIdentity identity;
  std::vector<std::size_t> logs;

  void add(std::size_t log, const LogIdentity& properties) {
    logs.push_back(log);
    merge_identity(identity, properties);
  }
};

/// True for a report by the machine about any of its programs.
bool is_machine_report(Agent agent) {
  return agent == Agent::kernel || agent == Agent::cgroup || agent == Agent::daemon;
}

/// Groups the logs by their names only.
std::vector<Job> named_jobs(const std::vector<LogIdentity>& logs) {
  std::vector<Job> jobs;
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto [known, fresh] = by_name.try_emplace(name_of_job(logs[i]), jobs.size());
    if (fresh) jobs.emplace_back();
    jobs[known->second].add(i, logs[i]);
  }
  return jobs;
}

/// True if one group contradicts those before it. A machine's record has its own clock and its own devices, so only
/// its job number counts.
bool are_several(const std::vector<Job>& jobs) {
  LogIdentity so_far;
  for (const Job& job : jobs) {
    if (differ(so_far.job, job.identity.job)) return true;
    if (job.identity.ran && so_far.ran && belong_to_different_jobs(so_far, job.identity)) return true;
    if (job.identity.ran)
      merge_identity(so_far, job.identity);
    else if (so_far.job.empty())
      so_far.job = job.identity.job;
  }
  return false;
}

/// Adds each record without a program to the only job that overlaps it in time, if there is exactly one.
void assign_records(std::vector<Job>& jobs, const std::vector<LogIdentity>& logs) {
  for (Job& record : jobs) {
    if (record.identity.ran) continue;
    Job* only = nullptr;
    std::size_t fitting = 0;
    for (Job& job : jobs)
      if (job.identity.ran && record.identity.period.overlaps(job.identity.period)) only = &job, ++fitting;
    if (fitting != 1) continue;
    for (const std::size_t log : record.logs) only->add(log, logs[log]);
    record.logs.clear();
  }
  std::erase_if(jobs, [](const Job& job) { return job.logs.empty(); });
}

/// Sorts by the end of the jobs if all are known, else by their first log.
void sort_jobs(std::vector<Job>& jobs) {
  const bool dated =
      std::all_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.identity.period.last.has_value(); });
  std::stable_sort(jobs.begin(), jobs.end(), [&](const Job& a, const Job& b) {
    return dated ? *a.identity.period.last < *b.identity.period.last : a.logs.front() < b.logs.front();
  });
}

}  // namespace

LogIdentity read_identity(const ScanResult& file) {
  LogIdentity log;
  const Input input = file.inputs.empty() ? Input{} : file.inputs.front();
  log.program = program_in_path(input.path);
  log.job = job_in_path(input.path);
  log.words = words_in_name(input.path);
  log.ran = file.progress_lines > 0 || file.remark_counts.contains("end/exception");
  log.record = input.kind != "log";
  for (const Incident& incident : file.incidents) {
    const Oom& oom = incident.oom;
    log.record |= is_machine_report(oom.agent);
    log.ran |= is_own_report(oom.agent);
    if (log.allocator.empty() && is_allocator(oom.agent)) log.allocator = to_string(oom.agent);
    if (log.wording.empty() && names_version(oom.message_format)) log.wording = oom.message_format;
    if (log.framework.empty() && std::find(foundations.begin(), foundations.end(), oom.framework) != foundations.end())
      log.framework = oom.framework;
    if (log.script.empty()) log.script = outermost_script(oom);
    if (!log.capacity && oom.kind == OomKind::device && oom.capacity) log.capacity = oom.capacity->count;
  }
  log.period = file.period;
  log.first_step = file.first_step, log.last_step = file.last_step;
  for (const std::string_view name : settings_of_a_job)
    if (const auto setting = file.settings.find(name); setting != file.settings.end())
      log.settings.emplace(name, setting->second.value);
  return log;
}

void merge_identity(LogIdentity& job, const LogIdentity& more) {
  const auto keep_first = [](auto& known, const auto& next) {
    if (known == std::decay_t<decltype(known)>{}) known = next;
  };
  keep_first(job.job, more.job);
  keep_first(job.framework, more.framework);
  keep_first(job.allocator, more.allocator);
  keep_first(job.wording, more.wording);
  keep_first(job.script, more.script);
  keep_first(job.capacity, more.capacity);
  keep_first(job.first_step, more.first_step);
  job.last_step = std::max(job.last_step, more.last_step);  // std::nullopt is less than any step
  job.ran |= more.ran;
  job.record |= more.record;
  job.period.add(more.period);
  job.words.insert(more.words.begin(), more.words.end());
  job.settings.insert(more.settings.begin(), more.settings.end());
}

std::vector<std::vector<std::size_t>> group_by_job(const std::vector<LogIdentity>& logs) {
  std::vector<Job> jobs = named_jobs(logs);
  std::vector<std::vector<std::size_t>> out;
  if (!are_several(jobs)) {
    std::vector<std::size_t>& all = out.emplace_back(logs.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return out;
  }
  assign_records(jobs, logs);
  sort_jobs(jobs);
  for (Job& job : jobs) {
    std::sort(job.logs.begin(), job.logs.end());
    out.push_back(std::move(job.logs));
  }
  return out;
}

std::vector<std::vector<std::size_t>> group_by_path(const std::vector<std::string>& paths) {
  std::vector<std::vector<std::size_t>> jobs;
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    LogIdentity log;
    log.program = program_in_path(paths[i]);
    log.job = job_in_path(paths[i]);
    const auto [known, fresh] = by_name.try_emplace(name_of_job(log), jobs.size());
    if (fresh) jobs.emplace_back();
    jobs[known->second].push_back(i);
  }
  return jobs;
}

JobSpan span_of(const LogIdentity& job) { return {job.ran, job.record && job.job.empty(), job.period}; }

std::vector<std::optional<std::size_t>> find_jobs_of_records(const std::vector<JobSpan>& jobs) {
  std::vector<std::optional<std::size_t>> owners(jobs.size());
  for (std::size_t record = 0; record < jobs.size(); ++record) {
    if (jobs[record].ran || !jobs[record].unnamed_record) continue;
    std::size_t fitting = 0;
    for (std::size_t job = 0; job < jobs.size(); ++job)
      if (jobs[job].ran && jobs[record].period.overlaps(jobs[job].period)) owners[record] = job, ++fitting;
    if (fitting != 1) owners[record].reset();
  }
  return owners;
}

}  // namespace oomdoctor
