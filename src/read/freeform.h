// Reads step lines that users print themselves, and progress bars: "Step 100: Loss=2.34, Memory=18.2GB", "step 5 |
// loss 2.1 | allocated 3.214 GiB", "Epoch 0:  5%|▌ | 12/240 [00:10<03:20, 1.1it/s, mem=18.2GB]".
//
// A value counts only if a label of a closed vocabulary is before it, and its unit is printed or follows from its
// digits. Lines of program code, of failures and of prose give no values. In doubt, a value is dropped.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"

namespace oomdoctor {

class EventSink;
struct GaugeValue;
struct Match;

/// One memory value of a free-form line.
struct FreeformValue {
  Reading reading;
  std::optional<int> device;
  std::size_t number_at = 0;     ///< position of the value in the line
  double factor = 1;             ///< bytes per printed unit
  std::size_t device_at = none;  ///< position of the device in the line, or `none`
  /// One unit of the last digit, if the line prints no unit but other lines of the same words may; else 0.
  double bare_digit = 0;
  bool alone = false;  ///< a measurement only if other lines of the same words have other numbers

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

/// A parsed free-form line.
struct FreeformLine {
  std::optional<double> step;  ///< step of the run if the line prints epoch, step and total; else as printed
  /// Steps per epoch, or of the run.
  std::optional<double> total;
  std::optional<double> epoch;
  bool evaluation = false;           ///< a batch of a validation or test pass, not a training step
  bool other_work = false;           ///< a progress bar of something else: downloads, tokenizing, loading
  std::optional<double> calls = {};  ///< how far a bar of unknown work came; 0 if it is complete
  bool leads = false;                ///< the line begins with its step or epoch
  std::vector<FreeformValue> values;

  // Positions of the numbers in the line.
  std::size_t step_at = 0, total_at = 0, epoch_at = 0;
  bool over_epochs = false;    ///< the printed step counts within the epoch of `total` steps
  double first_epoch = 0;      ///< number of the first epoch: 0 or 1
  double min_total = 0;        ///< with a smaller total, or with a step beyond it, the line prints no step
  std::optional<double> rate;  ///< of a bar without a description: what it counts in a second
  std::size_t rate_at = 0;
  std::optional<double> items;  ///< the total of such a bar that is too fast for steps: it counts items
  /// True if lines that differ only in digits parse in the same way. Whether digits turn the line into program code is
  /// a separate question: see numbers_may_be_program().
  bool repeatable = true;
  std::size_t bytes_examined = 0;  ///< bytes at the front whose columns affected the result
};

/// Parses a line. Never fails: a line without step or values gives an empty result.
FreeformLine read_freeform(std::string_view line);

/// Reports the step and the epoch of the line, if it prints any.
void report_step(const FreeformLine& printed, EventSink& sink);
/// Reports step and epoch of Match::printed. For patterns whose lines contain only the progress of the run.
void emit_step(const Match& m, EventSink& sink);

// Cheap tests of the bytes around an anchor at `at` of a block. They return false only if the anchor cannot belong to
// a step or value.

/// For "step", "iter", "epoch": a number must follow, with only words of a label in between.
bool may_name_step(std::string_view block, std::size_t at);
/// For "cuda:0": "20114 MiB / 24576 MiB" must follow, with only a mark in between.
bool may_precede_pair(std::string_view block, std::size_t at);
/// For "memory", "alloc", "peak": the same, or a unit is before it.
bool may_name_memory(std::string_view block, std::size_t at);
/// For "gpu:", "gpu=": a number with a unit, or a number and a slash must follow.
bool may_name_pair(std::string_view block, std::size_t at);
/// For "it/s", "s/it": a digit, "?" or a blank must be before it.
bool may_end_bar(std::string_view block, std::size_t at);

/// The position of the run, from the first numbers of a line.
struct PrintedPosition {
  std::optional<double> step, total, epoch, rate;
  i64 before = 0;           ///< Step::before
  std::size_t numbers = 0;  ///< how many these are
};

/// The steps of earlier epochs that the line's step contains.
i64 steps_before(const FreeformLine& line);

/// The positions of the numbers of a line, in the order that the functions below expect.
std::vector<std::size_t> number_offsets(const FreeformLine& form);
/// False for numbers with which the line prints no step. Only those of a step and its total can be such.
bool may_be_step(std::span<const GaugeValue> numbers, const FreeformLine& form);
/// The position of the run, from the numbers of another line that differs from `form`'s line only in digits.
PrintedPosition read_position(std::span<const GaugeValue> numbers, const FreeformLine& form);
/// Replaces the numbers in `form` by those of such a line.
void substitute_numbers(std::span<const GaugeValue> numbers, FreeformLine& form);

}  // namespace oomdoctor
