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

/// The version is printed nowhere, but the words of the message are those of one range of versions. Of an old range it
/// is the newest, so that nothing is known to be there that came later.
std::optional<double> version_of_words(std::string_view message_format) {
  struct Words {
    std::string_view message_format;
    double version;
  };
  for (const auto& [format, version] : {Words{"torch-0.4", 0.04}, Words{"torch-1.0", 1.03}, Words{"torch-1.4", 1.1},
                                        Words{"torch-1.11", 2.0}, Words{"torch-2.1", 2.01}, Words{"torch-2.9", 2.09}})
    if (format == message_format) return version;
  return std::nullopt;
}

/// The variable that PyTorch's allocator for this device reads. There is one for all devices since 2.9.
void set_alloc_conf(const Incident* incident, Facts& facts) {
  const Agent agent = incident != nullptr ? incident->oom.agent : Agent::cuda_allocator;
  const auto version = facts.number("settings.torch");
  std::string name = "PYTORCH_CUDA_ALLOC_CONF";
  if (agent == Agent::npu_allocator)
    name = "PYTORCH_NPU_ALLOC_CONF";
  else if (facts.is_true("platform.rocm"))
    name = "PYTORCH_HIP_ALLOC_CONF";
  else if (version && *version >= 2.09)
    name = "PYTORCH_ALLOC_CONF";
  else if (agent == Agent::xpu_allocator)
    return;
  facts.set("platform.alloc_conf", Value{std::move(name)});
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
                                                     {"framework.comfyui", "comfy/"},
                                                     {"framework.comfyui", "ComfyUI"},
                                                     {"framework.webui", "stable-diffusion-webui"},
                                                     {"framework.diffusers", "/diffusers/pipelines/"},
                                                     {"framework.tensorflow", "/tensorflow/"},
                                                     {"framework.jax", "/jax/"}});
  if (incident != nullptr)
    for (const Frame& f : incident->oom.frames) {
      std::string file = f.file;
      std::replace(file.begin(), file.end(), '\\', '/');
      for (const Mark& m : marks)
        if (file.find(m.file) != std::string::npos) facts.set(m.fact, Value{true}, {incident->evidence});
    }
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

