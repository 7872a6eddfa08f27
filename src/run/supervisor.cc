#include "run/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <fstream>

#include "base/error.h"
#include "run/bounded_rows.h"
#include "run/gpu_monitor.h"
#include "run/host_memory.h"
#include "run/kept_output.h"

namespace oomdoctor {
namespace {

constexpr std::size_t piece = 1 << 16;       ///< bytes read at once
constexpr std::size_t safe_piece = 4096;     ///< PIPE_BUF: what a pipe that has room takes at once
constexpr std::size_t max_unfinished = 1 << 16;  ///< bytes of a line of one stream that waits for its end
constexpr std::size_t max_left = 1 << 20;    ///< bytes that pipes hold after the command has ended
constexpr std::size_t max_samples = 8192;    ///< more than two hours in full; about a megabyte
constexpr std::string_view sample_header =
    "time,process_tree_rss,cgroup_used,cgroup_limit,shm_used,shm_size";

/// Signals that are meant for the command.
constexpr std::array<int, 6> passed{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// The local time as nvidia-smi prints it: "2024/05/12 03:14:16.582".
std::string local_time() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  std::array<char, 32> text{};
  const std::size_t size = strftime(text.data(), text.size(), "%Y/%m/%d %H:%M:%S", &parts);
  const std::string milliseconds = std::to_string(1000 + now.tv_nsec / 1'000'000).substr(1);
  return std::string(text.data(), size) + '.' + milliseconds;
}

std::string joined(const std::vector<std::string>& words) {
  constexpr std::size_t longest = 200;
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  std::replace_if(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return out.size() > longest ? out.substr(0, longest) + "…" : out;
}

/// A program that the kernel looks for when memory is short should not be the one that reports it. Works with the right
/// to do so; otherwise the command, which is larger, is still the likelier one.
void ask_for_survival() {
  std::ofstream("/proc/self/oom_score_adj") << "-900";
}

class Supervisor {
 public:
  Supervisor(const std::vector<std::string>& words, const RunFiles& files)
      : words_(words),
        output_(files.output),
        rows_(files.samples, std::string(sample_header), max_samples),
        signals_(take_signals()),
        child_(words, before_),
        host_(child_.pid()),
        gpus_(files.gpus),
        timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    ask_for_survival();
    const itimerspec every{{1, 0}, {0, 1}};
    timerfd_settime(timer_.number(), 0, &every, nullptr);
    unfinished_.resize(child_.streams().size());
  }
  ~Supervisor() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Supervisor(const Supervisor&) = delete;

  CommandEnd run() {
    std::optional<CommandEnd> ending;
    while (!ending) {
      wait(-1);
      ending = child_.look();
    }
    ended_ = true;
    // What it has printed by now. Its own children may hold the pipe and print on for ever.
    while (!interrupted_ && (is_pending() || left_read_ < max_left) && (wait(is_pending() ? -1 : 0) || is_pending()))
      continue;
    child_.restore_terminal();
    for (std::size_t i = 0; i < unfinished_.size(); ++i) keep(i, "", true);
    read_host();  // for the kills; its memory is free by now
    write_down(*ending);
    return *ending;
  }

 private:
  int take_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : passed) sigaddset(&set, signal);
    for (const int signal : {SIGCHLD, SIGWINCH}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, &before_);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  /// Whether a reader has not taken all of what was read.
  bool is_pending() {
    const auto waits = [](const Stream& stream) { return stream.keeps && !stream.pending.empty(); };
    return std::any_of(child_.streams().begin(), child_.streams().end(), waits);
  }

  /// Waits up to `milliseconds` for events and handles them. False if no stream had anything.
  bool wait(int milliseconds) {
    std::vector<pollfd> all{{signals_.number(), POLLIN, 0}, {timer_.number(), POLLIN, 0}, {gpus_.output(), POLLIN, 0}};
    const bool reads = left_read_ < max_left;
    for (const Stream& stream : child_.streams())
      all.push_back(stream.pending.empty() ? pollfd{reads ? stream.source.number() : -1, POLLIN, 0}
                                           : pollfd{stream.sink, POLLOUT, 0});
    if (uninterrupted([&] { return poll(all.data(), all.size(), milliseconds); }) <= 0) return false;
    if (all[0].revents != 0) take_signal();
    if (all[1].revents != 0) tick();
    if (all[2].revents != 0) gpus_.read();
    bool any = false;
    for (std::size_t i = 3; i < all.size(); ++i) {
      if (all[i].revents == 0) continue;
      Stream& stream = child_.streams()[i - 3];
      any |= stream.keeps;
      if (stream.pending.empty())
        read(i - 3, stream);
      else
        pass_on(stream);
    }
    return any;
  }

