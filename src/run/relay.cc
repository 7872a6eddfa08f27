#include "run/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

namespace oomdoctor {
namespace {

/// Pieces that are read and written after the command has ended: more than any pipe or terminal holds. Its children may
/// print for ever.
constexpr int most_pieces = 512;
/// Pieces of one stream that are read in a row while signals and other streams wait: asking for events costs as much as
/// a piece does.
constexpr int pieces_at_once = 8;
constexpr std::chrono::milliseconds retry_pause{1};
constexpr int most_stream_failures = 100;  ///< of read() and write() in one stream
/// A reader that takes nothing for so long after the end of the command gets the rest by the process next to it.
constexpr int patience = 1000;  ///< milliseconds

std::int64_t milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// The state letter of a process: 'R', 'S', 'T' if it is stopped; 0 if there is no such process.
char read_state(pid_t process) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(process));
  const Descriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (!file.is_open() || ::read(file.number(), text.data(), text.size() - 1) <= 0) return 0;
  const char* const name_end = std::strrchr(text.data(), ')');
  return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '\0';
}

/// Continues `stopped` when somebody continues or kills `command`.
int wake_with(pid_t command, pid_t stopped) {
  constexpr timespec moment{0, 50'000'000};
  reset_signals();
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) silence(standard);
  close_all_but({});
  for (int i = 0; i < 20 && read_state(stopped) != 'T'; ++i) nanosleep(&moment, nullptr);
  while (read_state(command) == 'T') {
    if (read_state(stopped) != 'T') return 0;
    nanosleep(&moment, nullptr);
  }
  return kill(stopped, SIGCONT);
}

/// Signals that the kernel sends to all programs of a terminal. The others that it sends are about this program only,
/// as SIGXCPU is about the processor time that it took itself.
bool is_of_terminal(int signal) {
  constexpr std::array all{SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGHUP, SIGCONT, SIGWINCH};
  return std::find(all.begin(), all.end(), signal) != all.end();
}

}  // namespace

Relay::Relay(Child& child, RecorderLink& link, OutputRing& ring, pid_t recorder, int signals)
    : child_(child), link_(link), ring_(ring), recorder_(recorder), signals_(signals) {
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    if (child.channel(standard) == Channel::pipe) add_stream(std::move(child.pipe_of(standard)), standard, true);
  if (!child.terminal().is_open()) return;
  const auto again = [&] { return Descriptor(fcntl(child.terminal().number(), F_DUPFD_CLOEXEC, 3)); };
  add_stream(again(), child.shows_on_output() ? STDOUT_FILENO : STDERR_FILENO, true);
  if (child.channel(0) == Channel::terminal)
    add_stream(Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), child.terminal().number(), false);
}

void Relay::add_stream(Descriptor source, int sink, bool records) {
  Stream& stream = (*streams_)[count_++];
  stream.source = std::move(source);
  stream.sink = records ? Sink(sink) : Sink::that_never_waits(sink);
  stream.records = records;
}

CommandEnd Relay::run() {
  let_go_of_standard_files();
  while (!end_) handle_events(-1);
  child_.let_go_of_terminal();
  finish_output();
  child_.leave_terminal();
  pass_on_beside();
  return *end_;
}

/// Waits up to `milliseconds` for events and handles them. True if an output had something, or a reader took some of
/// it, or that is not known.
bool Relay::handle_events(int milliseconds) {
  constexpr std::size_t first_stream = 3;
  std::array<pollfd, first_stream + 2 * std::tuple_size_v<std::array<Stream, 4>>> events;
  events.fill({-1, 0, 0});
  events[0] = {signals_, POLLIN, 0};
  events[1] = {link_.is_waiting() ? link_.descriptor() : -1, POLLOUT, 0};
  events[2] = {child_.changes(), POLLIN, 0};
  for (std::size_t i = 0; i < count_; ++i) {
    const Stream& stream = (*streams_)[i];
    const bool reads = !stream.waits() && (stream.records || (!end_ && child_.takes_input()));
    events[first_stream + 2 * i] = {reads ? stream.source.number() : -1, POLLIN, 0};
    // Without POLLOUT, it is about a reader that goes away.
    const bool writes = stream.source.is_open() && !stream.discards;
    events[first_stream + 2 * i + 1] = {writes || stream.waits() ? stream.sink.descriptor() : -1,
                                        static_cast<short>(stream.waits() ? POLLOUT : 0), 0};
  }
  const int ready = uninterrupted([&] { return poll(events.data(), events.size(), milliseconds); });
  if (ready < 0) {  // the system has no memory for a moment
    std::this_thread::sleep_for(retry_pause);
    return true;
  }
  if (ready == 0) return false;
  if (events[0].revents != 0) take_signals();
  if (events[1].revents != 0) link_.flush();
  if (events[2].revents != 0)
    while (const auto status = child_.read_change()) take_state(*status);
  bool any = false;
  for (std::size_t i = 0; i < count_; ++i) {
    Stream& stream = (*streams_)[i];
    if (events[first_stream + 2 * i + 1].revents != 0) {
      if (!stream.waits()) lose_reader(stream);
      any |= stream.waits() && stream.records;
      write(stream);
    }
    if (events[first_stream + 2 * i].revents != 0) any |= read_pieces(i, pieces_at_once) && stream.records;
  }
  let_go_of_standard_files();
  return any;
}

