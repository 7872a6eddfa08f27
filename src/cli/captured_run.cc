#include "cli/captured_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include "base/descriptor.h"

namespace oomdoctor::cli {
namespace {

[[noreturn]] void fail_with_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// A pipe from the process, and what came through it.
class CapturedStream {
 public:
  explicit CapturedStream(std::size_t max_bytes) : max_bytes_(max_bytes) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_with_errno("cannot make a pipe");
    read_end_ = Descriptor(ends[0]);
    write_end_ = Descriptor(ends[1]);
  }

  Descriptor& write_end() { return write_end_; }
  int read_end() const { return read_end_.number(); }

  /// Reads a piece. Drops what is beyond the limit, so that the process does not wait. Closes the pipe at its end.
  void read() {
    std::array<char, 1 << 14> piece;
    const ssize_t got = uninterrupted([&] { return ::read(read_end(), piece.data(), piece.size()); });
    if (got <= 0) {
      read_end_.close();
      return;
    }
    size_ += static_cast<std::size_t>(got);
    text_.append(piece.data(), std::min(static_cast<std::size_t>(got), max_bytes_ - text_.size()));
  }

  std::string take() { return std::move(text_); }
  std::size_t size() const { return size_; }

 private:
  std::size_t max_bytes_, size_ = 0;
  Descriptor read_end_{-1}, write_end_{-1};
  std::string text_;
};

/// A forked process. If nobody waited for its end, it is killed with its owner.
class CapturedProcess {
 public:
  explicit CapturedProcess(pid_t pid) : pid_(pid) {}
  CapturedProcess(const CapturedProcess&) = delete;
  CapturedProcess& operator=(const CapturedProcess&) = delete;
  ~CapturedProcess() {
    if (pid_ > 0) kill(), wait();
  }

  void kill() const { ::kill(pid_, SIGKILL); }
  /// Its status, as waitpid() gives it.
  int wait() {
    int status = 0;
    uninterrupted([&] { return waitpid(pid_, &status, 0); });
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

/// What runs in the forked process. Clients start a server in any locale, and read UTF-8.
[[noreturn]] void work_and_exit(const std::function<int()>& work, pid_t parent, int output, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before
  const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
  nowhere < 0 ? close(STDIN_FILENO) : dup2(nowhere, STDIN_FILENO);
  if (dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0) _exit(1);
  setenv("LC_ALL", "C.UTF-8", 1);  // NOLINT(concurrency-mt-unsafe): a forked process has one thread
  int status = 1;
  try {
    status = work();
  } catch (const std::exception&) {  // the status shows it
  }
  _exit(status);
}

}  // namespace

CapturedRun run_captured(const std::function<int()>& work, std::size_t max_output, const OtherInput& other) {
  constexpr std::size_t max_errors = 4096;
  CapturedStream output(max_output), errors(max_errors);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) fail_with_errno("cannot start a process");
  if (child == 0) work_and_exit(work, parent, output.write_end().number(), errors.write_end().number());
  CapturedProcess process(child);
  output.write_end().close();
  errors.write_end().close();
  CapturedRun run;
  while (output.read_end() >= 0 || errors.read_end() >= 0) {
    std::array<pollfd, 3> awaited = {{{output.read_end(), POLLIN, 0},
                                      {errors.read_end(), POLLIN, 0},
                                      {run.cancelled ? -1 : other.descriptor(), POLLIN, 0}}};
    if (uninterrupted([&] { return poll(awaited.data(), awaited.size(), -1); }) < 0)
      fail_with_errno("cannot wait for a process");
    if (awaited[0].revents != 0) output.read();
    if (awaited[1].revents != 0) errors.read();
    if (awaited[2].revents == 0 || other.read()) continue;
    run.cancelled = true;
    process.kill();
  }
  const int status = process.wait();
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  run.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  run.output_size = output.size();
  run.output = output.take();
  run.errors = errors.take();
  return run;
}

}  // namespace oomdoctor::cli
