// Settings, platform and frameworks as facts. Parsers store settings under canonical names as printed; here they get
// their type.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "analysis/analysis.h"

namespace oomdoctor {
namespace {

std::optional<double> number_in(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ',' && c != '_') digits.push_back(c);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{}) return std::nullopt;
  switch (end < digits.data() + digits.size() ? *end : ' ') {
    case 'K':
    case 'k':
      return value * 1e3;
    case 'M':
      return value * 1e6;
    case 'B':
    case 'G':
      return value * 1e9;
    default:
      return value;
  }
}

std::optional<bool> truth_in(std::string_view text) {
  for (const std::string_view yes : {"True", "true", "1", "yes", "on", "full", "selective"})
    if (text == yes) return true;
  for (const std::string_view no : {"False", "false", "0", "no", "off", "None", "none", "null", ""})
    if (text == no) return false;
  return std::nullopt;
}

/// "2.4.0+cu121" → 2.04, so that versions compare as numbers.
std::optional<double> version_in(std::string_view text) {
  int major = 0, minor = 0;
  const auto first = std::from_chars(text.data(), text.data() + text.size(), major);
  if (first.ec != std::errc{} || first.ptr == text.data() + text.size() || *first.ptr != '.') return std::nullopt;
  if (std::from_chars(first.ptr + 1, text.data() + text.size(), minor).ec != std::errc{}) return std::nullopt;
  return major + minor / 100.0;
}

void set_frameworks(const Case& story, const Incident* incident, Facts& facts) {
  struct Mark {
    std::string_view fact, file;
  };
  static constexpr auto marks = std::to_array<Mark>({{"framework.huggingface", "/transformers/"},
                                                     {"framework.huggingface", "/accelerate/"},
                                                     {"framework.lightning", "lightning"},
                                                     {"framework.deepspeed", "/deepspeed/"},
                                                     {"framework.megatron", "megatron"},
                                                     {"framework.serving", "/vllm/"},
                                                     {"framework.serving", "/sglang/"},
                                                     {"framework.tensorflow", "/tensorflow/"},
                                                     {"framework.jax", "/jax/"}});
  if (incident != nullptr)
    for (const Frame& f : incident->oom.frames)
      for (const Mark& m : marks)
        if (f.file.find(m.file) != std::string::npos) facts.set(m.fact, Value{true}, {incident->evidence});
  const auto parsed = [&](std::string_view fact, std::string_view parser) {
    if (story.coverage.by_parser.contains(std::string(parser))) facts.set(fact, Value{true});
  };
  parsed("framework.deepspeed", "deepspeed");
  parsed("framework.megatron", "megatron");
  parsed("framework.huggingface", "huggingface");
  parsed("framework.serving", "serving");
  parsed("framework.slurm", "slurm");
  parsed("framework.kubernetes", "kubernetes");
  parsed("framework.tensorflow", "tensorflow");
  parsed("framework.jax", "xla");
  if (story.settings.contains("zero_stage")) facts.set("framework.deepspeed", Value{true});
}

}  // namespace

std::optional<i64> read_capacity(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && ((text[n] >= '0' && text[n] <= '9') || text[n] == '.' || text[n] == ',')) ++n;
  std::size_t u = n;
  while (u < text.size() && text[u] == ' ') ++u;
  const auto size = read_bytes(text.substr(0, n), u == text.size() ? "bytes" : text.substr(u));
  return size && size->count > 0 ? std::optional(size->count) : std::nullopt;
}

std::optional<i64> known_capacity(const Case& story, const std::optional<Incident>& incident,
                                  const AnalysisOptions& options) {
  if (options.capacity) return options.capacity;
  if (incident && incident->oom.kind == OomKind::device && incident->oom.capacity) return incident->oom.capacity->count;
  const auto printed = story.settings.find("capacity");
  return printed == story.settings.end() ? std::nullopt : read_capacity(printed->second.value);
}

void setting_facts(const Case& story, const Incident* incident, Facts& facts) {
  for (const auto& [name, setting] : story.settings) {
    const FactSpec* spec = find_fact_spec("settings." + name);
    if (spec == nullptr) continue;
    const std::vector<Evidence> here{setting.evidence};
    if (spec->name == "settings.torch") {
      if (const auto version = version_in(setting.value)) facts.set(spec->name, Value{Number{*version, 0}}, here);
    } else if (spec->unit == FactUnit::text) {
      facts.set(spec->name, Value{setting.value}, here);
    } else if (spec->unit == FactUnit::truth) {
      if (const auto yes = truth_in(setting.value)) facts.set(spec->name, Value{*yes}, here);
    } else if (spec->unit == FactUnit::bytes) {
      if (const auto size = read_capacity(setting.value))
        facts.set(spec->name, Value{Number{static_cast<double>(*size), 0}}, here);
    } else if (const auto value = number_in(setting.value)) {
      facts.set(spec->name, Value{Number{*value, 0}}, here);
    }
  }
  if (incident != nullptr) {
    const Agent agent = incident->oom.agent;
    const std::vector<Evidence> here{incident->evidence};
    const bool device = incident->oom.kind == OomKind::device;
    if (device)
      facts.set("platform.cuda", Value{agent == Agent::cuda_allocator || agent == Agent::cuda_malloc_async}, here);
    if (device) facts.set("platform.rocm", Value{agent == Agent::hip_allocator}, here);
    if (device) facts.set("platform.mps", Value{agent == Agent::mps_allocator}, here);
    if (device) facts.set("framework.pytorch", Value{incident->oom.framework == "pytorch"}, here);
    if (incident->oom.sizes_not_available) facts.set("platform.windows", Value{true}, here);
    const auto& frames = incident->oom.frames;
    if (std::any_of(frames.begin(), frames.end(),
                    [](const Frame& f) { return f.file.size() > 2 && f.file[1] == ':' && f.file[2] == '\\'; }))
      facts.set("platform.windows", Value{true}, here);
    if (std::any_of(frames.begin(), frames.end(),
                    [](const Frame& f) { return f.file.find("cudagraph") != std::string::npos; }))
      facts.set("settings.cuda_graphs", Value{true}, here);
    // The version is printed nowhere, but the words of the message are those of one range of versions.
    if (!facts.find("settings.torch") && incident->oom.message_format == "torch-2.1")
      facts.set("settings.torch", Value{Number{2.01, 0}}, here);
    if (!facts.find("settings.torch") && incident->oom.message_format == "torch-2.9")
      facts.set("settings.torch", Value{Number{2.09, 0}}, here);
  }
  set_frameworks(story, incident, facts);
}

}  // namespace oomdoctor
