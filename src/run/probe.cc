#include "run/probe.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <ctime>

namespace oomdoctor {
namespace {

/// Without a sample for so long, a probe has hung. The first one takes longer: a driver without persistence mode loads.
constexpr std::chrono::seconds longest_silence{30}, longest_start{90};
constexpr std::size_t max_unread = 1 << 20;  ///< bytes; no probe writes so much in a second

/// The status of a process that is about to end; nullopt if it does not end within a tenth of a second.
std::optional<int> wait_shortly(pid_t process) {
  constexpr timespec moment{0, 2'000'000};
  for (int i = 0; i < 50; ++i) {
    int status = 0;
    if (uninterrupted([&] { return waitpid(process, &status, WNOHANG); }) == process) return status;
    nanosleep(&moment, nullptr);
  }
  return std::nullopt;
}

}  // namespace

/// In the new process. It dies with the recorder.
void Probe::enter(pid_t parent, int input, int output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  reset_signals();
  if (getppid() != parent) _exit(1);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  silence(STDERR_FILENO);
  close_all_but({});
}

void Probe::begin(Descriptor output, Descriptor orders) {
  setpgid(process_, process_);
  fcntl(output.number(), F_SETFL, O_NONBLOCK);
  output_ = std::move(output);
  orders_ = std::move(orders);
  last_ = Clock::now();
}

Probe::~Probe() {
  if (process_ <= 0) return;
  kill(-process_, SIGKILL);
  wait_shortly(process_);  // one that hangs in a driver is left to the system
}

void Probe::read(std::string& out) {
  std::array<char, 1 << 14> buffer;
  for (;;) {
    const ssize_t got = uninterrupted([&] { return ::read(output(), buffer.data(), buffer.size()); });
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return end(false);
    last_ = Clock::now();
    wrote_ = true;
    out.append(buffer.data(), static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < buffer.size() || out.size() > max_unread) return;
  }
}

void Probe::write(std::string_view order) {
  if (orders_.is_open() && !write_all(orders_.number(), order)) orders_.close();
}

void Probe::check() {
  if (output_.is_open() && Clock::now() - last_ > (wrote_ ? longest_silence : longest_start)) end(true);
}

/// The probe has ended or hung. A machine without the thing to be sampled has one that ends well and writes nothing.
void Probe::end(bool hung) {
  output_.close();
  if (process_ <= 0) return;
  kill(-process_, SIGKILL);
  const auto status = hung ? std::nullopt : wait_shortly(process_);
  const bool finished = !orders_.is_open();
  process_ = -1;
  if (hung || !status)
    problem_ = "the probe hung";
  else if (WIFSIGNALED(*status))
    problem_ = std::string("the probe crashed (SIG") + sigabbrev_np(WTERMSIG(*status)) + ")";
  else if (wrote_ && !finished)
    problem_ = "the probe ended with status " + std::to_string(WEXITSTATUS(*status));
}

}  // namespace oomdoctor