/// Where the command has nothing to read or write any more, neither have we: the program at the other end learns it.
/// Standard error stays open for what this program has to say.
void Relay::let_go_of_standard_files() {
  std::array<bool, 2> needed{child_.channel(STDIN_FILENO) == Channel::terminal, false};
  for (Stream& stream : *streams_) {
    if (stream.is_over() && stream.sink.file() >= 0) stream.sink = Sink(-1);
    needed[1] |= stream.sink.file() == STDOUT_FILENO;
  }
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) {
    bool& gone = let_go_[static_cast<std::size_t>(standard)];
    if (gone || needed[static_cast<std::size_t>(standard)]) continue;
    silence(standard);
    gone = true;
  }
}

void Relay::take_signals() {
  std::array<signalfd_siginfo, 16> signals;
  for (;;) {
    const ssize_t got = ::read(signals_, signals.data(), sizeof signals);
    if (got <= 0) return;
    const auto count = static_cast<std::size_t>(got) / sizeof signals[0];
    const auto end = signals.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::any_of(signals.begin(), end, [](const auto& s) { return s.ssi_signo != SIGCHLD; })) witness_.ask();
    std::for_each(signals.begin(), end, [this](const auto& signal) { take_signal(signal); });
  }
}

/// Without a terminal of its own, the command is in our process group: what came to the whole group has reached it.
void Relay::take_signal(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  const bool is_users = info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE || info.ssi_code == SI_TKILL;
  if (signal == SIGCHLD) reap();
  const bool own = info.ssi_code == SI_USER && info.ssi_pid == static_cast<std::uint32_t>(getpid());
  if (own || (signal == SIGCHLD && !is_users)) return;  // own: the SIGPIPE of a write
  if (info.ssi_code == SI_KERNEL && !is_of_terminal(signal)) return;
  const bool to_group = witness_.also_got(info);
  pass_signal(signal, to_group || info.ssi_code == SI_KERNEL);
}

void Relay::pass_signal(int signal, bool to_group) {
  if (end_) {
    interrupted_ |= signal != SIGWINCH && signal != SIGCONT && signal != SIGURG;
    return;
  }
  if (signal == SIGWINCH) child_.resize();
  if (signal == SIGCONT) {
    child_.take_over_terminal();
    child_.resize();
  }
  if (signal != SIGWINCH || !child_.terminal().is_open()) child_.pass(signal, to_group);
}

/// As process 1, this program also inherits what other processes leave behind.
void Relay::reap() {
  int status = 0;
  pid_t found = 0;
  while ((found = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
    if (found == recorder_ && (WIFEXITED(status) || WIFSIGNALED(status))) {
      recorder_status_ = status;
      link_.close();
    } else if (child_.is_own_child() && found == child_.pid()) {
      take_state(status);
    }
  }
  if (found < 0 && errno == ECHILD && child_.is_own_child() && !end_) end_ = CommandEnd{};
}

void Relay::take_state(int status) {
  if (WIFSTOPPED(status)) stop_together(WSTOPSIG(status));
  if (WIFEXITED(status)) end_ = CommandEnd{WEXITSTATUS(status), 0};
  if (WIFSIGNALED(status)) end_ = CommandEnd{0, WTERMSIG(status)};
}

/// The command is stopped, and so are we: for a shell, both are one job. Continuing one of them continues both.
void Relay::stop_together(int signal) {
  // What it printed comes before what its shell says about the stop.
  for (std::size_t i = 0; i < count_; ++i)
    if ((*streams_)[i].records) read_pieces(i, most_pieces);
  child_.restore_terminal();
  const pid_t command = child_.pid(), self = getpid();
  const pid_t waker = run_beside([=] { return wake_with(command, self); });
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, signal);
  kill(self, signal);
  sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // here we are stopped; SIGSTOP has stopped us already
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  if (waker > 0) kill(waker, SIGKILL);
  // Nobody who could continue us is there, so the kernel did not stop us. It would not have stopped the command either.
  sigset_t pending;
  if (signal == SIGTSTP && sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 0) kill(-command, SIGCONT);
  child_.take_over_terminal();
  child_.resize();
}

/// Once its bytes are written.
void Relay::release_slot(Stream& stream) {
  if (stream.slot) ring_.release(*stream.slot);
  stream.slot.reset();
}

