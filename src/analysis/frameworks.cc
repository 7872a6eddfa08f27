// Which frameworks and programs the log shows: by the allocator that refused, the files of a traceback, and the parsers
// that found their lines.
#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/analysis.h"
#include "analysis/engines.h"

namespace oomdoctor {
namespace {

std::string with_slashes(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  return path;
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
                                                     {"framework.diffusers", "/diffusers/pipelines/"},
                                                     {"framework.tensorflow", "/tensorflow/"},
                                                     {"framework.jax", "/jax/"}});
  if (incident != nullptr)
    for (const Frame& f : incident->oom.frames) {
      const std::string file = with_slashes(f.file);
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

/// By its own message, or by its files in the traceback.
const Engine* engine_of(const Incident& incident) {
  const auto& frames = incident.oom.frames;
  for (const Engine& e : engines) {
    const auto of_engine = [&](const Frame& f) { return with_slashes(f.file).find(e.file) != std::string::npos; };
    if ((!e.framework.empty() &&
         (incident.oom.framework == e.framework || incident.oom.message_format == e.framework)) ||
        std::any_of(frames.begin(), frames.end(), of_engine))
      return &e;
  }
  return nullptr;
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

/// Libraries that have no training steps, beside the engines: a smaller batch or gradient accumulation means nothing to
/// them.
constexpr auto without_steps = std::to_array<std::string_view>(
    {"ggml", "metal", "ctranslate2", "tensorrt", "triton", "openvino", "onnxruntime", "xgboost", "lightgbm", "catboost",
     "rapids", "faiss", "blender", "optix", "miner"});

/// False only where what failed has no steps and nothing in the log is of a training. Programs that make pictures print
/// steps, too: those of the sampler.
void set_training(const Case& story, const Incident* incident, const Engine* by, Facts& facts) {
  const bool paints = by != nullptr && by->work == Engine::Work::paints;
  const bool steps = story.first_step && !paints;
  const bool uses = facts.is_true("framework.serving") || by != nullptr || facts.is_true("framework.diffusers") ||
                    facts.is_true("phase.generation") ||
                    (incident != nullptr && std::find(without_steps.begin(), without_steps.end(),
                                                      incident->oom.framework) != without_steps.end());
  if (steps || facts.is_true("phase.backward") || facts.is_true("phase.optimizer") || facts.is_true("trace.optimizer"))
    facts.set("run.trains", Value{true});
  else if (uses)
    facts.set("run.trains", Value{false});
}

}  // namespace

void framework_facts(const Case& story, const Incident* incident, Facts& facts) {
  set_frameworks(story, incident, facts);
  const Engine* engine = incident != nullptr ? engine_of(*incident) : nullptr;
  if (engine != nullptr) {
    facts.set("framework.engine", Value{std::string(engine->name)}, {incident->evidence});
    if (engine->work == Engine::Work::serves) facts.set("framework.serving", Value{true}, {incident->evidence});
  }
  settle_frameworks(story, incident, facts);
  set_training(story, incident, engine, facts);
}

}  // namespace oomdoctor
