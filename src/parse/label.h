// What the words of a printed label say: "GPU mem", "max_memory_allocated", "peak RSS (MB)". Closed vocabulary: a label
// with a word that turns a measurement into something else ("limit", "total", "saved") is none.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/series.h"

namespace oomdoctor {

/// The words of an identifier, one after the other: "maxMemAllocated" → max, mem, allocated; "gpu_mem_gb" → gpu, mem,
/// gb. Views into `lowered`, the identifier in lower case.
class IdentifierWords {
 public:
  IdentifierWords(std::string_view identifier, std::string_view lowered) : identifier_(identifier), lowered_(lowered) {}

  /// nullopt behind the last.
  std::optional<std::string_view> next();

 private:
  std::string_view cut();

  std::string_view identifier_, lowered_;
  std::size_t at_ = 0;
  bool mem_ = false;  ///< "mem" follows, of "gpumem"
};

struct Label {
  Metric metric = Metric::memory;
  SeriesKind kind = SeriesKind::gauge;
  bool usage =
      false;  ///< says by itself that something was measured ("allocated", "used", "peak"); bare "memory" does not
};

/// nullopt where the words name no memory that was measured.
std::optional<Label> read_label(std::span<const std::string_view> words);

/// The word may stand in a label beside the one that names the metric.
bool belongs_to_label(std::string_view word);
/// The word makes a label a setting, a wish, a difference or another resource.
bool spoils_label(std::string_view word);
/// The word is of a sentence or of a program, not of a line of measurements.
bool belongs_to_prose(std::string_view word);
/// The word is a unit that may stand in a label: "gb", "mib", "bytes".
bool is_label_unit(std::string_view word);

/// "after", "before": what follows is the programmer's own name of a moment in the step.
bool names_moment(std::string_view word);
/// Of a tag in front of a line, the moment that it names: "before compile"; "" of a logger's name or a level, and of
/// one with a number, which would be another moment each time.
std::string_view parse_phase(std::string_view tag);

/// A validation, test or prediction pass.
bool names_evaluation(std::string_view word);

inline constexpr int global_rank = 5;
/// How surely a word names the step: a global one before one of the epoch, a batch last. 0: no step.
int step_rank(std::string_view name);

/// "total steps", "every 10 steps", "in step 3", "after optim step": no statement of where the run is.
bool is_no_place(std::string_view before);

/// Program text, command lines, errors: their numbers are no measurements.
bool is_no_measurement(std::string_view line);
/// True where other numbers in their places could make `line` program text: "x / 20" is no measurement as "x / 1024".
bool numbers_may_be_program(std::string_view line);

}  // namespace oomdoctor
