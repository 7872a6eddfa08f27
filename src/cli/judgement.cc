#include "cli/judgement.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>
#include <thread>

namespace oomdoctor::cli {
namespace {

/// What runs in the forked process.
[[noreturn]] void judge_and_exit(const std::function<void(const Judgement::Tell&)>& judge, int to) {
  fcntl(to, F_SETFL, 0);
  // Notes would come again with every judgement; errors are in the lines.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  nowhere < 0 ? close(STDERR_FILENO) : dup2(nowhere, STDERR_FILENO);
  [[maybe_unused]] const int priority = nice(10);  // the job comes first
  int status = 1;
  try {
    judge([&](const std::string& line) {
      if (!write_all(to, line + '\n')) _exit(1);
    });
    status = 0;
  } catch (const std::exception&) {  // the end without a last line shows it
  }
  _exit(status);
}

[[noreturn]] void refuse(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Judgement::Judgement(const std::function<void(const Tell&)>& judge) : begun_(Clock::now()) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) refuse("cannot make a pipe");
  text_end_ = Descriptor(ends[0]);
  const Descriptor write_end(ends[1]);
  pid_ = fork();
  if (pid_ < 0) refuse("cannot start a process");
  if (pid_ == 0) judge_and_exit(judge, write_end.number());
}

/// A process that the kernel holds in a system call, as on a network file system, does not end at once; it is then
/// left behind.
Judgement::~Judgement() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  constexpr int patience = 100;  // milliseconds
  for (int i = 0; i < patience && waitpid(pid_, nullptr, WNOHANG) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::vector<std::string> Judgement::read() {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = uninterrupted([&] { return ::read(descriptor(), buffer.data(), buffer.size()); });
    if (got < 0 && errno != EAGAIN) kill(pid_, SIGKILL);
    ended_ = ended_ || got == 0 || (got < 0 && errno != EAGAIN);
    if (got <= 0) break;
    text_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  std::vector<std::string> lines;
  for (std::size_t end; (end = text_.find('\n')) != text_.npos; text_.erase(0, end + 1))
    lines.push_back(text_.substr(0, end));
  return lines;
}

std::string Judgement::finish() {
  int status = 0;
  rusage used{};
  const pid_t found = uninterrupted([&] { return wait4(pid_, &status, 0, &used); });
  const auto seconds = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  cpu_time_ = found < 0 ? took() : seconds(used.ru_utime) + seconds(used.ru_stime);
  pid_ = -1;
  if (found < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return "";
  if (WIFSIGNALED(status)) return "it was killed by signal " + std::to_string(WTERMSIG(status));
  return "it ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace oomdoctor::cli
