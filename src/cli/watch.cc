// oomdoctor watch: follows the logs of a job that still runs, and warns before its memory is full.
//
// Reading is incremental. A judgement is made in a forked process: it has all that was read so far, reads the last bytes
// as if nothing followed, and judges. So the one reader of all logs stays as it is, and a judgement leaves nothing
// behind.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "base/error.h"
#include "cli/analysis.h"
#include "cli/ci_system.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/file_changes.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/shared_report.h"
#include "oomdoctor/growing_logs.h"
#include "redact/redact.h"
#include "report/escape.h"
#include "report/pulse.h"
#include "report/utf8.h"

namespace oomdoctor::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using Json = nlohmann::ordered_json;

/// Where changes are reported, a look at the files is only for those that are not; where they are not, it is all.
constexpr Seconds look_beside_changes{5}, look_without_changes{1};
constexpr Seconds after_change{0.25};  ///< a log that is written all the time is read four times a second
/// A judgement may take this share of one core: the job needs its machine.
constexpr double max_share = 0.05;
constexpr Seconds shortest_rate{10}, longest_rate{600};  ///< over which the speed of the steps is measured
constexpr Seconds between_lines{60};                     ///< of a log or a pipe; a terminal has one line that changes
/// A warning is over when the estimate is this much better again, so that it does not come and go.
constexpr double time_hysteresis = 1.5, fill_hysteresis = 0.05;

/// Reads "30min", "1.5h", "90s", "2d" or a number of seconds. Throws Error.
double read_duration(std::string_view option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, seconds] : {std::pair<std::string_view, double>{"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}})
    if (error == std::errc{} && unit == name && value > 0 && value < 1e8) return value * seconds;
  throw Error(fmt::format("invalid --{} '{}'", option, text), "", "give a time, for example 30min, 2h or 90s");
}

double read_share(std::string_view option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc{} || unit != "%" || value <= 0 || value > 100)
    throw Error(fmt::format("invalid --{} '{}'", option, text), "", "give a share of the memory, for example 90%");
  return value / 100;
}

pid_t read_pid(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size() || pid <= 0)
    throw Error(fmt::format("invalid --pid '{}'", text), "", "give the number of a process");
  return pid;
}

struct WatchOptions {
  std::vector<std::string> paths;
  Seconds every{1};
  double warn_before = 0;  ///< seconds
  double warn_at = 0;      ///< share
  std::string on_risk, prometheus;
  std::optional<pid_t> pid;
  bool json = false;
};

WatchOptions read_options(const Arguments& arguments) {
  WatchOptions options;
  options.paths = arguments.words;
  for (const std::string& path : arguments.all("csv")) options.paths.push_back(path);
  if (options.paths.empty())
    throw Error("watch needs the logs of a job", "", "for example: oomdoctor watch train.log");
  options.every = Seconds(read_duration("every", arguments.value_or("every", "1s")));
  options.warn_before = read_duration("warn-before", arguments.value_or("warn-before", "30min"));
  options.warn_at = read_share("warn-at", arguments.value_or("warn-at", "90%"));
  options.on_risk = arguments.value_or("on-risk", "");
  options.prometheus = arguments.value_or("prometheus", "");
  if (const auto pid = arguments.value("pid")) options.pid = read_pid(*pid);
  options.json = arguments.has("json-lines");
  return options;
}

Json json_of(const Pulse& pulse) {
  Json out{{"outcome", pulse.outcome}, {"headline", plain_line(pulse.headline)}};
  const auto put = [&](const char* name, const auto& value) {
    if (value) out[name] = *value;
  };
  if (!pulse.cause.empty()) out["cause"] = pulse.cause;
  put("step", pulse.step);
  if (!pulse.memory.empty()) out["memory"] = plain_line(pulse.memory);
  if (!pulse.unit.empty()) out["unit"] = pulse.unit;
  put("value", pulse.value);
  put("capacity", pulse.capacity);
  put("fill", fill_of(pulse));
  if (!pulse.rate.empty()) out["rate"] = pulse.rate;
  if (!pulse.left) return out;
  out["full_in_seconds"] = pulse.left->middle;
  out["full_in_seconds_low"] = pulse.left->low;
  put("full_in_seconds_high", pulse.left->high);
  return out;
}

