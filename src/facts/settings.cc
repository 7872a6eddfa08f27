// Settings and platform as facts. Parsers store settings as printed, under canonical names; this file gives them their
// types.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/ascii.h"
#include "facts/analysis.h"
#include "facts/gpu_models.h"

namespace oomdoctor {
namespace {

/// Reads "1,024", "1_024", "7B" or "355M"; suffixes are decimal.
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

/// nullopt for a text that is neither; "full" and "selective" are modes of checkpointing.
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

/// The type to which bitsandbytes quantised the weights, by the frames; "" if they do not show it.
std::string_view quantised_type(const std::vector<Frame>& frames) {
  for (const Frame& f : frames) {
    const auto shows = [&](std::string_view file, std::string_view code) {
      return path_contains(f.file, file) || f.code.find(code) != std::string::npos;
    };
    if (shows("quantizer_bnb_8bit", "bnb.nn.Int8Params(")) return "8 bits";
    if (shows("quantizer_bnb_4bit", "bnb.nn.Params4bit(")) return "4 bits";
    const bool of_weights = shows("bitsandbytes/nn/", "bnb.matmul") || shows("bitsandbytes/autograd/", "bnb.matmul");
    if (!of_weights) continue;
    const std::string text = lower(f.function + " " + f.code);
    if (text.find("4bit") != text.npos) return "4 bits";
    if (text.find("int8") != text.npos || text.find("8bit") != text.npos) return "8 bits";
    if (f.function == "to" || f.function == "cuda" || f.function == "_quantize") return "4 or 8 bits";
  }
  return "";
}

/// True if the block of the kernel's report that begins with this request ends with this failure. A log of many kills
/// keeps the last request, which belongs to another one.
bool asked_for_kill(const KnownSetting& asker, const Incident* incident) {
  constexpr i64 longest_block = 1000;  // lines; the table has a row for each process
  if (incident == nullptr) return false;
  const Span& asked = asker.evidence.span;
  const Span& killed = incident->evidence.span;
  return asked.source == killed.source && asked.first_line <= killed.first_line &&
         killed.first_line - asked.first_line <= longest_block;
}

/// The version that the words of the message belong to, for logs that print no version. For old wordings it is the
/// newest version of the range, so that features of later versions count as missing.
std::optional<double> version_of_words(std::string_view message_format) {
  struct VersionWords {
    std::string_view message_format;
    double version;
  };
  for (const auto& [format, version] :
       {VersionWords{"torch-0.4", 0.04}, VersionWords{"torch-1.0", 1.03}, VersionWords{"torch-1.4", 1.1},
        VersionWords{"torch-1.11", 2.0}, VersionWords{"torch-2.1", 2.01}, VersionWords{"torch-2.9", 2.09}})
    if (format == message_format) return version;
  return std::nullopt;
}

/// The version by the line of nn/modules/module.py in which a module's forward pass was called, for versions whose
/// message has the same words as a newer one.
std::optional<double> version_of_call(const std::vector<Frame>& frames) {
  constexpr auto lines =
      std::to_array<std::pair<i64, double>>({{722, 1.06}, {727, 1.07}, {889, 1.08}, {1051, 1.09}, {1102, 1.1}});
  for (const Frame& frame : frames) {
    if (frame.function != "_call_impl" || !path_contains(frame.file, "torch/nn/modules/module.py")) continue;
    for (const auto& [line, version] : lines)
      if (frame.line == line) return version;
  }
  return std::nullopt;
}

/// The allocator that refused. A message that names no device reads like CUDA's; another message may name it.
Agent find_agent(const ScanResult& scan, const Incident& incident) {
  const auto names_device = [](const Incident& other) {
    return other.oom.agent == Agent::hip_allocator || other.oom.agent == Agent::npu_allocator ||
           other.oom.agent == Agent::xpu_allocator;
  };
  if (incident.oom.agent != Agent::cuda_allocator) return incident.oom.agent;
  if (scan.settings.contains("block_limit"))
    return Agent::xpu_allocator;  // only Intel's extension refuses in these words
  const auto named = std::find_if(scan.incidents.begin(), scan.incidents.end(), names_device);
  return named == scan.incidents.end() ? incident.oom.agent : named->oom.agent;
}

/// The vendor of the GPU, by the agent that refused, else by words in the log; "" if neither shows it.
std::string_view find_vendor(const ScanResult& scan, const Oom& oom, Agent agent) {
  if (oom.has(OomTrait::rocm)) return "amd";
  switch (agent) {
    case Agent::cuda_allocator:
    case Agent::cuda_malloc_async:
      return "nvidia";
    case Agent::hip_allocator:
      return "amd";
    case Agent::npu_allocator:
      return "huawei";
    case Agent::xpu_allocator:
      return "intel";
    case Agent::mps_allocator:
      return "apple";
    default:
      break;
  }
  if (oom.framework == "metal" || oom.framework == "mlx") return "apple";
  if (oom.framework == "ascend") return "huawei";
  if (oom.framework == "level-zero" || oom.framework == "openvino") return "intel";
  static constexpr std::array<std::string_view, 4> makers{"habana", "neuron", "tenstorrent", "graphcore"};
  if (std::find(makers.begin(), makers.end(), oom.framework) != makers.end()) return oom.framework;
  return oom.has(OomTrait::tpu) ? "google" : device_vendor(scan);
}

/// Sets the name of the variable that PyTorch's allocator for this GPU reads. 2.9 has one name for all devices, but
/// reads only the old one for CUDA (pytorch issue 183387). Later versions still accept the old name.
void set_alloc_conf(Agent agent, Facts& facts) {
  const auto version = facts.number("settings.torch");
  std::string name = "PYTORCH_CUDA_ALLOC_CONF";
  if (agent == Agent::npu_allocator)
    name = "PYTORCH_NPU_ALLOC_CONF";
  else if (facts.is_true("platform.rocm"))
    name = "PYTORCH_HIP_ALLOC_CONF";
  else if (agent == Agent::xpu_allocator && !(version && *version >= 2.09))
    return;
  else if (agent == Agent::xpu_allocator || (version && *version >= 2.11))
    name = "PYTORCH_ALLOC_CONF";
  facts.set("platform.alloc_conf", Value{std::move(name)});
}

/// The size of every GPU in a monitor's table, if all have about the same: then it does not matter which one failed.
std::optional<i64> common_capacity(const ScanResult& scan) {
  constexpr double same = 0.02;
  std::optional<double> size;
  for (const Series& s : scan.series) {
    if (s.metric != Metric::used || s.capacity <= 0) continue;
    if (size && std::abs(s.capacity - *size) > same * *size) return std::nullopt;
    size = std::min(size.value_or(s.capacity), s.capacity);
  }
  return size ? std::optional(static_cast<i64>(*size)) : std::nullopt;
}

/// True if the largest buffer of XLA's plan is a matrix of attention scores: an operation of an attention, "attn" or
/// Flax's "SelfAttention_0", whose last two dimensions are the same sequence, "f32[16,8192,8192]".
bool plans_scores(const ScanResult& scan) {
  constexpr i64 shortest = 256;  // tokens: shorter sequences have small scores
  const auto operation = scan.settings.find("plan_operation"), shape = scan.settings.find("plan_shape");
  if (operation == scan.settings.end() || shape == scan.settings.end()) return false;
  const std::string name = lower(operation->second.value);
  if (name.find("atten") == std::string::npos && name.find("attn") == std::string::npos) return false;
  const std::string& dimensions = shape->second.value;
  const std::size_t last = dimensions.rfind(','),
                    before = last == std::string::npos ? last : dimensions.rfind(',', last - 1);
  if (before == std::string::npos) return false;
  const auto number = [&](std::size_t comma) { return std::strtoll(dimensions.c_str() + comma + 1, nullptr, 10); };
  return number(last) >= shortest && number(last) == number(before);
}

}  // namespace

std::optional<i64> read_capacity(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && (is_digit(text[n]) || text[n] == '.' || text[n] == ',')) ++n;
  std::size_t u = n;
  while (u < text.size() && text[u] == ' ') ++u;
  const auto size = read_bytes(text.substr(0, n), u == text.size() ? "bytes" : text.substr(u));
  return size && size->count > 0 ? std::optional(size->count) : std::nullopt;
}

