// Decides what a printed label measures: "GPU mem", "max_memory_allocated", "peak RSS (MB)". The vocabulary is closed.
// A label with a word that makes it no measurement ("limit", "total", "saved") is rejected.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/series.h"

namespace oomdoctor {

/// Splits an identifier into its words: "maxMemAllocated" → max, mem, allocated; "gpu_mem_gb" → gpu, mem, gb. The
/// words are views into `lowered`, the identifier in lower case.
class IdentifierWords {
 public:
  IdentifierWords(std::string_view identifier, std::string_view lowered) : identifier_(identifier), lowered_(lowered) {}

  /// The next word; nullopt after the last.
  std::optional<std::string_view> next();

 private:
  std::string_view cut();

  std::string_view identifier_, lowered_;
  std::size_t at_ = 0;
  bool mem_ = false;  ///< "mem" is next: the rest of "gpumem"
};

/// The meaning of a label.
struct Label {
  Metric metric = Metric::memory;
  SeriesKind kind = SeriesKind::gauge;
  bool usage = false;  ///< the label itself shows a measurement ("allocated", "used", "peak"); "memory" alone does not
};

/// nullopt if the words, in lower case, do not name measured memory.
std::optional<Label> read_label(std::span<const std::string_view> words);

/// True if the word may be part of a label, next to the one that names the metric.
bool belongs_to_label(std::string_view word);
/// True if the word turns a label into a setting, a request, a difference or another resource.
bool rejects_label(std::string_view word);
/// True if the word belongs to a sentence or a program, not to a line of measurements.
bool belongs_to_prose(std::string_view word);
/// True for a unit within a label: "gb", "mib", "bytes".
bool is_label_unit(std::string_view word);

/// True for "after" and "before": the next words are the programmer's name for a moment in the step.
bool names_moment(std::string_view word);
/// The moment in the step that a tag before a line names: "before compile". "" for a logger's name or a level. Also ""
/// for a tag with a number, which would be a new moment each time.
std::string_view parse_phase(std::string_view tag);

/// True for the name of a validation, test or prediction pass.
bool names_evaluation(std::string_view word);

inline constexpr int global_rank = 5;
/// How reliably a name means the step of the run: a global step most, then a step of the epoch, a batch least. 0: no
/// step.
int step_rank(std::string_view name);

/// True if the word before a step's name makes the number no position in the run: "total steps", "every 10 steps", "in
/// step 3", "after optim step".
bool is_no_step(std::string_view before);

/// True for program code, command lines and errors: their numbers are not measurements.
bool is_no_measurement(std::string_view line);
/// The text with each number replaced by "0".
std::string mask_numbers(std::string_view text);
/// True if other numbers could turn `line` into program code: "x / 20" is a measurement, "x / 1024" is not.
bool numbers_may_be_program(std::string_view line);

}  // namespace oomdoctor
