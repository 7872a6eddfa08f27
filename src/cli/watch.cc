// oomdoctor watch: follows the logs of a job that still runs, and warns before its memory is full.
//
// Reading is incremental. A judgement is made in a forked process: it has all that was read so far, reads the last
// bytes as if nothing followed, and judges. So the one reader of all logs stays as it is, and a judgement leaves
// nothing behind.
//
// A warning goes before everything else: the command of --on-risk and standard error come first, then the gauges, then
// the status line. A part that fails costs only itself; it is tried again.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/ci_system.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/end_signals.h"
#include "cli/file_changes.h"
#include "cli/hook.h"
#include "cli/job_process.h"
#include "cli/judgement.h"
#include "cli/line_sink.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/pulse_json.h"
#include "cli/risks.h"
#include "cli/shared_report.h"
#include "cli/step_clock.h"
#include "cli/watch_options.h"
#include "oomdoctor/growing_logs.h"
#include "redact/redact.h"
#include "report/escape.h"

namespace oomdoctor::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Where changes are reported, a look at the files is only for those that are not; where they are not, it is all.
constexpr Seconds look_beside_changes{5}, look_without_changes{1};
constexpr Seconds after_change{0.25};    ///< a log that is written all the time is read four times a second
constexpr Seconds longest_reading{0.5};  ///< then the rest of the loop has its turn
/// A judgement may take this share of one core: the job needs its machine.
constexpr double max_share = 0.05;
constexpr Seconds longest_judgement{120};  ///< one that takes longer hangs, as on a network file system
constexpr Seconds first_retry{0.5}, longest_retry{60};
constexpr Seconds between_lines{60};  ///< of a log or a pipe; a terminal has one line that changes
/// After the end of the job, what others still write for it has this time: the logs must be quiet so long.
constexpr Seconds quiet_after_end{1}, longest_after_end{5};
/// After a signal, what is unread after this time stays unread, and the report says so; unless it is only a little.
constexpr Seconds answer_to_signal{0.3};
constexpr std::int64_t little = 1 << 18;  ///< bytes
constexpr std::chrono::milliseconds last_flush{500};
constexpr int last_attempts = 5;

Clock::time_point after(Seconds time) { return Clock::now() + std::chrono::duration_cast<Clock::duration>(time); }

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Something that failed is tried again after a pause, which doubles with each failure.
class Backoff {
 public:
  bool is_due() const { return Clock::now() >= next_; }
  Clock::time_point next() const { return next_; }
  void failed() {
    next_ = after(pause_);
    pause_ = std::min(2 * pause_, longest_retry);
  }
  void succeeded() { *this = Backoff(); }

 private:
  Seconds pause_ = first_retry;
  Clock::time_point next_{};
};

class Watch {
 public:
  Watch(const Arguments& arguments, const WatchOptions& options, const Options& how)
      : arguments_(arguments),
        options_(options),
        view_(make_render_options(arguments)),
        hook_(options.on_risk, signals_.mask_before()),
        risks_(options.warn_before, options.warn_at),
        changes_(options.paths),
        logs_(options.paths, how),
        backlog_(logs_.unread()) {
    if (options.pid) job_.emplace(*options.pid);
  }
  Watch(const Watch&) = delete;

  /// Watches until a signal comes or the job's process is gone. Returns the report of everything.
  Report run() {
    while (!is_interrupted() && !job_ended_ && is_of_use()) {
      read();
      judge_if_due();
      wait();
    }
    if (job_ended_) read_last_words();
    return conclude();
  }

 private:
  /// Once true, it stays so.
  bool is_interrupted() {
    if (!interrupted_ && signals_.take()) {
      interrupted_ = true;
      answer_by_ = after(answer_to_signal);
    }
    return interrupted_;
  }

  /// False if a warning would reach nobody.
  bool is_of_use() const {
    return !out_.is_closed() || !errors_.is_closed() || hook_.is_set() || !options_.prometheus.empty() ||
           arguments_.has("output");
  }

  /// Reads what there is, but gives the rest of the loop its turn.
  void read() {
    const auto end = after(longest_reading);
    for (more_to_read_ = true; more_to_read_ && Clock::now() < end && !is_interrupted();)
      more_to_read_ = logs_.read_piece();
    for (const std::string& problem : logs_.problems()) note(problem + "; oomdoctor tries again");
    // What lies there at the start is one piece of news: an earlier run in it may have failed.
    caught_up_ = caught_up_ || !more_to_read_ || logs_.bytes() >= backlog_;
  }

  bool has_news() const { return !judgement_ && caught_up_ && logs_.bytes() != judged_bytes_; }
  /// New bytes are judged at the usual pace, the same ones again after a pause that grows.
  Clock::time_point next_judgement() const {
    return logs_.bytes() == failed_bytes_ ? std::max(next_judgement_, retry_.next()) : next_judgement_;
  }