std::optional<i64> size_of_setting(const ScanResult& scan, std::string_view name) {
  const auto printed = scan.settings.find(name);
  return printed == scan.settings.end() ? std::nullopt : read_capacity(printed->second.value);
}

std::optional<i64> known_capacity(const ScanResult& scan, const std::optional<Incident>& incident,
                                  const AnalysisOptions& options) {
  if (options.capacity) return options.capacity;
  if (incident && incident->oom.kind == OomKind::device && incident->oom.capacity) return incident->oom.capacity->count;
  if (const auto printed = size_of_setting(scan, "capacity")) return printed;
  if (incident && incident->oom.kind == OomKind::device)
    if (const auto size = common_capacity(scan)) return size;
  const auto gpu = scan.settings.find("gpu");
  if (gpu == scan.settings.end()) return std::nullopt;
  const auto model = find_gpu_model(gpu->second.value);
  return model ? std::optional(model->bytes()) : std::nullopt;
}

/// True if the setting was changed after a failure that ended a run: the log goes on with another run.
bool is_of_later_run(const KnownSetting& setting, const Incident* failed) {
  if (failed == nullptr || failed->handled || setting.before.empty()) return false;
  const Span &failure = failed->evidence.span, &line = setting.evidence.span;
  return failure.source == line.source && setting.before_line < failure.first_line &&
         failure.last_line < line.first_line;
}

