#include "cli/progress.h"

#include <fmt/format.h>

#include "cli/console.h"
#include "report/words.h"

namespace oomdoctor::cli {
namespace {

constexpr std::chrono::seconds patience{1};        ///< shorter readings show no progress
constexpr std::chrono::milliseconds between{100};  ///< more frequent updates flicker
constexpr const char* erase_line = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine() : next_(Clock::now() + patience), terminal_(is_interactive()) {}

ProgressLine::~ProgressLine() {
  if (shown_) print_error(erase_line);
}

void ProgressLine::show(const Progress& progress) {
  if (!terminal_ || progress.done >= progress.all || Clock::now() < next_) return;
  next_ = Clock::now() + between;
  shown_ = true;
  const auto done = static_cast<std::int64_t>(progress.done), all = static_cast<std::int64_t>(progress.all);
  print_error(fmt::format("{}read {} of {} logs", erase_line, count_text(done), count_text(all)));
}

}  // namespace oomdoctor::cli
