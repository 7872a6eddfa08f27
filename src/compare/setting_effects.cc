#include "compare/setting_effects.h"
#include "base/parse_whole.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace oomdoctor {
namespace {

/// A number whose memory grows with at most this power of it, for example 2 for a sequence with a stored attention
/// matrix. A negative power divides the need.
struct SizeSetting {
  std::string_view setting;
  double power;
};
constexpr auto device_sizes = std::to_array<SizeSetting>({{"batch_size", 1},
                                                          {"eval_batch_size", 1},
                                                          {"sequence_length", 2},
                                                          {"image_size", 4},
                                                          {"frames", 2},
                                                          {"vocabulary", 1},
                                                          {"layers", 1},
                                                          {"hidden", 2},
                                                          {"heads", 1},
                                                          {"parameters", 1},
                                                          {"trainable_parameters", 1},
                                                          {"tensor_parallel", -1},
                                                          {"pipeline_parallel", -1},
                                                          {"context_parallel", -1}});
constexpr auto host_sizes =
    std::to_array<SizeSetting>({{"num_workers", 1}, {"prefetch_factor", 1}, {"batch_size", 1}, {"parameters", 1}});

/// A switch, and the effect of turning it on.
struct Switch {
  std::string_view setting;
  int direction;
};
constexpr auto device_switches =
    std::to_array<Switch>({{"checkpointing", -1}, {"fsdp", -1}, {"lora", -1}, {"cuda_graphs", 1}});
constexpr auto host_switches = std::to_array<Switch>({{"pin_memory", 1}});

/// Settings without an effect on the GPU.
constexpr auto host_only = std::to_array<std::string_view>({"num_workers", "prefetch_factor", "pin_memory"});
/// Settings that change the capacity, or how passes form a step, but not the need of a pass.
constexpr auto neither = std::to_array<std::string_view>({"capacity", "notebook", "accumulation", "memory_manager"});

std::optional<double> parse_number(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ',' && c != '_') digits += c;
  return parse_whole<double>(digits);
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "1") return true;
  if (text == "false" || text == "False" || text == "0") return false;
  return std::nullopt;
}

std::optional<double> bytes_of_type(std::string_view text) {
  if (text == "fp32") return 4;
  if (text == "bf16" || text == "fp16") return 2;
  if (text == "int8" || text == "fp8") return 1;
  return std::nullopt;
}

SettingEffect by_factor(double factor) {
  if (factor == 1) return {};
  return {factor > 1 ? 1 : -1, std::max(1.0, factor)};
}

std::optional<SettingEffect> effect_of_size(const SizeSetting& size, std::string_view from, std::string_view to) {
  const auto a = parse_number(from), b = parse_number(to);
  if (!a || !b || *a < 0 || *b < 0) return std::nullopt;
  if (*a == 0 || *b == 0) return SettingEffect{*a < *b ? 1 : -1, std::nullopt};
  return by_factor(std::pow(*b / *a, size.power));
}

std::optional<SettingEffect> effect_of_switch(const Switch& of, std::string_view from, std::string_view to) {
  const auto a = parse_bool(from), b = parse_bool(to);
  if (!a || !b) return std::nullopt;
  return SettingEffect{*a == *b ? 0 : *b ? of.direction : -of.direction, std::nullopt};
}

const auto* find_row(const auto& table, std::string_view setting) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const auto& r) { return r.setting == setting; });
  return row == table.end() ? nullptr : &*row;
}

bool contains(const auto& table, std::string_view setting) {
  return std::find(table.begin(), table.end(), setting) != table.end();
}

}  // namespace

std::optional<SettingEffect> find_setting_effect(std::string_view setting, std::string_view from, std::string_view to,
                                                 MemoryKind place) {
  if (from == to || contains(neither, setting)) return SettingEffect{};
  const bool host = place == MemoryKind::host;
  if (!host && contains(host_only, setting)) return SettingEffect{};
  const SizeSetting* size = host ? find_row(host_sizes, setting) : find_row(device_sizes, setting);
  if (size != nullptr) return effect_of_size(*size, from, to);
  const Switch* of = host ? find_row(host_switches, setting) : find_row(device_switches, setting);
  if (of != nullptr) return effect_of_switch(*of, from, to);
  if (setting == "zero_stage" && !host) {
    const auto a = parse_number(from), b = parse_number(to);
    return a && b ? std::optional(SettingEffect{*a > *b ? 1 : -1, std::nullopt}) : std::nullopt;
  }
  if (setting == "precision" && !host) {
    const auto a = bytes_of_type(from), b = bytes_of_type(to);
    return a && b ? std::optional(by_factor(*b / *a)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace oomdoctor