bool counts_loader_workers(const ScanResult& scan, const KnownSetting& workers) {
  static constexpr std::string_view generic = "settings/workers";
  if (workers.evidence.reader != generic || scan.coverage.by_parser.contains("dataloader")) return true;
  const auto died = [](const Incident& incident) { return incident.oom.agent == Agent::worker; };
  if (std::any_of(scan.incidents.begin(), scan.incidents.end(), died)) return true;
  // The arguments of a training script: "Namespace(batch_size=16, workers=8, lr=0.1)", "python train.py --workers 6".
  static constexpr auto of_training =
      std::to_array<std::string_view>({"batch", "epoch", "train", "loader", "arch", "imgsz", "lr=", "--lr"});
  const std::string line = lower(workers.evidence.excerpt);
  const auto is_in_line = [&](std::string_view word) { return line.find(word) != line.npos; };
  if (std::any_of(of_training.begin(), of_training.end(), is_in_line)) return true;
  // A line of a configuration, which prints one key a line.
  const bool alone = trimmed(line).find_first_of(" \t") == trimmed(line).rfind(' ');
  return alone && scan.settings.contains("batch_size");
}

/// The maker of a GPU whose name only AMD gives: "MI300X", "AMD Instinct MI250X", "Radeon RX 7900 XTX". "" of others.
std::string_view vendor_by_name(std::string_view name) {
  const std::size_t at = name.find("MI");
  const bool instinct = at != name.npos && (at == 0 || name[at - 1] == ' ' || name[at - 1] == '-') &&
                        at + 4 < name.size() && is_digit(name[at + 2]) && is_digit(name[at + 3]);
  return instinct || name.find("Radeon") != name.npos || name.find("Instinct") != name.npos ? "amd" : "";
}

std::string_view device_vendor(const ScanResult& scan) {
  if (const auto word = scan.settings.find("vendor"); word != scan.settings.end()) return word->second.value;
  const auto gpu = scan.settings.find("gpu");
  return gpu == scan.settings.end() ? std::string_view{} : vendor_by_name(gpu->second.value);
}

std::string_view device_vendor(const ScanResult& scan, const Incident& incident) {
  return find_vendor(scan, incident.oom, find_agent(scan, incident));
}