/// Which engine served the model: by its own message, or by its files in the traceback.
void set_engine(const Incident& incident, Facts& facts) {
  struct Engine {
    std::string_view framework, file, name;
    bool serves = true;  ///< requests of many at once, from a cache that it sized at its start
  };
  static constexpr auto engines = std::to_array<Engine>({{"vllm", "/vllm/", "vLLM"},
                                                         {"sglang", "/sglang/", "SGLang"},
                                                         {"text-generation-inference", "text_generation_server", "TGI"},
                                                         {"tensorrt_llm", "/tensorrt_llm/", "TensorRT-LLM"},
                                                         {"lmdeploy", "/lmdeploy/", "LMDeploy"},
                                                         {"ollama", "/ollama/", "ollama", false},
                                                         {"llama.cpp", "/llama.cpp/", "llama.cpp", false}});
  const auto& frames = incident.oom.frames;
  for (const Engine& e : engines) {
    if (incident.oom.framework != e.framework &&
        std::none_of(frames.begin(), frames.end(), [&](const Frame& f) { return f.file.find(e.file) != f.file.npos; }))
      continue;
    facts.set("framework.engine", Value{std::string(e.name)}, {incident.evidence});
    if (e.serves) facts.set("framework.serving", Value{true}, {incident.evidence});
    return;
  }
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool shows_pytorch(const Incident& incident) {
  const Oom& oom = incident.oom;
  return is_one_of(oom.framework, {"pytorch", "torch-cpu", "vllm", "sglang", "text-generation-inference"}) ||
         std::any_of(oom.frames.begin(), oom.frames.end(),
                     [](const Frame& f) { return f.file.find("/torch") != std::string::npos; });
}

/// A framework is known not to be in use only where the allocator of another failed and nothing in the log is of the
/// one. XLA serves several.
void settle_frameworks(const Case& story, const Incident* incident, Facts& facts) {
  const auto is_read = [&](std::string_view parser) { return story.coverage.by_parser.contains(parser); };
  if (story.settings.contains("torch") || is_read("torch_oom") || is_read("memory_summary") ||
      facts.is_true("framework.deepspeed") || facts.is_true("framework.megatron") ||
      facts.is_true("framework.lightning") ||
      std::any_of(story.incidents.begin(), story.incidents.end(), shows_pytorch))
    facts.set("framework.pytorch", Value{true});
  if (incident == nullptr) return;
  const Oom& oom = incident->oom;
  if (shows_pytorch(*incident)) facts.set("framework.pytorch", Value{true});
  if (oom.framework == "tensorflow") facts.set("framework.tensorflow", Value{true});
  if (oom.kind != OomKind::device || oom.framework.empty() || oom.framework.starts_with("xla")) return;
  for (const std::string_view name : {"framework.pytorch", "framework.tensorflow", "framework.jax"})
    if (facts.find(name) == nullptr) facts.set(name, Value{false}, {incident->evidence});
}

/// Programs and libraries that have no training steps: a smaller batch or gradient accumulation means nothing to them.
constexpr auto without_steps =
    std::to_array<std::string_view>({"vllm",         "sglang",      "text-generation-inference",
                                     "ollama",       "llama.cpp",   "ggml",
                                     "metal",        "ctranslate2", "tensorrt",
                                     "tensorrt_llm", "lmdeploy",    "triton",
                                     "openvino",     "onnxruntime", "xgboost",
                                     "lightgbm",     "catboost",    "rapids",
                                     "faiss",        "blender",     "optix",
                                     "miner"});

/// False only where what failed has no steps and nothing in the log is of a training. Programs that make pictures print
/// steps, too: those of the sampler.
void set_training(const Case& story, const Incident* incident, Facts& facts) {
  const bool pictures = facts.is_true("framework.comfyui") || facts.is_true("framework.webui");
  const bool steps = story.first_step && !pictures;
  const bool engine = facts.is_true("framework.serving") || pictures || facts.is_true("framework.diffusers") ||
                      facts.is_true("phase.generation") ||
                      (incident != nullptr && std::find(without_steps.begin(), without_steps.end(),
                                                        incident->oom.framework) != without_steps.end());
  if (steps || facts.is_true("phase.backward") || facts.is_true("phase.optimizer") || facts.is_true("trace.optimizer"))
    facts.set("run.trains", Value{true});
  else if (engine)
    facts.set("run.trains", Value{false});
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
  facts.set("platform.torch", Value{std::string("cuda")});  // what nearly all logs are of
  if (incident != nullptr) {
    const Agent agent = incident->oom.agent;
    const std::vector<Evidence> here{incident->evidence};
    const bool device = incident->oom.kind == OomKind::device;
    if (device)
      facts.set("platform.cuda", Value{agent == Agent::cuda_allocator || agent == Agent::cuda_malloc_async}, here);
    if (device) facts.set("platform.rocm", Value{agent == Agent::hip_allocator}, here);
    const bool apple = agent == Agent::mps_allocator || is_one_of(incident->oom.framework, {"metal", "mlx"});
    if (device) facts.set("platform.mps", Value{apple}, here);
    const bool npu = agent == Agent::npu_allocator, xpu = agent == Agent::xpu_allocator;
    if (device) facts.set("platform.other", Value{npu || xpu || incident->oom.message_format == "xla-tpu"}, here);
    if (npu || xpu) facts.set("platform.torch", Value{std::string(npu ? "npu" : "xpu")}, here);
    if (incident->oom.sizes_not_available) facts.set("platform.windows", Value{true}, here);
    const auto& frames = incident->oom.frames;
    if (std::any_of(frames.begin(), frames.end(),
                    [](const Frame& f) { return f.file.size() > 2 && f.file[1] == ':' && f.file[2] == '\\'; }))
      facts.set("platform.windows", Value{true}, here);
    if (std::any_of(frames.begin(), frames.end(),
                    [](const Frame& f) { return f.file.find("cudagraph") != std::string::npos; }))
      facts.set("settings.cuda_graphs", Value{true}, here);
    const bool same_words = agent == Agent::cuda_allocator || agent == Agent::hip_allocator;  // others kept old ones
    if (const auto version = version_of_words(incident->oom.message_format);
        version && same_words && !facts.find("settings.torch"))
      facts.set("settings.torch", Value{Number{*version, 0}}, here);
  }
  set_alloc_conf(incident, facts);
  set_frameworks(story, incident, facts);
  if (incident != nullptr) set_engine(*incident, facts);
  settle_frameworks(story, incident, facts);
  set_training(story, incident, facts);
}

}  // namespace oomdoctor