  void judge_if_due() {
    if (!has_news() || Clock::now() < next_judgement()) return;
    next_judgement_ = after(options_.every);
    pulse_.reset();
    problem_.clear();
    being_judged_ = logs_.bytes();
    try {
      judgement_.emplace([this](const Judgement::Tell& tell) { judge(tell); });
    } catch (const std::exception& error) {
      logs_.close_files();  // perhaps descriptors are short
      failed(error.what());
    }
  }

  /// In the forked process. Sends the pulse, and a sentence for what fails.
  void judge(const Judgement::Tell& tell) {
    sigprocmask(SIG_SETMASK, &signals_.mask_before(), nullptr);
    try {
      const Report report = logs_.report_so_far();
      tell(pulse_json(make_pulse(report)));
      logs_.close_files();
      write_gauges(report);
    } catch (const std::exception& error) {
      tell(plain_line(error.what()));
    }
  }

  Pulse make_pulse(const Report& report) const {
    const bool nameless = arguments_.value("redact") == "all";
    return take_pulse(nameless ? redact(report, Redaction::all).report : report, clock_.steps_per_second());
  }

  void write_gauges(const Report& report) const {
    if (options_.prometheus.empty()) return;
    SharedReport shared(report, arguments_, runs_in_ci());
    const Writer& writer = *find_writer("prometheus");
    write_file(options_.prometheus, writer.write(shared.of(writer), {}));
  }

  void wait() {
    std::array<pollfd, 5> all{{{signals_.descriptor(), POLLIN, 0},
                               {changes_.descriptor(), POLLIN, 0},
                               {judgement_ ? judgement_->descriptor() : -1, POLLIN, 0},
                               {out_.awaited_descriptor(), POLLOUT, 0},
                               {errors_.awaited_descriptor(), POLLOUT, 0}}};
    const int milliseconds = static_cast<int>(std::ceil(longest_wait().count() * 1000));
    const int ready = uninterrupted([&] { return poll(all.data(), all.size(), milliseconds); });
    if (ready < 0) std::this_thread::sleep_for(after_change);
    if (judgement_) hear();
    start_hooks();
    flush();
    if (ready > 0 && all[1].revents != 0 && !is_interrupted()) pause();
    job_ended_ = job_ && job_->has_ended();
  }

  Seconds longest_wait() {
    if (more_to_read_) return Seconds(0);
    const bool looks_often = !changes_.are_complete() || signals_.descriptor() < 0 || job_ || hook_.waits() ||
                             out_.waits() || errors_.waits() || !logs_.problems().empty();
    Seconds longest = looks_often ? look_without_changes : look_beside_changes;
    if (has_news()) longest = std::clamp(Seconds(next_judgement() - Clock::now()), Seconds(0), longest);
    if (hook_.waits()) longest = std::clamp(Seconds(hook_retry_.next() - Clock::now()), Seconds(0), longest);
    return longest;
  }

  /// Lets a busy writer write for a while.
  void pause() {
    pollfd signal{signals_.descriptor(), POLLIN, 0};
    poll(&signal, 1, static_cast<int>(after_change.count() * 1000));
    changes_.clear();
  }

  /// Takes what the judgement has found so far.
  void hear() {
    for (const std::string& line : judgement_->read()) {
      if (const auto pulse = read_pulse(line))
        warn(pulse_.emplace(*pulse));
      else
        problem_ = line;
    }
    if (judgement_->has_ended())
      take_judgement(judgement_->finish());
    else if (judgement_->took() > longest_judgement)
      take_judgement("it took too long");
  }

  void take_judgement(const std::string& failure) {
    const Seconds took = judgement_->took();
    next_judgement_ = after(std::max(options_.every - took, judgement_->cpu_time() / max_share - took));
    judgement_.reset();
    if (pulse_) {
      clock_.add(pulse_->step);
      show(*pulse_);
    }
    if (!problem_.empty()) return failed(problem_);
    if (!pulse_ || !failure.empty())
      return failed("a judgement ended without a result" + (failure.empty() ? "" : ": " + failure));
    judged_bytes_ = being_judged_;
    retry_.succeeded();
  }

  void failed(const std::string& why) {
    note(why + "; oomdoctor tries again");
    if (failed_bytes_ != being_judged_) retry_.succeeded();
    failed_bytes_ = being_judged_;
    retry_.failed();
  }

  /// The command comes before standard error, which may take nothing.
  void warn(const Pulse& pulse) {
    const std::vector<Risk> begun = risks_.begun(pulse, job_ended_);
    for (const Risk& risk : begun) hook_.ask(risk.kind, plain_line(risk.message), pulse_json(pulse));
    hook_retry_.succeeded();
    start_hooks();
    for (const Risk& risk : begun) {
      if (shown_) errors_.put("\r\x1b[K");
      errors_.put(error_text(fmt::format("oomdoctor: warning: {}\n", plain_line(risk.message))));
    }
  }