/// What TensorFlow got of the failed GPU, and what that GPU has, by its name. A round number of MB may be a limit that
/// the program set, which says nothing of the GPU.
void given_facts(const ScanResult& scan, const Incident& incident, Facts& facts) {
  constexpr double round = 256.0 * static_cast<double>(MiB);
  const int device = incident.origin.device.value_or(0);
  if (device > 0) {
    const auto own = scan.settings.find(fmt::format("given_at_start/{}", device));
    const auto size = own == scan.settings.end() ? std::nullopt : read_capacity(own->second.value);
    if (!size) return;
    facts.set("settings.given_at_start", Value{Number{static_cast<double>(*size), 0}}, {own->second.evidence});
  }
  const auto given = facts.number("settings.given_at_start");
  const auto gpu = scan.settings.find("gpu");
  if (!given || std::fmod(*given, round) == 0 || gpu == scan.settings.end() || facts.find("settings.capacity")) return;
  if (const auto model = find_gpu_model(gpu->second.value))
    facts.set("settings.capacity", Value{Number{static_cast<double>(model->bytes()), 0}}, {gpu->second.evidence});
}

/// Without a failure, the vendor is that of a line or of the monitor whose values the log has.
void set_monitored_vendor(const ScanResult& scan, Facts& facts) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> monitors{
      {{"rocm_smi", "amd"}, {"amd_smi", "amd"}, {"npu_smi", "huawei"}, {"xpu_smi", "intel"}}};
  std::string_view vendor = device_vendor(scan);
  for (const auto& [parser, maker] : monitors)
    if (vendor.empty() && scan.coverage.by_parser.contains(std::string(parser))) vendor = maker;
  facts.set("platform.rocm", Value{vendor == "amd"});
  facts.set("platform.other", Value{vendor == "huawei" || vendor == "intel"});
  if (vendor == "huawei" || vendor == "intel") facts.set("platform.vendor", Value{std::string(vendor)});
}