  void take_signal() {
    signalfd_siginfo info{};
    while (::read(signals_.number(), &info, sizeof info) == sizeof info) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGWINCH) child_.resize();
      if (std::find(passed.begin(), passed.end(), signal) == passed.end()) continue;
      if (ended_)
        interrupted_ = true;
      else
        child_.pass(signal, info.ssi_code == SI_KERNEL);
    }
  }

  void tick() {
    std::uint64_t times = 0;
    [[maybe_unused]] const auto got = ::read(timer_.number(), &times, sizeof times);
    sample();
  }

  void sample() {
    const std::string time = local_time();
    const HostMemory now = read_host();
    std::string row = time;
    for (const auto& number : {now.tree_rss, now.cgroup_used, now.cgroup_limit, now.shared_used, now.shared_size})
      row += ',' + (number ? std::to_string(*number) : std::string());
    if (now.tree_rss || now.cgroup_used)
      rows_.add(row, "", static_cast<double>(std::max(now.tree_rss.value_or(0), now.cgroup_used.value_or(0))));
    gpus_.sample(time);
  }

  HostMemory read_host() {
    const HostMemory now = host_.read();
    if (now.kills && !kills_before_) kills_before_ = now.kills;
    if (now.kills) kills_ = *now.kills - *kills_before_;
    if (now.cgroup_limit) limit_ = now.cgroup_limit;
    return now;
  }

  /// At the end of the input of a terminal, or if the command closed its output, the stream ends.
  void read(std::size_t i, Stream& stream) {
    std::array<char, piece> buffer;
    const ssize_t got =
        uninterrupted([&] { return ::read(stream.source.number(), buffer.data(), buffer.size()); });
    if (got <= 0) {
      stream.source.close();
      return;
    }
    stream.pending.assign(buffer.data(), static_cast<std::size_t>(got));
    if (ended_) left_read_ += stream.pending.size();
    if (stream.keeps)
      keep(i, stream.pending, false);
    else if (child_.stop_if_typed(stream.pending))
      stream.pending.clear();
    pass_on(stream);
  }

  /// Writes as much as the sink takes without waiting. If nobody reads it any more, the command learns it the same way as
  /// it would without us: its output closes.
  void pass_on(Stream& stream) {
    pollfd sink{stream.sink, POLLOUT, 0};
    while (!stream.pending.empty() && poll(&sink, 1, 0) == 1) {
      const std::size_t size = stream.whole ? stream.pending.size() : std::min(stream.pending.size(), safe_piece);
      const ssize_t written = uninterrupted([&] { return write(stream.sink, stream.pending.data(), size); });
      if (written < 0) {
        if (errno == EAGAIN) return;  // somebody else filled it in between
        stream.pending.clear();
        stream.source.close();
        return;
      }
      stream.pending.erase(0, static_cast<std::size_t>(written));
    }
  }

  /// Keeps whole lines, so that two streams do not break each other's.
  void keep(std::size_t i, std::string_view text, bool at_end) {
    std::string& rest = unfinished_[i];
    const std::size_t last = text.find_last_of("\r\n");
    if (last == text.npos && rest.size() + text.size() < max_unfinished && !at_end) {
      rest += text;
      return;
    }
    const std::size_t whole = at_end || last == text.npos ? text.size() : last + 1;
    output_.add(rest);
    output_.add(text.substr(0, whole));
    rest = text.substr(whole);
  }

  /// Says in the last lines of the output how the command ended. parsers/run.toml reads them.
  void write_down(const CommandEnd& ending) {
    output_.join();
    std::string text;
    if (kills_ > 0) {
      text += "oomdoctor run: the kernel killed " + std::to_string(kills_) +
              (kills_ == 1 ? " process" : " processes") + " of this cgroup for memory";
      if (limit_) text += "; its limit is " + std::to_string(*limit_) + " bytes";
      text += '\n';
    }
    if (ending.signal != 0)
      text += "oomdoctor run: signal " + std::to_string(ending.signal) + " (SIG" + name_of(ending.signal) +
              ") ended the command: " + joined(words_) + '\n';
    else
      text += "oomdoctor run: the command ended with exit status " + std::to_string(ending.status) + ": " +
              joined(words_) + '\n';
    output_.add(text);
  }

  static std::string name_of(int signal) {
    const char* name = sigabbrev_np(signal);
    return name != nullptr ? name : std::to_string(signal);
  }

  const std::vector<std::string>& words_;
  KeptOutput output_;
  BoundedRows rows_;
  sigset_t before_{};  ///< the signal mask of this program, and so of the command
  Descriptor signals_;
  Child child_;
  HostProbe host_;
  GpuMonitor gpus_;
  Descriptor timer_;
  std::vector<std::string> unfinished_;  ///< for each stream, the beginning of a line
  std::optional<std::int64_t> kills_before_, limit_;
  std::int64_t kills_ = 0;
  std::size_t left_read_ = 0;  ///< bytes read after the end
  bool ended_ = false, interrupted_ = false;  ///< the command has ended; somebody does not want to wait for its readers
};

}  // namespace

RunFiles files_of_run(const std::string& folder) {
  return {folder + "/output.log", folder + "/samples.csv", folder + "/gpus.csv"};
}

CommandEnd supervise(const std::vector<std::string>& words, const RunFiles& files) { return Supervisor(words, files).run(); }

}  // namespace oomdoctor
