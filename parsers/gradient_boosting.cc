// XGBoost, CatBoost and LightGBM on a GPU.
//
// XGBoost prints the free and the requested memory on separate lines. A scheduler may print these lines as one string
// with escaped line ends. CatBoost counts units of 2^20 bytes of its own pool, which takes nearly all GPU memory at the
// start.
#include "base/ascii.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

/// The size after `label`, with or without blanks between them; nullopt if the label or the size is missing.
std::optional<Bytes> size_after_label(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  return at == text.npos ? std::nullopt : read_size(trimmed(text.substr(at + label.size())));
}

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

void catboost(const Match& m, EventSink& sink) {
  Oom oom = device_oom("catboost");
  read_request(std::string(m[1]) + "MiB", oom);
  oom.free = read_bytes(m[2], "MiB");
  sink.oom(std::move(oom));
}

void lightgbm(const Match&, EventSink& sink) { sink.oom(device_oom("lightgbm")); }

constexpr Pattern patterns[] = {
    checked({.name = "gradient_boosting/xgboost",
             .anchor = "Memory allocation error",
             .regex = R"(Memory allocation error on worker \d{1,5}: )",
             .example = "device_helpers.cuh:431: Memory allocation error on worker 0: bad allocation",
             .emit = xgboost,
             .source = "xgboost: src/common/device_vector.cu"}),
    checked({.name = "gradient_boosting/catboost",
             .anchor = "Out of memory. Requested",
             .regex = R"(Error: Out of memory\. Requested ([\d.]{1,20})(?: MB)?; Free ([\d.]{1,20}))",
             .captures = 2,
             .example = "_catboost.CatBoostError: catboost/cuda/cuda_lib/memory_pool/stack_like_memory_pool.h:302: "
                        "Error: Out of memory. Requested 9120 MB; Free 6110.250000 MB",
             .emit = catboost,
             .source = "catboost: catboost/cuda/cuda_lib/memory_pool/stack_like_memory_pool.h"}),
    checked({.name = "gradient_boosting/lightgbm",
             .anchor = "[CUDA] out of memory",
             .regex = R"(\[Fatal\] \[CUDA\] out of memory )",
             .example = "[LightGBM] [Fatal] [CUDA] out of memory /home/user/LightGBM/src/cuda/cuda_utils.cpp 38",
             .emit = lightgbm,
             .source = "LightGBM: include/LightGBM/cuda/cuda_utils.hu"}),
};

}  // namespace

extern const Parser gradient_boosting;
const Parser gradient_boosting{.name = "gradient_boosting",
                               .title = "XGBoost, CatBoost and LightGBM on a device",
                               .source = "xgboost; catboost; LightGBM",
                               .patterns = patterns};

}  // namespace oomdoctor::parsers