// The spec of a fact decides how to read its setting. Then add the platform, which shows in the failure itself.
void setting_facts(const ScanResult& scan, const Incident* incident, Facts& facts) {
  for (const auto& [name, setting] : scan.settings) {
    const bool planned = name == "weights_planned" && !scan.settings.contains("weights_memory");  // not yet loaded
    const FactSpec* spec = find_fact_spec("settings." + (planned ? "weights_memory" : name));
    if (spec == nullptr) continue;
    if (name == "num_workers" && !counts_loader_workers(scan, setting)) continue;
    if (name == "given_at_start" && incident != nullptr && incident->origin.device.value_or(0) > 0) continue;
    if (name == "killer_asker" && !asked_for_kill(setting, incident)) continue;
    const bool later = is_of_later_run(setting, incident);
    const std::string& printed = later ? setting.before : setting.value;
    const auto here = later ? std::vector<Evidence>{} : std::vector<Evidence>{setting.evidence};
    if (spec->name == "settings.torch") {
      if (const auto version = version_in(printed)) facts.set(spec->name, Value{Number{*version, 0}}, here);
    } else if (spec->unit == FactUnit::text) {
      facts.set(spec->name, Value{printed}, here);
    } else if (spec->unit == FactUnit::truth) {
      if (const auto yes = truth_in(printed)) facts.set(spec->name, Value{*yes}, here);
    } else if (spec->unit == FactUnit::bytes) {
      // No free swap is a finding. No other size is zero.
      const auto size =
          name == "free_swap" && printed.starts_with("0 ") ? std::optional<i64>(0) : read_capacity(printed);
      if (size) facts.set(spec->name, Value{Number{static_cast<double>(*size), 0}}, here);
    } else if (const auto value = number_in(printed)) {
      facts.set(spec->name, Value{Number{*value, 0}}, here);
    }
  }
  if (incident != nullptr) given_facts(scan, *incident, facts);
  // With a micro-batch in the log, the batch size is that of all ranks together.
  if (const Fact* micro = facts.find("settings.micro_batch"))
    facts.set("settings.batch_size", micro->value, micro->evidence);
  facts.set("platform.torch", Value{std::string("cuda")});  // the default, because nearly all logs are from CUDA
  const Agent agent = incident != nullptr ? find_agent(scan, *incident) : Agent::cuda_allocator;
  if (incident == nullptr) set_monitored_vendor(scan, facts);
  if (incident != nullptr) {
    const std::vector<Evidence> here{incident->evidence};
    const bool device = incident->oom.kind == OomKind::device;
    if (device || incident->oom.framework == "openvino") {
      const std::string_view vendor = device_vendor(scan, *incident);
      if (!vendor.empty()) facts.set("platform.vendor", Value{std::string(vendor)}, here);
      facts.set("platform.cuda", Value{vendor == "nvidia"}, here);
      facts.set("platform.rocm", Value{vendor == "amd"}, here);
      facts.set("platform.mps", Value{vendor == "apple"}, here);
      static constexpr std::array<std::string_view, 7> others{"huawei", "intel",       "google",   "habana",
                                                              "neuron", "tenstorrent", "graphcore"};
      facts.set("platform.other", Value{std::find(others.begin(), others.end(), vendor) != others.end()}, here);
    }
    const bool npu = agent == Agent::npu_allocator, xpu = agent == Agent::xpu_allocator;
    if (npu || xpu) facts.set("platform.torch", Value{std::string(npu ? "npu" : "xpu")}, here);
    const auto system = scan.settings.find("system");
    if (incident->oom.framework == "directml") facts.set("platform.windows", Value{true}, here);
    if (incident->oom.sizes_not_available ||
        (system != scan.settings.end() && (system->second.value == "Windows" || system->second.value == "WSL")))
      facts.set("platform.windows", Value{true}, here);
    if (system != scan.settings.end() && system->second.value == "Windows")
      facts.set("platform.windows_paths", Value{true}, here);
    if (system != scan.settings.end() && system->second.value == "macOS")
      facts.set("platform.macos", Value{true}, here);
    const auto& frames = incident->oom.frames;
    if (std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
          return f.file.size() > 2 && f.file[1] == ':' && (f.file[2] == '\\' || f.file[2] == '/');
        })) {
      facts.set("platform.windows", Value{true}, here);
      facts.set("platform.windows_paths", Value{true}, here);
    }
    if (std::any_of(frames.begin(), frames.end(),
                    [](const Frame& f) { return f.file.find("cudagraph") != std::string::npos; }))
      facts.set("settings.cuda_graphs", Value{true}, here);
    if (std::any_of(frames.begin(), frames.end(),
                    [](const Frame& f) { return path_contains(f.file, "torch/utils/checkpoint.py"); }))
      facts.set("settings.checkpointing", Value{true}, here);
    if (std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
          return path_contains(f.file, "torch/distributed/fsdp/") || f.code.find("= FSDP(") != std::string::npos;
        }))
      facts.set("settings.fsdp", Value{true}, here);
    if (std::any_of(frames.begin(), frames.end(),
                    [](const Frame& f) { return path_contains(f.file, "/torchmetrics/"); }))
      facts.set("settings.torchmetrics", Value{true}, here);
    if (const std::string_view type = quantised_type(frames); !type.empty())
      facts.set("settings.load_type", Value{std::string(type)}, here);
    // DeepSpeed's stage 3 has its own file.
    if (facts.find("settings.zero_stage") == nullptr && std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
          return path_contains(f.file, "zero/stage3.py");
        }))
      facts.set("settings.zero_stage", Value{Number{3, 0}}, here);
    if (incident->oom.has(OomTrait::rocm)) facts.set("platform.rocm", Value{true}, here);
    const bool same_words =
        agent == Agent::cuda_allocator || agent == Agent::hip_allocator;  // other allocators kept the old words
    const auto of_call = version_of_call(frames);
    if (const auto version = of_call ? of_call : version_of_words(incident->oom.message_format);
        version && same_words && !facts.find("settings.torch"))
      facts.set("settings.torch", Value{Number{*version, 0}}, here);
  }
  if (plans_scores(scan))
    facts.set("trace.attention", Value{true}, {scan.settings.find("plan_shape")->second.evidence});
  // What was free before the program began is the most that could be free at its failure.
  const auto request = facts.number("oom.request"), free_at_start = facts.number("settings.free_at_start");
  if (request && free_at_start && *free_at_start < *request && facts.find("account.free_beyond_request") == nullptr)
    facts.set("account.free_beyond_request", Value{false}, facts.find("settings.free_at_start")->evidence);
  if (const Fact* scores = facts.find("settings.live_scores"))
    facts.set("trace.attention", Value{true}, scores->evidence);
  set_alloc_conf(agent, facts);
  framework_facts(scan, incident, facts);
}

}  // namespace oomdoctor
