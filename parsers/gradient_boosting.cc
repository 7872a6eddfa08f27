// XGBoost, CatBoost and LightGBM on a GPU.
//
// XGBoost prints the free and the requested memory on separate lines. A scheduler may print these lines as one string
// with escaped line ends. CatBoost counts units of 2^20 bytes of its own pool, which takes nearly all GPU memory at the
// start.
#include "base/ascii.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::gradient_boosting {
namespace {

/// The size after `label`, with or without blanks between them; nullopt if the label or the size is missing.
std::optional<Bytes> size_after_label(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  return at == text.npos ? std::nullopt : read_size(trimmed(text.substr(at + label.size())));
}

}  // namespace

void xgboost(const Match& m, EventSink& sink) {
  Oom oom = device_oom("xgboost");
  const auto read = [&](std::string_view text) {
    if (!oom.free) oom.free = size_after_label(text, "- Free memory:");
    if (!oom.request) oom.request = size_after_label(text, "- Requested memory:");
    return !(oom.free && oom.request);
  };
  // The rest of the line contains both sizes only if a scheduler joined the lines.
  if (read(m.after()))
    m.cursor.forward(4, [&](const Line& line) {
      return line.text.find("Memory allocation error") == line.text.npos && read(line.text);
    });
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::gradient_boosting
