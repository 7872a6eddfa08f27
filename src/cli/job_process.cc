#include "cli/job_process.h"

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parse_whole.h"
#include "base/small_file.h"

namespace oomdoctor::cli {
namespace {

struct ProcessState {
  char state = 0;  ///< 'Z': ended, but nobody waited for it; 'X': about to vanish
  unsigned long long threads = 0, started = 0;
};

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \n", at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// From /proc/PID/stat; nullopt if that cannot be read. The fields are counted after the name, which may contain
/// anything.
std::optional<ProcessState> read_state(pid_t pid) {
  constexpr std::size_t state = 0, threads = 17, started = 19;
  try {
    const std::string text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t name_end = text.rfind(')');
    if (name_end == text.npos) return std::nullopt;
    const auto words = split_words(std::string_view(text).substr(name_end + 1));
    if (words.size() <= started) return std::nullopt;
    return ProcessState{words[state][0], leading_integer<unsigned long long>(words[threads]),
                        leading_integer<unsigned long long>(words[started])};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

JobProcess::JobProcess(pid_t pid) : pid_(pid) {
  if (const auto state = read_state(pid)) started_ = state->started;
}

bool JobProcess::has_ended() const {
  if (kill(pid_, 0) != 0 && errno == ESRCH) return true;
  const auto now = read_state(pid_);
  if (!now) return false;  // without /proc, only the number is known
  if (started_ && now->started != *started_) return true;
  // The first thread of a process may end before the others; then it looks like a zombie as well.
  return (now->state == 'Z' && now->threads <= 1) || now->state == 'X';
}

}  // namespace oomdoctor::cli