/// At the end of the input of a terminal, or if the command closed its output, the stream ends. False if there is
/// nothing.
bool Relay::read(std::size_t i) {
  Stream& stream = (*streams_)[i];
  std::optional<OutputRing::Room> room;
  if (stream.records && link_.is_open()) room = ring_.take();
  if (room) stream.slot = room->slot;
  std::span<char> bytes = room ? room->bytes : stream.buffer;
  if (stream.records && !stream.discards && stream.shared == 0)
    stream.shared = stream.sink.share(stream.source.number(), bytes.size());
  if (stream.shared > 0) bytes = bytes.first(std::min(bytes.size(), stream.shared));
  const ssize_t got = uninterrupted([&] { return ::read(stream.source.number(), bytes.data(), bytes.size()); });
  if (got <= 0) release_slot(stream);
  if (got < 0 && errno == EAGAIN) return false;
  const bool hangs_up = got < 0 && errno == EIO && stream.records && child_.terminal().is_open();
  if (got < 0 && !hangs_up && ++stream.failures < most_stream_failures) {
    std::this_thread::sleep_for(retry_pause);
    return true;
  }
  if (got <= 0) {
    stream.source.close();
    return false;
  }
  stream.left = {bytes.data(), static_cast<std::size_t>(got)};
  if (stream.records) link_.send_output(i, room, stream.left.size());
  if (stream.shared > 0) {
    stream.shared -= stream.left.size();
    stream.left = {};
  }
  write(stream);
  return true;
}

/// At most that many pieces, as long as the sink takes them. Input is read only when it is there: reading it may wait.
bool Relay::read_pieces(std::size_t i, int most) {
  const Stream& stream = (*streams_)[i];
  int pieces = 0;
  while (pieces < (stream.records ? most : 1) && stream.source.is_open() && !stream.waits() && read(i)) ++pieces;
  return pieces > 0;
}

/// Writes what the sink has room for. If nobody reads it any more, the command learns it in the same way as it would
/// without us: its output closes. If the sink fails otherwise, only its own bytes are lost.
void Relay::write(Stream& stream) {
  while (stream.waits()) {
    const ssize_t written = stream.discards ? static_cast<ssize_t>(stream.left.size()) : stream.sink.write(stream.left);
    if (written == 0) return;
    if (written > 0) {
      stream.left.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const bool has_no_reader = errno == EPIPE || errno == ECONNRESET;
    if (!has_no_reader && ++stream.failures < most_stream_failures) {
      std::this_thread::sleep_for(retry_pause);
      continue;
    }
    stream.left = {};
    if (has_no_reader)
      stream.source.close();
    else
      stream.discards = true;
  }
  release_slot(stream);
}

/// The reader of a pipe went away, or a terminal hung up. The command may have another terminal, so its own stays.
void Relay::lose_reader(Stream& stream) {
  if (isatty(stream.sink.descriptor()) == 1)
    stream.discards = true;
  else
    stream.source.close();
}

/// What the command has printed by now. Its own children may hold the pipe and print on for ever, and nobody may read
/// it.
void Relay::finish_output() {
  const auto waits = [this] {
    return std::any_of(streams_->begin(), streams_->end(), [](const Stream& s) { return s.records && s.waits(); });
  };
  std::int64_t last = milliseconds();
  for (int pieces = 0; !interrupted_ && pieces < most_pieces;) {
    const std::int64_t left = last + patience - milliseconds();
    const bool waiting = waits();
    if (handle_events(waiting ? static_cast<int>(std::max<std::int64_t>(left, 0)) : 0)) {
      ++pieces;
      last = milliseconds();
    } else if (!waiting || left <= 0) {
      break;
    }
  }
}

/// In the process next to it: nobody waits for the end of a file because of it.
void Relay::keep_streams_only() {
  link_.close();
  signals_ = -1;
  std::vector<int> kept{child_.changes(), child_.keeper()};
  std::array<bool, 3> needed{};
  for (Stream& stream : *streams_) {
    if (!stream.records) stream = Stream();
    if (stream.is_over()) continue;
    kept.insert(kept.end(), {stream.source.number(), stream.sink.descriptor()});
    needed[static_cast<std::size_t>(stream.sink.file())] = true;
  }
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (!needed[static_cast<std::size_t>(standard)]) silence(standard);
  close_all_but(kept);
}

/// Leaves the outputs that are still open to a process of its own, which ends when nobody has them open any more.
void Relay::pass_on_beside() {
  const auto open = [this] {
    return std::any_of(streams_->begin(), streams_->end(),
                       [](const Stream& s) { return s.records && (s.source.is_open() || s.waits()); });
  };
  if (!open()) return;
  // The one end that shows it is the last: a terminal has no end before all have closed it.
  const pid_t beside = run_beside([&] {
    setsid();
    reset_signals();
    keep_streams_only();
    while (open()) handle_events(-1);
    return 0;
  });
  if (beside < 0) return;
  for (Stream& stream : *streams_) {
    stream.source.close();
    stream.left = {};
  }
}

std::optional<int> Relay::wait_for_recorder(int seconds) {
  const std::int64_t end = milliseconds() + std::int64_t{1000} * seconds;
  while (!recorder_status_ && !interrupted_ && milliseconds() <= end) handle_events(patience);
  if (!recorder_status_) kill(recorder_, SIGTERM);  // it ends when the files are complete
  if (!recorder_status_ || !WIFEXITED(*recorder_status_)) return std::nullopt;
  return WEXITSTATUS(*recorder_status_);
}

}  // namespace oomdoctor