Pulse pulse_in(const Json& from) {
  const auto text = [&](const char* name) { return from.value(name, std::string()); };
  const auto number = [&](const char* name) {
    return from.contains(name) ? std::optional(from[name].get<double>()) : std::nullopt;
  };
  Pulse pulse{text("outcome"), text("headline"), text("cause"),     number("step"), text("memory"),
              text("unit"),    number("value"),  number("capacity"), text("rate"),   {}};
  if (const auto middle = number("full_in_seconds"))
    pulse.left = TimeLeft{*middle, number("full_in_seconds_low").value_or(0), number("full_in_seconds_high")};
  return pulse;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// How fast the steps go, by our own clock: logs often print no times.
class StepClock {
 public:
  void add(std::optional<double> step) {
    if (!step) return;
    if (!seen_.empty() && *step < seen_.back().second) seen_.clear();  // the job began again
    seen_.emplace_back(Clock::now(), *step);
    while (seen_.size() > 2 && seen_.back().first - seen_[1].first > longest_rate) seen_.pop_front();
  }
  std::optional<double> steps_per_second() const {
    if (seen_.empty() || seen_.back().first - seen_.front().first < shortest_rate) return std::nullopt;
    return (seen_.back().second - seen_.front().second) / Seconds(seen_.back().first - seen_.front().first).count();
  }

 private:
  std::deque<std::pair<Clock::time_point, double>> seen_;
};

/// One judgement in a process of its own.
class Judgement {
 public:
  /// Runs `judge` and sends its text.
  template <typename Judge>
  explicit Judgement(Judge judge) : begun_(Clock::now()) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw Error("cannot make a pipe");
    text_end_ = Descriptor(ends[0]);
    Descriptor write(ends[1]);
    pid_ = fork();
    if (pid_ < 0) throw Error("cannot start a process");
    if (pid_ > 0) return;
    fcntl(write.number(), F_SETFL, 0);
    // Notes would come again with every judgement; errors are in the text.
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    [[maybe_unused]] const int priority = nice(10);  // the job comes first
    _exit(write_all(write.number(), judge()) ? 0 : 1);
  }
  ~Judgement() {
    kill(pid_, SIGKILL);
    uninterrupted([&] { return waitpid(pid_, nullptr, 0); });
  }
  Judgement(const Judgement&) = delete;

  int descriptor() const { return text_end_.number(); }
  /// Reads what there is. True when all of it is there.
  bool read() {
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t got = uninterrupted([&] { return ::read(descriptor(), buffer.data(), buffer.size()); });
      if (got <= 0) return got == 0;
      text_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
  const std::string& text() const { return text_; }
  Seconds took() const { return Clock::now() - begun_; }

 private:
  Clock::time_point begun_;
  Descriptor text_end_{-1};
  pid_t pid_ = -1;
  std::string text_;
};

class Watch {
 public:
  Watch(const Arguments& arguments, const WatchOptions& options, const Options& how)
      : arguments_(arguments),
        options_(options),
        view_(make_render_options(arguments)),
        logs_(options.paths, how),
        changes_(options.paths) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, &before_);
    signals_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  /// Later signals end the program at once; those of the same end are done with.
  ~Watch() {
    signalfd_siginfo info{};
    while (::read(signals_.number(), &info, sizeof info) > 0) continue;
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Watch(const Watch&) = delete;

  /// Watches until a signal comes or the job's process is gone. Returns the report of everything.
  Report run() {
    while (!ended_) {
      read();
      wait();
    }
    judgement_.reset();
    if (shown_) print_error("\r\x1b[K");
    return logs_.conclude();
  }

 private:
  void read() {
    const std::int64_t bytes = logs_.read();
    if (bytes == judged_bytes_ || judgement_ || Clock::now() < next_judgement_) return;
    judged_bytes_ = bytes;
    judgement_.emplace([this] { return judge(); });
  }

  /// In the forked process.
  std::string judge() {
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    try {
      const Report whole = logs_.conclude();
      const Pulse pulse = take_pulse(whole, clock_.steps_per_second());
      if (!options_.prometheus.empty()) {
        SharedReport report(whole, arguments_, runs_in_ci());
        const Writer& writer = *find_writer("prometheus");
        write_file(options_.prometheus, writer.write(report.of(writer), {}));
      }
      return without_secrets(json_of(pulse).dump(-1, ' ', true, Json::error_handler_t::replace));
    } catch (const std::exception& error) {
      return Json{{"error", error.what()}}.dump(-1, ' ', true, Json::error_handler_t::replace);
    }
  }

  void wait() {
    std::array<pollfd, 3> all{{{signals_.number(), POLLIN, 0},
                               {changes_.descriptor(), POLLIN, 0},
                               {judgement_ ? judgement_->descriptor() : -1, POLLIN, 0}}};
    Seconds longest = changes_.descriptor() < 0 ? look_without_changes : look_beside_changes;
    if (options_.pid) longest = std::min(longest, look_without_changes);
    if (has_news()) longest = std::clamp(Seconds(next_judgement_ - Clock::now()), Seconds(0), longest);
    const int milliseconds = static_cast<int>(std::ceil(longest.count() * 1000));
    if (uninterrupted([&] { return poll(all.data(), all.size(), milliseconds); }) > 0) {
      if (all[0].revents != 0) ended_ = true;
      if (all[2].revents != 0 && judgement_->read()) take(*judgement_);
      if (all[1].revents != 0) pause();
    }
    if (options_.pid && kill(*options_.pid, 0) != 0 && errno == ESRCH) ended_ = true;
  }

  bool has_news() { return !judgement_ && logs_.read() != judged_bytes_; }

  /// Lets a busy writer write for a while.
  void pause() {
    pollfd signal{signals_.number(), POLLIN, 0};
    poll(&signal, 1, static_cast<int>(after_change.count() * 1000));
    changes_.clear();
  }

  void take(const Judgement& judgement) {
    const Json parsed = Json::parse(judgement.text(), nullptr, false);
    const Seconds took = judgement.took();
    next_judgement_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                         std::max(options_.every - took, took / max_share));
    judgement_.reset();
    if (parsed.is_discarded() || !parsed.is_object()) return print_note("a judgement ended without a result");
    if (parsed.contains("error")) return print_note(parsed["error"].get<std::string>());
    const Pulse pulse = pulse_in(parsed);
    clock_.add(pulse.step);
    show(pulse, parsed);
    warn(pulse, parsed);
  }

  void show(const Pulse& pulse, const Json& parsed) {
    const bool changed = pulse.outcome != outcome_;
    outcome_ = pulse.outcome;
    if (options_.json) {
      Json line{{"time", utc_now()}};
      line.update(parsed);
      return print(line.dump(-1, ' ', true) + '\n');
    }
    const std::string text = plain_line(pulse_line(pulse));
    if (is_interactive()) {
      shown_ = true;
      return print_error("\r\x1b[K" + text.substr(0, fitting_bytes(text)));
    }
    if (!changed && Clock::now() < next_line_) return;
    next_line_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(between_lines);
    print(text + '\n');
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

  /// Warns when a condition begins to hold, and again only after it has ceased.
  void warn(const Pulse& pulse, const Json& parsed) {
    const auto begins = [](bool& known, bool now, bool ceased) {
      const bool first = now && !known;
      known = now || (known && !ceased);
      return first;
    };
    const bool failed = pulse.outcome == "oom";
    const auto fill = failed ? std::nullopt : fill_of(pulse);
    const auto left = failed ? std::nullopt : pulse.left;
    if (begins(failed_, failed, !failed)) risk("failed", pulse.headline, parsed);
    if (begins(nearly_full_, fill && *fill >= options_.warn_at, !fill || *fill < options_.warn_at - fill_hysteresis))
      risk("nearly_full", pulse_line(pulse), parsed);
    if (begins(full_soon_, left && left->middle <= options_.warn_before,
               !left || left->middle > time_hysteresis * options_.warn_before))
      risk("full_soon", pulse_line(pulse), parsed);
  }

  void risk(const char* kind, const std::string& message, const Json& parsed) {
    if (shown_) print_error("\r\x1b[K");
    print_error(fmt::format("oomdoctor: warning: {}\n", plain_line(message)));
    if (options_.on_risk.empty()) return;
    // A grandchild, so that nobody has to wait for it.
    const pid_t child = fork();
    if (child == 0) {
      if (fork() == 0) {
        sigprocmask(SIG_SETMASK, &before_, nullptr);
        setenv("OOMDOCTOR_RISK", kind, 1);
        setenv("OOMDOCTOR_MESSAGE", plain_line(message).c_str(), 1);
        setenv("OOMDOCTOR_PULSE", parsed.dump(-1, ' ', true).c_str(), 1);
        execl("/bin/sh", "sh", "-c", options_.on_risk.c_str(), static_cast<char*>(nullptr));
        _exit(127);
      }
      _exit(0);
    }
    if (child > 0) uninterrupted([&] { return waitpid(child, nullptr, 0); });
  }

  const Arguments& arguments_;
  const WatchOptions& options_;
  RenderOptions view_;
  GrowingLogs logs_;
  FileChanges changes_;
  sigset_t before_{};
  Descriptor signals_{-1};
  std::optional<Judgement> judgement_;
  StepClock clock_;
  std::int64_t judged_bytes_ = 0;
  Clock::time_point next_judgement_{}, next_line_{};
  std::string outcome_;
  bool ended_ = false, shown_ = false;
  bool failed_ = false, nearly_full_ = false, full_soon_ = false;
};

}  // namespace

int run_watch(const Arguments& arguments) {
  const WatchOptions options = read_options(arguments);
  Options how = diagnose_options(arguments);
  how.jobs = 1;  // the job needs the other cores
  const Outputs outputs(arguments, options.paths);
  const Report report = Watch(arguments, options, how).run();
  outputs.write(report);
  return exit_status(report, "error");
}

}  // namespace oomdoctor::cli
