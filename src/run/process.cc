#include "run/process.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>

namespace oomdoctor {
namespace {

/// The system call, because C libraries have the function only since 2021. An old kernel has neither, and leaves the
/// descriptors open.
void close_from_to(unsigned first, unsigned last) {
  if (first <= last) syscall(SYS_close_range, first, last, 0U);
}

}  // namespace

Pipe Pipe::make() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void close_all_but(const std::vector<int>& kept) {
  std::vector<unsigned> sorted;
  for (const int file : kept)
    if (file > STDERR_FILENO) sorted.push_back(static_cast<unsigned>(file));
  std::sort(sorted.begin(), sorted.end());
  unsigned next = STDERR_FILENO + 1;
  for (const unsigned file : sorted) {
    close_from_to(next, file - 1);
    next = file + 1;
  }
  close_from_to(next, ~0U);
}

void silence(int standard) {
  const Descriptor none(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (none.is_open()) dup2(none.number(), standard);
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace oomdoctor
