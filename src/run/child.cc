#include "run/child.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace oomdoctor {
namespace {

constexpr int not_found = 127, not_runnable = 126;  ///< as POSIX shells exit

struct Pipe {
  Descriptor read{-1}, write{-1};
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("cannot make a pipe: ") + std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

bool is_same_file(int a, int b) {
  struct stat first {}, second {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool takes_any_number(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

Descriptor duplicate(int file) { return Descriptor(fcntl(file, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

StartFailure::StartFailure(const std::string& command, int error)
    : Error(command + ": " + std::strerror(error)), status(error == ENOENT ? not_found : not_runnable) {}

Child::Child(const std::vector<std::string>& words, const sigset_t& mask) {
  terminal_out_ = isatty(STDOUT_FILENO) == 1;
  terminal_error_ = isatty(STDERR_FILENO) == 1;
  // In the background, reading the terminal or changing it would stop us.
  terminal_in_ = (terminal_out_ || terminal_error_) && isatty(STDIN_FILENO) == 1 &&
                 tcgetpgrp(STDIN_FILENO) == getpgrp();
  one_file_ = !terminal_out_ && !terminal_error_ && is_same_file(STDOUT_FILENO, STDERR_FILENO);
  if (terminal_out_ || terminal_error_) open_terminal();
  add_streams();
  start(words, mask);
  theirs_.close();
  out_.reset();
  error_.reset();
  if (terminal_in_) take_over_terminal();
}

Child::~Child() { restore_terminal(); }

void Child::open_terminal() {
  const int model = terminal_out_ ? STDOUT_FILENO : STDERR_FILENO;
  termios settings{};
  winsize size{};
  const bool known = tcgetattr(model, &settings) == 0;
  // Our own terminal also begins each line at the left, unless it passes every byte on.
  if (!terminal_in_) settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  ioctl(model, TIOCGWINSZ, &size);
  int ours = -1, theirs = -1;
  if (openpty(&ours, &theirs, nullptr, known ? &settings : nullptr, &size) != 0)
    throw Error(std::string("cannot open a pseudo terminal: ") + std::strerror(errno));
  terminal_ = Descriptor(ours);
  theirs_ = Descriptor(theirs);
  fcntl(ours, F_SETFD, FD_CLOEXEC);
  fcntl(theirs, F_SETFD, FD_CLOEXEC);
}

void Child::add_streams() {
  const auto add_pipe = [&](std::optional<Descriptor>& end, int sink) {
    Pipe pipe = make_pipe();
    end.emplace(std::move(pipe.write));
    streams_.push_back({std::move(pipe.read), sink, true, takes_any_number(sink)});
  };
  if (terminal_.is_open())
    streams_.push_back({duplicate(terminal_.number()), terminal_out_ ? STDOUT_FILENO : STDERR_FILENO});
  if (!terminal_out_) add_pipe(out_, STDOUT_FILENO);
  if (!terminal_error_ && !one_file_) add_pipe(error_, STDERR_FILENO);
  if (terminal_in_) streams_.push_back({duplicate(STDIN_FILENO), terminal_.number(), false});
}

void Child::start(const std::vector<std::string>& words, const sigset_t& mask) {
  Pipe report = make_pipe();  // closes by itself when the command starts
  pid_ = fork();
  if (pid_ < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
  if (pid_ == 0) become(words, mask, report.write.number());
  report.write.close();
  int error = 0;
  if (uninterrupted([&] { return read(report.read.number(), &error, sizeof error); }) != sizeof error) return;
  uninterrupted([&] { return waitpid(pid_, nullptr, 0); });
  throw StartFailure(words[0], error);
}

/// Between fork() and exec(): only calls that are safe there.
void Child::become(const std::vector<std::string>& words, const sigset_t& mask, int report) const {
  if (terminal_.is_open()) {
    setsid();
    ioctl(theirs_.number(), TIOCSCTTY, 0);
  }
  if (terminal_in_) dup2(theirs_.number(), STDIN_FILENO);
  dup2(terminal_out_ ? theirs_.number() : out_->number(), STDOUT_FILENO);
  dup2(terminal_error_ ? theirs_.number() : one_file_ ? out_->number() : error_->number(), STDERR_FILENO);
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);  // main() ignores them
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  const int error = errno;
  [[maybe_unused]] const auto written = write(report, &error, sizeof error);
  _exit(not_runnable);
}

/// Our terminal passes every byte on: the pseudo terminal echoes, edits lines and turns control characters into
/// signals.
void Child::take_over_terminal() {
  termios settings{};
  if (tcgetattr(STDIN_FILENO, &settings) != 0) return;
  ours_ = settings;
  cfmakeraw(&settings);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
}

void Child::restore_terminal() {
  if (!ours_) return;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &*ours_);
  ours_.reset();
}

std::optional<CommandEnd> Child::look() {
  int status = 0;
  const pid_t found = uninterrupted([&] { return waitpid(pid_, &status, WNOHANG); });
  if (found != pid_) return std::nullopt;
  return WIFSIGNALED(status) ? CommandEnd{0, WTERMSIG(status)} : CommandEnd{WEXITSTATUS(status), 0};
}

/// The kernel ignores a typed stop in the session of the pseudo terminal, because no shell there could continue it. So
/// the character stops the command here, and then this program.
bool Child::stop_if_typed(std::string_view input) {
  termios now{};
  if (!ours_ || tcgetattr(terminal_.number(), &now) != 0 || (now.c_lflag & ISIG) == 0) return false;
  if (input.find(static_cast<char>(now.c_cc[VSUSP])) == input.npos) return false;
  const pid_t front = tcgetpgrp(terminal_.number());
  const pid_t group = front > 0 ? front : pid_;
  kill(-group, SIGSTOP);
  restore_terminal();
  raise(SIGSTOP);  // the shell takes over until it continues us
  take_over_terminal();
  resize();
  kill(-group, SIGCONT);
  return true;
}

void Child::pass(int signal, bool from_terminal) {
  if (!terminal_.is_open()) {
    if (!from_terminal) kill(pid_, signal);
    return;
  }
  kill(from_terminal ? -pid_ : pid_, signal);
}

void Child::resize() {
  winsize size{};
  if (terminal_.is_open() && ioctl(terminal_out_ ? STDOUT_FILENO : STDERR_FILENO, TIOCGWINSZ, &size) == 0)
    ioctl(terminal_.number(), TIOCSWINSZ, &size);
}

}  // namespace oomdoctor
