// Metrics of NVIDIA's DCGM exporter in Prometheus' text form. Amounts are MiB, which only the "# HELP" line says. A MIG
// instance is a part of its card and is left out. Absent values are printed as numbers near the greatest of their type.
#include "parse/context.h"
#include "parse/device_export.h"
#include "parse/gauge.h"

namespace oomdoctor::parsers {
namespace {

constexpr double most_mebibytes = 64.0 * static_cast<double>(TiB) / static_cast<double>(MiB);

/// The value of `name="…"` among the labels in braces.
std::string_view label(std::string_view labels, std::string_view name) {
  for (std::size_t at = labels.find(name); at != labels.npos; at = labels.find(name, at + 1)) {
    const bool begins = at == 0 || labels[at - 1] == ',' || labels[at - 1] == ' ';
    const std::size_t open = at + name.size();
    if (!begins || !labels.substr(open).starts_with("=\"")) continue;
    const std::size_t close = labels.find('"', open + 2);
    return close == labels.npos ? std::string_view{} : labels.substr(open + 2, close - open - 2);
  }
  return {};
}

/// "gpu="0",UUID="…"": which card; nullopt for a MIG instance and where none is named.
std::optional<Card> card_of(std::string_view labels) {
  const std::string_view gpu = label(labels, "gpu");
  if (gpu.empty() || gpu.size() > 4 || gpu.find_first_not_of("0123456789") != gpu.npos) return std::nullopt;
  if (!label(labels, "GPU_I_ID").empty()) return std::nullopt;
  return Card{.device = static_cast<int>(leading_integer(gpu)), .label = label(labels, "Hostname")};
}

std::optional<double> value_of(std::string_view text) {
  std::size_t at = 0;
  const auto number = read_number(text, at);
  if (!number || number->value < 0 || number->value > most_mebibytes) return std::nullopt;
  return number->value;
}

void tell(const Match& m, Sink& sink, Metric metric) {
  const auto card = card_of(m[1]);
  const auto value = value_of(m[2]);
  if (!card || !value) return;
  std::optional<double> time;
  if (m.has(3)) time = static_cast<double>(leading_integer(m[3])) / 1000;
  tell_amount(sink, *card, {.metric = metric, .number = *value}, time);
  if (const std::string_view model = label(m[1], "modelName"); !model.empty()) sink.setting("gpu", model);
}

void used(const Match& m, Sink& sink) { tell(m, sink, Metric::used); }
void free_amount(const Match& m, Sink& sink) { tell(m, sink, Metric::free); }

void total(const Match& m, Sink& sink) {
  const auto card = card_of(m[1]);
  const auto value = value_of(m[2]);
  if (card && value) tell_capacity(sink, *card, static_cast<i64>(*value), "MiB");
}

constexpr Pattern patterns[] = {
    checked({.name = "dcgm/used",
             .anchor = "DCGM_FI_DEV_FB_USED{",
             .regex = R"(^ {0,8}DCGM_FI_DEV_FB_USED\{([^{}]{1,2000})\} ([0-9.e+]{1,24})(?: ([0-9]{13}))?[ \r]{0,4}$)",
             .captures = 3,
             .example = R"(DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-6e0b3c5a-0000-0000-0000-000000000001"} 1812)",
             .emit = used}),
    checked({.name = "dcgm/free",
             .anchor = "DCGM_FI_DEV_FB_FREE{",
             .regex = R"(^ {0,8}DCGM_FI_DEV_FB_FREE\{([^{}]{1,2000})\} ([0-9.e+]{1,24})(?: ([0-9]{13}))?[ \r]{0,4}$)",
             .captures = 3,
             .example = R"(DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-6e0b3c5a-0000-0000-0000-000000000001"} 43756)",
             .emit = free_amount}),
    checked({.name = "dcgm/total",
             .anchor = "DCGM_FI_DEV_FB_TOTAL{",
             .regex = R"(^ {0,8}DCGM_FI_DEV_FB_TOTAL\{([^{}]{1,2000})\} ([0-9.e+]{1,24})(?: [0-9]{13})?[ \r]{0,4}$)",
             .captures = 2,
             .example = R"(DCGM_FI_DEV_FB_TOTAL{gpu="0",UUID="GPU-6e0b3c5a-0000-0000-0000-000000000001"} 46068)",
             .emit = total}),
};

}  // namespace

extern const Parser dcgm;
const Parser dcgm{.name = "dcgm", .title = "DCGM exporter", .patterns = patterns};

}  // namespace oomdoctor::parsers
