// A module of Node.js starts no process, so the caller waits for the work, and what goes wrong in it goes wrong in the
// caller.
#include "cli/captured_run.h"

#include <emscripten.h>

#include <algorithm>
#include <cstdlib>

#include "cli/console.h"

namespace oomdoctor::cli {
namespace {

// What is written to a standard stream goes into memory until it is taken. Beyond the limit, bytes are counted only.
EM_JS(void, begin_capture, (int stream, double max_bytes), { HOST.begin_capture(stream, max_bytes); });
EM_JS(double, captured_size, (int stream), { return HOST.captured.get(stream).size; });
EM_JS(void, take_captured, (int stream, char* to), { HOST.take_captured(stream, to); });

std::string take(int stream, std::size_t max_bytes, std::size_t& size) {
  size = static_cast<std::size_t>(captured_size(stream));
  std::string text(std::min(size, max_bytes), '\0');
  take_captured(stream, text.data());
  return text;
}

}  // namespace

CapturedRun run_captured(const std::function<int()>& work, std::size_t max_output, const OtherInput& /*other*/) {
  constexpr std::size_t max_errors = 4096;
  constexpr int output = 1, errors = 2;
  setenv("LC_ALL", "C.UTF-8", 1);  // clients start a server in any locale, and read UTF-8
  begin_capture(output, static_cast<double>(max_output));
  begin_capture(errors, static_cast<double>(max_errors));
  CapturedRun run;
  run.status = work();
  std::size_t size_of_errors = 0;
  run.output = take(output, max_output, run.output_size);
  run.errors = take(errors, max_errors, size_of_errors);
  forget_notes();
  return run;
}

}  // namespace oomdoctor::cli
