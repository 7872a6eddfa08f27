#include "text/record_player.h"

#include <charconv>
#include <optional>

#include "base/ascii.h"
#include "text/event_player.h"
#include "text/scalar_line.h"
#include "text/wandb_player.h"

namespace oomdoctor {
namespace {

/// A line of MLflow's metric files: "1741082400123 8123.5 12", milliseconds since 1970, value and step.
std::optional<Scalar> read_metric_line(std::string_view line) {
  constexpr std::size_t digits = 13;  // of milliseconds since 1970, from 2001 to 2286
  const auto number_at = [&](std::size_t at, auto& number) {
    const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), number);
    return error == std::errc() ? static_cast<std::size_t>(end - line.data()) : 0;
  };
  Scalar scalar;
  std::int64_t milliseconds = 0, step = 0;
  line = trimmed(line);
  if (line.size() < digits + 4 || !only_digits(line.substr(0, digits)) || line[digits] != ' ') return std::nullopt;
  number_at(0, milliseconds);
  const std::size_t value_end = number_at(digits + 1, scalar.value);
  if (value_end == 0 || value_end + 1 >= line.size() || line[value_end] != ' ') return std::nullopt;
  if (number_at(value_end + 1, step) != line.size()) return std::nullopt;
  scalar.time = static_cast<double>(milliseconds) / 1000;
  scalar.step = step;
  return scalar;
}

/// The values of one metric. The path of the file is the metric's name: mlruns/0/3f…/metrics/system/gpu_0_memory….
class MetricPlayer final : public RecordPlayer {
 public:
  explicit MetricPlayer(std::string_view path) {
    static constexpr std::string_view folder = "metrics/";
    const std::size_t at = path.rfind(folder);
    name_ = at != path.npos ? path.substr(at + folder.size()) : path.substr(path.rfind('/') + 1);
    of_system_ = name_.starts_with("system/") || name_.starts_with("gpu_") || name_.starts_with("system_");
  }

  static bool wanted(std::string_view head) {
    const std::size_t end = head.rfind('\n');
    if (end == head.npos) return false;
    for (std::size_t at = 0; at <= end; at = head.find('\n', at) + 1)
      if (!read_metric_line(head.substr(at, head.find('\n', at) - at))) return false;
    return true;
  }

  void feed(std::string_view raw, std::string& out) override {
    rest_.append(raw);
    std::size_t at = 0;
    for (std::size_t end = rest_.find('\n'); end != rest_.npos; at = end + 1, end = rest_.find('\n', at))
      play(std::string_view(rest_).substr(at, end - at), out);
    rest_.erase(0, at);
    if (rest_.size() > longest_line) rest_.clear();
  }

  void finish(std::string& out) override {
    play(rest_, out);
    rest_.clear();
  }
  std::string_view kind() const override { return "mlflow"; }
  std::string damage() const override { return {}; }

 private:
  static constexpr std::size_t longest_line = 4096;

  /// The steps of the system's samples count samples, not steps of the training.
  void play(std::string_view line, std::string& out) const {
    auto scalar = read_metric_line(line);
    if (!scalar) return;
    if (of_system_) scalar->step.reset();
    append_scalar(*scalar, name_, out);
  }

  std::string name_, rest_;
  bool of_system_ = false;
};

}  // namespace

std::unique_ptr<RecordPlayer> RecordPlayer::make(std::string_view name, std::string_view head) {
  if (WandbPlayer::wanted(head)) return std::make_unique<WandbPlayer>();
  if (EventPlayer::wanted(head)) return std::make_unique<EventPlayer>();
  if (MetricPlayer::wanted(head)) return std::make_unique<MetricPlayer>(name);
  return nullptr;
}

}  // namespace oomdoctor
