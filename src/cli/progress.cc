#include "cli/progress.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/console.h"
#include "report/words.h"

namespace oomdoctor::cli {
namespace {

constexpr std::chrono::seconds patience{1};        ///< shorter readings show no progress
constexpr std::chrono::milliseconds between{100};  ///< more frequent updates flicker
constexpr const char* erase_line = "\r\x1b[K";

}  // namespace

std::string progress_words(const Progress& progress, double seconds) {
  const auto done = static_cast<std::int64_t>(progress.done), all = static_cast<std::int64_t>(progress.all);
  std::string words = fmt::format("read {} of {} logs", count_text(done), count_text(all));
  if (done == 0 || seconds <= 0) return words;
  const double rate = static_cast<double>(done) / seconds;
  const std::string per = rate < 10 ? fmt::format("{:.1f}", rate) : count_text(std::llround(rate));
  return words +
         fmt::format(", {} per second, {} left", per, duration_text(std::ceil(static_cast<double>(all - done) / rate)));
}

ProgressLine::ProgressLine() : begun_(Clock::now()), next_(begun_ + patience), terminal_(is_interactive()) {}

ProgressLine::~ProgressLine() {
  if (shown_) print_error(erase_line);
}

void ProgressLine::show(const Progress& progress) {
  if (!terminal_ || progress.done >= progress.all || Clock::now() < next_) return;
  const Clock::time_point now = Clock::now();
  next_ = now + between;
  shown_ = true;
  print_error(erase_line + progress_words(progress, std::chrono::duration<double>(now - begun_).count()));
}

}  // namespace oomdoctor::cli
