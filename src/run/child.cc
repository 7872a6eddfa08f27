// With a terminal, a process of our own is between us and the command, the keeper: the first process of the session of
// the pseudo terminal. A shell is there without us. Because of it, typing Ctrl-Z stops the command, and the end of the
// command does not hang up the terminal for those that it leaves behind.
#include "run/child.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "run/inherited.h"

namespace oomdoctor {
namespace {

constexpr int not_found = 127, not_runnable = 126;  ///< as POSIX shells exit
/// Of the pipe of an output: four times the usual size, so that the command and we wake each other less often.
constexpr int pipe_bytes = 1 << 18;

bool is_same_file(int a, int b) {
  struct stat first {
  }, second{};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

void execute(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
}

/// Whether nobody reads the other end any more, so that writing there would end a program by SIGPIPE.
bool has_no_reader(int file) {
  pollfd end{file, 0, 0};
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISFIFO(status.st_mode) && poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

}  // namespace

StartFailure::StartFailure(const std::string& command, int error)
    : Error(command + ": " + std::strerror(error)), status(error == ENOENT ? not_found : not_runnable) {}

Channel output_channel(int standard) {
  struct stat status {};
  if (inherited().is_closed(standard)) return Channel::direct;
  if (fstat(standard, &status) != 0) return Channel::pipe;  // which records all
  if (isatty(standard) == 1) return Channel::terminal;
  if (S_ISREG(status.st_mode)) return Channel::followed;
  const bool device = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
  const bool nothing = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);  // /dev/null
  return device && !nothing ? Channel::direct : Channel::pipe;
}

StartFailure become(const std::vector<std::string>& words) {
  inherited().give_back();
  execute(words);
  return {words[0], errno};
}

Child::Child() {
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    channels_[static_cast<std::size_t>(standard)] = output_channel(standard);
  if (channel(1) == Channel::pipe && channel(2) == Channel::pipe && is_same_file(STDOUT_FILENO, STDERR_FILENO))
    channels_[2] = Channel::with_output;
  if (channel(1) == Channel::terminal || channel(2) == Channel::terminal) open_terminal();
  if (channel(1) == Channel::pipe) add_pipe(out_, 1);
  if (channel(2) == Channel::pipe) add_pipe(error_, 2);
  if (channel(2) == Channel::with_output && !out_.is_open()) channels_[2] = Channel::direct;
}

Child::~Child() { restore_terminal(); }

void Child::add_pipe(Pipe& pipe, int standard) {
  pipe = Pipe::make();
  if (!pipe.is_open()) {
    problems_.push_back(std::string(standard == 1 ? "standard output" : "standard error") +
                        " was lost: " + std::strerror(errno));
    channels_[static_cast<std::size_t>(standard)] = Channel::direct;
    return;
  }
  fcntl(pipe.read.number(), F_SETFL, O_NONBLOCK);
  fcntl(pipe.read.number(), F_SETPIPE_SZ, pipe_bytes);  // where that is too much, it stays as it is
  if (has_no_reader(standard)) pipe.read.close();
}

void Child::open_terminal() {
  const int model = channel(1) == Channel::terminal ? STDOUT_FILENO : STDERR_FILENO;
  // In the background, reading the terminal or changing it would stop us.
  const bool typed = isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp();
  termios settings{};
  winsize size{};
  const bool known = tcgetattr(model, &settings) == 0;
  // Our own terminal also begins each line at the left, unless it passes every byte on.
  if (!typed) settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  ioctl(model, TIOCGWINSZ, &size);
  int ours = -1, theirs = -1;
  if (!known || openpty(&ours, &theirs, nullptr, &settings, &size) != 0) {
    problems_.push_back(std::string("output to the terminal was lost: ") + std::strerror(errno));
    for (Channel& each : channels_)
      if (each == Channel::terminal) each = Channel::direct;
    return;
  }
  terminal_ = Descriptor(ours);
  theirs_ = Descriptor(theirs);
  for (const int end : {ours, theirs}) fcntl(end, F_SETFD, FD_CLOEXEC);
  fcntl(ours, F_SETFL, O_RDWR | O_NONBLOCK);
  if (typed) channels_[0] = Channel::terminal;
}

bool Child::start(const std::vector<std::string>& words) {
  Pipe report = Pipe::make();  // closes by itself when the command starts
  Pipe state = terminal_.is_open() ? Pipe::make() : Pipe{}, orders = terminal_.is_open() ? Pipe::make() : Pipe{};
  if (!report.is_open() || (terminal_.is_open() && !(state.is_open() && orders.is_open()))) return false;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    if (!terminal_.is_open()) enter(words, report.write.number(), parent);
    keep_terminal(words, report.write.number(), state.write.number(), orders.read.number());
    _exit(0);
  }
  pid_ = child;
  for (Descriptor* end : {&report.write, &state.write, &orders.read, &out_.write, &error_.write}) end->close();
  int error = 0;
  const bool failed = uninterrupted([&] { return read(report.read.number(), &error, sizeof error); }) == sizeof error;
  if (terminal_.is_open()) {
    keeper_ = std::move(orders.write);
    keeper_changes_ = std::move(state.read);
    int number = 0;  // the first word is the command's number
    const bool told = uninterrupted([&] { return read(changes(), &number, sizeof number); }) == sizeof number;
    fcntl(changes(), F_SETFL, O_NONBLOCK);
    if (!told && !failed) {  // it could not start the command
      uninterrupted([&] { return waitpid(child, nullptr, 0); });
      return false;
    }
    if (told) pid_ = number;
  }
  if (failed) {
    keeper_.close();
    uninterrupted([&] { return waitpid(child, nullptr, 0); });
    throw StartFailure(words[0], error);
  }
  take_over_terminal();
  return true;
}

/// Between fork() and exec(): only calls that are safe there.
void Child::enter(const std::vector<std::string>& words, int report, pid_t parent) const {
  // Who kills this program means the command.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(not_runnable);
  if (terminal_.is_open()) {
    setpgid(0, 0);
    std::signal(SIGTTOU, SIG_IGN);  // a program in the background may put itself in front
    tcsetpgrp(theirs_.number(), getpid());
  }
  const std::array<int, 3> ends{theirs_.number(), out_.write.number(), error_.write.number()};
  for (const int standard : {STDERR_FILENO, STDIN_FILENO, STDOUT_FILENO}) {
    const Channel way = channel(standard);
    if (way == Channel::terminal) dup2(theirs_.number(), standard);
    if (way == Channel::pipe) dup2(ends[static_cast<std::size_t>(standard)], standard);
    if (way == Channel::with_output) dup2(out_.write.number(), standard);
  }
  inherited().give_back();
  execute(words);
  const int error = errno;
  [[maybe_unused]] const auto written = write(report, &error, sizeof error);
  _exit(not_runnable);
}

/// The first process of the terminal's session: starts the command, and writes down each change of its state until we
/// close `orders`. If we die before the command does, so does the command.
void Child::keep_terminal(const std::vector<std::string>& words, int report, int state, int orders) {
  setsid();
  ioctl(theirs_.number(), TIOCSCTTY, 0);
  sigset_t all, changes;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  sigemptyset(&changes);
  sigaddset(&changes, SIGCHLD);
  const Descriptor signals(signalfd(-1, &changes, SFD_CLOEXEC | SFD_NONBLOCK));
  const pid_t self = getpid(), command = signals.is_open() ? fork() : -1;
  if (command < 0) return;
  if (command == 0) enter(words, report, self);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) silence(standard);
  close_all_but({state, orders, signals.number()});
  const auto say = [&](int word) { [[maybe_unused]] const auto written = write(state, &word, sizeof word); };
  say(command);
  for (bool ended = false; !ended;) {
    std::array<pollfd, 2> events{{{signals.number(), POLLIN, 0}, {orders, POLLIN, 0}}};
    poll(events.data(), events.size(), -1);
    signalfd_siginfo info{};
    while (read(signals.number(), &info, sizeof info) > 0) continue;
    int status = 0;
    while (waitpid(command, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
      say(status);
      ended |= WIFEXITED(status) || WIFSIGNALED(status);
    }
    if (events[1].revents == 0 || ended) continue;
    kill(command, SIGKILL);
    return;
  }
  char word = 0;
  while (read(orders, &word, 1) > 0 || errno == EINTR) continue;
}

std::optional<int> Child::read_change() {
  int status = 0;
  const ssize_t got = uninterrupted([&] { return read(changes(), &status, sizeof status); });
  if (got == sizeof status) return status;
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  keeper_changes_.close();
  return SIGKILL;  // a status of waitpid(): ended by this signal
}

bool Child::takes_input() const { return ours_.has_value() && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

/// The pseudo terminal echoes, edits lines and turns control characters into signals.
void Child::take_over_terminal() {
  termios settings{};
  if (channel(0) != Channel::terminal || ours_ || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
      tcgetattr(STDIN_FILENO, &settings) != 0)
    return;
  ours_ = settings;
  cfmakeraw(&settings);
  tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

void Child::restore_terminal() {
  if (!ours_) return;
  tcsetattr(STDIN_FILENO, TCSANOW, &*ours_);
  ours_.reset();
}

void Child::leave_terminal() {
  termios theirs{};
  if (ours_ && tcgetattr(terminal_.number(), &theirs) == 0) {
    theirs.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    tcsetattr(terminal_.number(), TCSANOW, &theirs);
  }
  restore_terminal();
}

void Child::pass(int signal, bool to_group) {
  if (pid_ <= 0) return;
  if (!terminal_.is_open()) {
    if (!to_group) kill(pid_, signal);
    return;
  }
  kill(to_group || signal == SIGCONT ? -pid_ : pid_, signal);
}

void Child::resize() {
  winsize size{};
  const int model = shows_on_output() ? STDOUT_FILENO : STDERR_FILENO;
  if (terminal_.is_open() && ioctl(model, TIOCGWINSZ, &size) == 0) ioctl(terminal_.number(), TIOCSWINSZ, &size);
}

}  // namespace oomdoctor
