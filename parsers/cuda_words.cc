// Programs that print only the CUDA driver's words for "out of memory": renderers, miners, bindings of other languages.
//
// If a report with numbers is nearby, that report covers the failure.
#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::cuda_words {

/// The runtime of NVIDIA's Fortran and C compilers. The place is on the lines below: file, function, line.
void openacc(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = device_oom("openacc");
  Frame place;
  m.cursor.forward(3, [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    static constexpr std::string_view file = "File: ", function = "Function: ", number = "Line: ";
    if (text.starts_with(file)) place.file = std::string(text.substr(file.size()));
    if (text.starts_with(function))
      place.function = std::string(text.substr(function.size(), text.rfind(':') - function.size()));
    if (text.starts_with(number)) place.line = leading_integer(text.substr(number.size()));
    if (!place.file.empty()) sink.claim_through(line.number);
    return text.starts_with(file) || text.starts_with(function);
  });
  if (!place.file.empty()) oom.frames = {place};
  sink.oom(std::move(oom));
}

/// accepts: true if the line is not the driver's refusal of an allocation, which has a size.
bool is_no_allocation(std::string_view line) { return line.find("failed to allocate") == line.npos; }

/// The next line may have the end of the message.
void namd(const Match& m, EventSink& sink) {
  Oom oom;
  oom.agent = Agent::driver;
  oom.framework = "namd";
  oom.message_format = "namd";
  Origin where;
  where.device = static_cast<int>(leading_integer(m[1]));
  sink.at(where);
  if (const auto end = find_after(m.cursor, 1, "): out of memory")) sink.claim_through(end->number);
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::cuda_words
