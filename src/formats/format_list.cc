#include "formats/format_list.h"

#include <algorithm>
#include <cmath>

#include "fold/scanner.h"
#include "read/line_format.h"

namespace oomdoctor {
namespace {

/// "2^20", "10^9"; "" for anything else.
std::string power_text(double bytes) {
  for (const int power : {10, 20, 30, 40})
    if (bytes == std::exp2(power)) return "2^" + std::to_string(power);
  for (const int power : {3, 6, 9, 12})
    if (bytes == std::pow(10, power)) return "10^" + std::to_string(power);
  return "";
}

/// The letters of a unit do not define its size, so the text names both: the printed unit and its meaning.
std::string unit_text(std::string_view name, double bytes) {
  const std::string power = power_text(bytes);
  if (bytes == 1) return "bytes";
  const std::string meant = power.empty() ? std::to_string(static_cast<i64>(bytes)) + " bytes" : power;
  if (name.empty()) return meant + ", not printed";
  const bool plain = !power.empty() && power.starts_with("2") == (name.find('i') != std::string_view::npos);
  return std::string(name) + (plain ? " (" + meant + ")" : " printed, " + meant + " meant");
}

std::string kind_words(SeriesKind kind) {
  std::string words(to_string(kind));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

/// "gauge", "running maximum", or both if a form has current values and maxima; "step" without memory values.
std::string kind_text(const LineFormat& gauge) {
  bool maxima = false, current = false;
  for (const std::string_view name : list_names(gauge))
    if (find_metric(name)) (name.starts_with("max_") ? maxima : current) = true;
  if (!maxima && !current) return "step";
  if (!maxima) return kind_words(gauge.current);
  if (!current || gauge.current == gauge.maxima) return kind_words(gauge.maxima);
  return kind_words(gauge.current) + ", " + kind_words(gauge.maxima);
}

/// The bytes of the unit that a series was read with. The quantum is the unit divided by a power of ten for the
/// printed decimals. nullopt if no unit with these letters fits.
std::optional<double> find_unit(const Series& series) {
  if (series.unit == "B" || series.unit == "bytes") return 1;
  constexpr std::string_view letters = "KMGT";
  const std::size_t i = series.unit.empty() ? letters.npos : letters.find(static_cast<char>(series.unit[0] & ~0x20));
  if (i != letters.npos && series.unit.size() > 1 && series.unit[1] == 'i')
    return std::exp2(10.0 * static_cast<double>(i + 1));
  if (series.quantum <= 1) return std::nullopt;  // finer than bytes: the quantum no longer shows the unit
  for (int decimals = 0; decimals <= 9; ++decimals) {
    const double bytes = series.quantum * std::pow(10, decimals);
    for (std::size_t k = 0; k < letters.size(); ++k) {
      const double binary = std::exp2(10.0 * static_cast<double>(k + 1)),
                   decimal = std::pow(1000.0, static_cast<double>(k + 1));
      if ((series.unit.empty() || i == k) && std::abs(bytes - binary) < 1e-9 * binary) return binary;
      if (i == k && std::abs(bytes - decimal) < 1e-9 * decimal) return decimal;
    }
  }
  return std::nullopt;
}

struct MemorySummary {
  std::string kind, unit;
};

/// Kind and unit of the series that a pattern's or table's example gives; empty without series.
MemorySummary summarise_memory(const Scanner& scanner, const std::string& example) {
  std::vector<Source> sources;
  sources.push_back(Source::of_text("example", example));
  MemorySummary summary;
  std::vector<std::string> kinds;
  for (const Series& series : scanner.scan(sources).series) {
    if (series.metric == Metric::input_length) continue;
    const std::string kind = kind_words(series.kind);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    if (!summary.unit.empty()) continue;
    const auto bytes = find_unit(series);
    if (series.metric == Metric::utilization)
      summary.unit = "% of the device's memory";
    else if (series.ambiguous_unit)
      summary.unit = series.unit + " printed, binary or decimal by what else the log says";
    else
      summary.unit = bytes ? unit_text(series.unit, *bytes) : series.unit;
  }
  for (const std::string& kind : kinds) summary.kind += (summary.kind.empty() ? "" : ", ") + kind;
  return summary;
}

bool reads_memory(const LineFormat& gauge) {
  const auto names = list_names(gauge);
  return std::any_of(names.begin(), names.end(), [](std::string_view name) { return find_metric(name).has_value(); });
}

}  // namespace

std::vector<FormatInfo> list_formats(std::span<const Parser* const> parsers) {
  const Scanner scanner(parsers);
  std::vector<FormatInfo> out;
  for (const Parser* parser : parsers) {
    const auto add = [&](std::string_view name, std::string kind, std::string unit, std::string example,
                         std::string_view source) {
      out.push_back({std::string(name), std::string(parser->name), std::string(parser->title), std::move(kind),
                     std::move(unit), std::move(example), std::string(source.empty() ? parser->source : source)});
    };
    for (const LineFormat& g : parser->gauges)
      add(g.name, kind_text(g), reads_memory(g) ? unit_text(g.unit_name, g.unit) : "", std::string(g.example),
          g.source);
    for (const Pattern& p : parser->patterns) {
      const std::string example(p.example);
      const MemorySummary summary = summarise_memory(scanner, example);
      add(p.name, summary.kind.empty() ? "message" : summary.kind, summary.unit, example, p.source);
    }
    for (const Table& t : parser->tables) {
      const std::string example = std::string(t.example_header) + "\n" + std::string(t.example_row);
      const MemorySummary summary = summarise_memory(scanner, example);
      add(t.name, summary.kind.empty() ? "table" : "table, " + summary.kind, summary.unit, example, t.source);
    }
  }
  return out;
}

}  // namespace oomdoctor
