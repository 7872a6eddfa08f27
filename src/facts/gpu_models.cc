// The sizes are the totals in PyTorch's out-of-memory messages ("total capacity of 79.15 GiB"). They are slightly below
// the board's memory: the driver reserves some, and ECC uses a sixteenth if it is in the same memory.
#include "facts/gpu_models.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "base/ascii.h"

namespace oomdoctor {

namespace {

constexpr auto models = std::to_array<GpuModel>({
    {"RTX-3070", 7.78},
    {"RTX-2080", 7.79},
    {"GTX-1080", 7.92},
    {"RTX-3080", 9.77},
    {"RTX-2080-Ti", 10.75},
    {"GTX-1080-Ti", 10.91},
    {"K80", 11.17},
    {"RTX-4070", 11.73},
    {"RTX-3060", 11.75},
    {"RTX-3080-Ti", 11.76},
    {"TITAN-V", 11.77},
    {"TITAN-Xp", 11.90},
    {"T4", 14.56, true},
    {"RTX-4060-Ti-16GB", 15.60},
    {"RTX-4070-Ti-SUPER", 15.69},
    {"RTX-4080", 15.69},
    {"RTX-A4000", 15.73},
    {"V100-16GB", 15.77, true},
    {"P100-16GB", 15.89},
    {"A10G", 21.98},
    {"A10", 21.98},
    {"L4", 22.03, true},
    {"P40", 22.38},
    {"RTX-4090", 23.52, true},
    {"TITAN-RTX", 23.64},
    {"RTX-A5000", 23.67},
    {"RTX-3090-Ti", 23.68},
    {"RTX-3090", 23.69, true},
    {"RTX-5090", 31.36, true},
    {"V100-32GB", 31.73, true},
    {"A100-40GB", 39.38, true},
    {"L40", 44.31},
    {"A40", 44.34},
    {"L40S", 44.40, true},
    {"RTX-8000", 44.49},
    {"RTX-6000-Ada", 47.49},
    {"A6000", 47.50, true},
    {"MI210", 63.98},
    {"MI250X", 63.98},
    {"H100", 79.10, true},
    {"A100-80GB", 79.15, true},
    {"H100-NVL", 93.0},
    {"GH200", 94.50},
    {"RTX-PRO-6000", 94.97},
    {"H200", 139.80, true},
    {"B200", 178.35, true},
    {"MI300X", 191.69, true},
});

/// "NVIDIA A100-SXM4-80GB" → NVIDIA, A100, SXM4, 80GB.
std::vector<std::string> split_words(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (is_alnum(c))
      words.back().push_back(upper(c));
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

i64 GpuModel::bytes() const { return whole_number(std::round(gibibytes * static_cast<double>(GiB))); }

std::span<const GpuModel> gpu_models() { return models; }

std::optional<GpuModel> find_gpu_model(std::string_view printed_name) {
  const std::vector<std::string> printed = split_words(printed_name);
  const auto has = [&](std::string_view word) {
    return std::find(printed.begin(), printed.end(), word) != printed.end();
  };
  if (has("MIG") || has("LAPTOP") || has("MOBILE") || has("MAX")) return std::nullopt;
  const GpuModel* best = nullptr;
  std::size_t max_words = 0;
  for (const GpuModel& model : models) {
    const std::vector<std::string> words = split_words(model.name);
    if (words.size() > max_words && std::all_of(words.begin(), words.end(), has))
      best = &model, max_words = words.size();
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

/// The last words of a model's name are enough, and its memory may lack its unit.
std::optional<GpuModel> find_gpu_by_short_name(std::string_view typed) {
  std::string wanted;
  for (const std::string& word : split_words(typed)) wanted += word;
  for (const GpuModel& model : models) {
    const std::vector<std::string> words = split_words(model.name);
    std::string tail;
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
      tail.insert(0, *word);
      const bool sized = words.back().ends_with("GB");
      const bool is_size = sized && word == words.rbegin();
      const bool is_name =
          std::next(word) == words.rend() || (!is_size && std::any_of(tail.begin(), tail.end(), is_digit));
      if (is_name && (tail == wanted || (sized && (tail == wanted + "B" || tail == wanted + "GB")))) return model;
    }
  }
  return std::nullopt;
}

/// The words from the model's number on, without the unit of its memory.
std::string short_gpu_name(const GpuModel& model) {
  std::vector<std::string> words = split_words(model.name);
  const bool sized = words.back().ends_with("GB");
  if (sized) words.back().pop_back();
  std::size_t first = words.size() - (sized ? 1 : 0);
  while (first > 0 && std::none_of(words[first - 1].begin(), words[first - 1].end(), is_digit)) --first;
  std::string name;
  for (std::size_t i = first == 0 ? 0 : first - 1; i < words.size(); ++i) name += (name.empty() ? "" : "-") + words[i];
  return lower(name);
}

}  // namespace oomdoctor