  void start_hooks() {
    hook_.reap();
    if (!hook_.waits() || !hook_retry_.is_due()) return;
    if (hook_.start_waiting().empty()) return hook_retry_.succeeded();
    logs_.close_files();  // perhaps descriptors are short
    const std::string why = hook_.start_waiting();
    if (why.empty()) return hook_retry_.succeeded();
    note(why);
    hook_retry_.failed();
  }

  void show(const Pulse& pulse) {
    const bool changed = pulse.outcome != outcome_;
    outcome_ = pulse.outcome;
    if (options_.json) return out_.put(output_text(pulse_json(pulse, utc_now()) + '\n'));
    const std::string text = plain_line(pulse_line(pulse));
    if (is_interactive()) {
      shown_ = true;
      return errors_.refresh("\r\x1b[K" + error_text(text.substr(0, fitting_bytes(text))));
    }
    if (!changed && Clock::now() < next_line_) return;
    next_line_ = after(between_lines);
    out_.put(output_text(text + '\n'));
  }

  /// The bytes of a text that fit one line of the terminal.
  std::size_t fitting_bytes(const std::string& text) const {
    std::size_t bytes = 0;
    int columns = 0;
    for (; bytes < text.size(); ++bytes) {
      if ((static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) continue;
      if (++columns >= view_.width) break;
    }
    return bytes;
  }

  /// Once per text.
  void note(const std::string& text) { errors_.put(note_text(text)); }

  void flush() {
    out_.flush();
    errors_.flush();
    if (out_.error() != 0)
      note(fmt::format("cannot write to standard output: {}; oomdoctor goes on watching", std::strerror(out_.error())));
    if (out_.has_left_out()) note("standard output is not read; lines are left out");
  }

  /// The log of a job may get its last lines from another process, such as tee, a moment after its end.
  void read_last_words() {
    const auto end = after(longest_after_end);
    auto quiet_at = after(quiet_after_end);
    for (auto bytes = logs_.bytes(); Clock::now() < std::min(end, quiet_at) && !is_interrupted();) {
      read();
      if (judgement_) hear();
      if (logs_.bytes() != bytes) quiet_at = after(quiet_after_end);
      bytes = logs_.bytes();
      if (!more_to_read_) std::this_thread::sleep_for(after_change / 5);
    }
  }

  /// The last judgement is made here, and warns as the others do.
  Report conclude() {
    Report report =
        logs_.conclude([&] { return is_interrupted() && Clock::now() > answer_by_ && logs_.unread() > little; });
    judgement_.reset();
    if (logs_.bytes() != judged_bytes_) tell_last(report);
    for (int i = 0; hook_.waits() && i < last_attempts; ++i) {
      std::this_thread::sleep_for(after_change / 5);
      hook_retry_.succeeded();
      start_hooks();
    }
    if (shown_) errors_.put("\r\x1b[K");
    for (LineSink* sink : {&errors_, &out_}) sink->finish(last_flush);
    return report;
  }

  void tell_last(const Report& report) {
    const Pulse pulse = *read_pulse(pulse_json(make_pulse(report)));
    warn(pulse);
    for (int i = 0; i < last_attempts && !write_last_gauges(report); ++i) continue;
    if (options_.json) show(pulse);
  }

  bool write_last_gauges(const Report& report) {
    try {
      write_gauges(report);
      return true;
    } catch (const Error& error) {
      note(error.what());
      return false;
    }
  }

  const Arguments& arguments_;
  const WatchOptions& options_;
  RenderOptions view_;
  EndSignals signals_;
  LineSink out_{STDOUT_FILENO}, errors_{STDERR_FILENO};
  Hook hook_;
  Risks risks_;
  StepClock clock_;
  std::optional<JobProcess> job_;
  FileChanges changes_;
  GrowingLogs logs_;
  std::int64_t backlog_;  ///< bytes in the files at the start
  std::optional<Judgement> judgement_;
  std::optional<Pulse> pulse_;  ///< of the running judgement
  std::string problem_;         ///< what it could not do
  std::int64_t being_judged_ = 0, judged_bytes_ = 0, failed_bytes_ = -1;
  Clock::time_point next_judgement_{}, next_line_{}, answer_by_{};
  Backoff retry_, hook_retry_;
  std::string outcome_;
  bool interrupted_ = false, job_ended_ = false, shown_ = false;
  bool more_to_read_ = false, caught_up_ = false;
};

}  // namespace

int run_watch(const Arguments& arguments) {
  const WatchOptions options = read_watch_options(arguments);
  Options how = diagnose_options(arguments);
  how.jobs = 1;  // the job needs the other cores
  const Outputs outputs(arguments, options.paths);
  const Report report = Watch(arguments, options, how).run();
  outputs.write(report);
  return exit_status(report, "error");
}

}  // namespace oomdoctor::cli
