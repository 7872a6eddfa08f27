#include "cli/hook.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/descriptor.h"

namespace oomdoctor::cli {
namespace {

constexpr std::size_t max_running = 32;  ///< a command that hangs must not fill the machine

/// The environment of this process with the variables of the warning.
class Environment {
 public:
  Environment(const std::string& kind, const std::string& message, const std::string& pulse)
      : own_{"OOMDOCTOR_RISK=" + kind, "OOMDOCTOR_MESSAGE=" + message, "OOMDOCTOR_PULSE=" + pulse} {
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
      if (!is_own(*variable)) pointers_.push_back(*variable);
    for (std::string& variable : own_) pointers_.push_back(variable.data());
    pointers_.push_back(nullptr);
  }
  char* const* get() const { return pointers_.data(); }

 private:
  bool is_own(std::string_view variable) const {
    const std::string_view name = variable.substr(0, variable.find('='));
    return std::any_of(own_.begin(), own_.end(),
                       [&](const std::string& mine) { return mine.compare(0, mine.find('='), name) == 0; });
  }

  std::vector<std::string> own_;
  std::vector<char*> pointers_;
};

/// How the command starts. Apart from standard input, output and error, it inherits no descriptor of this program: each
/// of them closes on exec.
class SpawnPlan {
 public:
  explicit SpawnPlan(const sigset_t& mask) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files_, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_init(&how_);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&usual, signal);  // main() ignores them
    posix_spawnattr_setsigdefault(&how_, &usual);
    posix_spawnattr_setsigmask(&how_, &mask);
    posix_spawnattr_setflags(&how_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawnattr_destroy(&how_);
    posix_spawn_file_actions_destroy(&files_);
  }

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* how() const { return &how_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t how_{};
};

}  // namespace

void Hook::ask(const std::string& kind, const std::string& message, const std::string& pulse) {
  if (!is_set()) return;
  std::erase_if(waiting_, [&](const WaitingStart& other) { return other.kind == kind; });
  waiting_.push_back({kind, message, pulse});
}

std::string Hook::start_waiting() {
  while (waits()) {
    reap();
    if (running_.size() >= max_running)
      return fmt::format("{} commands of --on-risk still run; the next one waits", max_running);
    if (const int error = start(waiting_.front()))
      return fmt::format("cannot start the command of --on-risk: {}; oomdoctor tries again", std::strerror(error));
    waiting_.erase(waiting_.begin());
  }
  return "";
}

/// Returns the error of the system, or 0.
int Hook::start(const WaitingStart& of) {
  const Environment environment(of.kind, of.message, of.pulse);
  const SpawnPlan plan(mask_);
  std::string shell = "sh", option = "-c", command = command_;
  char* const words[] = {shell.data(), option.data(), command.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/bin/sh", plan.files(), plan.how(), words, environment.get());
  if (error == 0) running_.push_back(pid);
  return error;
}

void Hook::reap() {
  std::erase_if(running_, [](pid_t pid) {
    const pid_t ended = uninterrupted([&] { return waitpid(pid, nullptr, WNOHANG); });
    return ended == pid || (ended < 0 && errno == ECHILD);
  });
}

}  // namespace oomdoctor::cli
