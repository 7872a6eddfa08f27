// Files of trackers as lines of text: the run file of Weights & Biases (.wandb), the event file of TensorBoard
// (events.out.tfevents.…), and a metric of MLflow (mlruns/…/metrics/NAME).
//
// - The console of a .wandb file becomes the log that it was. Its configuration becomes "key: value", its exit code
//   "oomdoctor wandb exit CODE".
// - A value becomes "oomdoctor scalar TIME STEP VALUE NAME": seconds since 1970, and "-" for what is not recorded. The
//   parser `scalars` reads such lines.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace oomdoctor {

/// Plays one file. Memory is bounded by the longest record that is kept. Not thread-safe.
class RecordPlayer {
 public:
  virtual ~RecordPlayer() = default;

  /// A player for the file of this name that begins with `head`; null for other files.
  static std::unique_ptr<RecordPlayer> make(std::string_view name, std::string_view head);

  /// Plays more of the file and appends finished lines to `out`.
  virtual void feed(std::string_view raw, std::string& out) = 0;
  /// Appends what is left at the end of the file.
  virtual void finish(std::string& out) = 0;
  /// "wandb", "tfevents", "mlflow".
  virtual std::string_view kind() const = 0;
  /// What is damaged or missing, as the end of a sentence that begins with the name of the file; "" for nothing.
  /// Complete after finish().
  virtual std::string damage() const = 0;
};

}  // namespace oomdoctor
