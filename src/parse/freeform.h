// Reads lines that people print themselves, and progress bars: "Step 100: Loss=2.34, Memory=18.2GB", "step 5 | loss 2.1
// | allocated 3.214 GiB", "Epoch 0:  5%|▌ | 12/240 [00:10<03:20, 1.1it/s, mem=18.2GB]".
//
// A value counts only where a label from a closed vocabulary stands before it and a unit is printed or can be told from
// its digits; a line of program text, of a failure or of prose yields nothing. When in doubt, nothing is said.
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

struct FreeformValue {
  Reading reading;
  std::optional<int> device;
  std::size_t number_at = 0;     ///< where in the line the value is printed
  double factor = 1;             ///< bytes of one
  std::size_t device_at = none;  ///< where the device is printed

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

struct FreeformLine {
  std::optional<double> step;  ///< made to go on over epochs where the line prints epoch, place and total
  std::optional<double> total;
  std::optional<double> epoch;
  bool evaluation = false;  ///< a batch of a validation or test pass, no step of the training
  bool other_work = false;  ///< a bar of something else: downloads, tokenizing, loading
  bool leads = false;       ///< the line begins with its step or epoch
  std::vector<FreeformValue> values;

  // How the numbers came from the line.
  std::size_t step_at = 0, total_at = 0, epoch_at = 0;
  bool over_epochs = false;  ///< `step` is the place in the epoch and `total` for each epoch before
  double first_epoch = 0;
  /// Another line that differs in digits only is read in the same way: the digits are numbers here and nothing else.
  /// What makes a line program text is not told here but by numbers_may_be_program().
  bool repeatable = true;
  std::size_t bytes_examined = 0;  ///< bytes at the front in which something was told by its column
};

FreeformLine read_freeform(std::string_view line);

/// For patterns whose lines say how far the run is and nothing else: tells the step and the epoch of Match::printed.
void emit_step(const Match& m, EventSink& sink);

// Cheap tests of the bytes of a block around one word, at `at`: false where the line says nothing with this word.

/// "step", "iter", "epoch": a number must follow, with nothing in between that names another thing.
bool may_name_place(std::string_view block, std::size_t at);
/// "memory", "alloc", "peak": the same, with words of a label in between.
bool may_name_memory(std::string_view block, std::size_t at);
/// "gpu:", "gpu=": a number, a unit or none, and a stroke must follow.
bool may_name_pair(std::string_view block, std::size_t at);
/// "it/s", "s/it": a number must stand before it.
bool may_end_bar(std::string_view block, std::size_t at);

/// Where the run is, as the numbers of a line say.
struct PrintedPosition {
  std::optional<double> step, total, epoch;
};

/// Where the numbers of a line are printed, in the order in which the functions below take them.
std::vector<std::size_t> number_offsets(const FreeformLine& form);
/// Where a line says that the run is, which differs in its digits only from the line that `form` was read from.
PrintedPosition read_position(std::span<const GaugeValue> numbers, const FreeformLine& form);
/// Makes of `form` what such a line says.
void substitute_numbers(std::span<const GaugeValue> numbers, FreeformLine& form);

}  // namespace oomdoctor
