// The frameworks and programs in the log: by the allocator that refused, the files in the traceback, and the parsers
// that matched lines.
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/ascii.h"
#include "facts/analysis.h"
#include "facts/programs.h"

namespace oomdoctor {
namespace {

/// TensorFlow and JAX share an allocator and a compiler. The source files in the messages show which one it is.
void resolve_runtime(const ScanResult& scan, Facts& facts) {
  const auto runtime = scan.settings.find("runtime");
  if (runtime == scan.settings.end()) return;
  const std::vector<Evidence> here{runtime->second.evidence};
  facts.set("framework.jax", Value{runtime->second.value == "jax"}, here);
  facts.set("framework.tensorflow", Value{runtime->second.value == "tensorflow"}, here);
}

/// Detects a training loop of the user: the traceback leads from a script into the model without a trainer. Setting
/// names that only the trainer uses prove the opposite, and so does its call as the last of the user's: what it called
/// is in the library.
void resolve_trainer(const ScanResult& scan, const Incident* incident, Facts& facts) {
  const auto batch = scan.settings.find("batch_size");
  if (batch != scan.settings.end() && batch->second.evidence.reader.find("per_device_") != std::string::npos)
    facts.set("framework.trainer", Value{true}, {batch->second.evidence});
  if (facts.find("framework.trainer") != nullptr || incident == nullptr) return;
  const auto& frames = incident->oom.frames;
  const auto own = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& f) { return !f.library; });
  if (!facts.is_true("framework.huggingface") || own == frames.rend()) return;
  facts.set("framework.trainer", Value{own->code.find("trainer.train(") != own->code.npos}, {incident->evidence});
}

/// "LlamaForCausalLM.from_pretrained(", "AutoModel.from_pretrained(": a class of transformers, by the form of its name.
bool calls_transformers(const Frame& frame) {
  const std::size_t call = frame.code.find(".from_pretrained(");
  if (call == frame.code.npos) return false;
  std::size_t begin = call;
  while (begin > 0 && is_word_char(frame.code[begin - 1])) --begin;
  const std::string_view name = std::string_view(frame.code).substr(begin, call - begin);
  static constexpr auto works = std::to_array<std::string_view>(
      {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForSequenceClassification", "ForTokenClassification",
       "ForQuestionAnswering", "ForMaskedLM"});
  return name.starts_with("AutoModel") ||
         std::any_of(works.begin(), works.end(), [&](std::string_view work) { return name.ends_with(work); });
}

void set_frameworks(const ScanResult& scan, const Incident* incident, Facts& facts) {
  struct FrameworkFile {
    std::string_view fact, file;
  };
  static constexpr auto marks = std::to_array<FrameworkFile>({{"framework.trainer", "/transformers/trainer"},
                                                              {"framework.trainer", "/trl/trainer/"},
                                                              {"framework.trainer", "transformers/trainer.py"},
                                                              {"framework.trainer", "/unsloth_compiled_cache/"},
                                                              {"framework.huggingface", "/unsloth_compiled_cache/"},
                                                              {"framework.huggingface", "/unsloth/"},
                                                              {"framework.huggingface", "/trl/"},
                                                              {"framework.huggingface", "/transformers/"},
                                                              {"framework.huggingface", "/accelerate/"},
                                                              {"framework.lightning", "lightning"},
                                                              {"framework.deepspeed", "/deepspeed/"},
                                                              {"framework.megatron", "megatron"},
                                                              {"framework.megatron", "Megatron-"},
                                                              {"framework.diffusers", "/diffusers/pipelines/"},
                                                              {"framework.tensorflow", "/tensorflow/"},
                                                              {"framework.jax", "/jax/"}});
  if (incident != nullptr)
    for (const Frame& f : incident->oom.frames) {
      for (const FrameworkFile& m : marks)
        if (path_contains(f.file, m.file)) facts.set(m.fact, Value{true}, {incident->evidence});
    }
  if (incident != nullptr && std::any_of(incident->oom.frames.begin(), incident->oom.frames.end(), calls_transformers))
    facts.set("framework.huggingface", Value{true}, {incident->evidence});
  const auto parsed = [&](std::string_view fact, std::string_view parser) {
    if (scan.coverage.by_parser.contains(std::string(parser))) facts.set(fact, Value{true});
  };
  parsed("framework.deepspeed", "deepspeed");
  parsed("framework.megatron", "megatron");
  parsed("framework.huggingface", "huggingface");
  parsed("framework.trainer", "huggingface");
  parsed("framework.serving", "serving");
  parsed("framework.slurm", "slurm");
  parsed("framework.kubernetes", "kubernetes");
  if (scan.settings.contains("end_reason") || scan.settings.contains("pod") || scan.settings.contains("restarts"))
    facts.set("framework.kubernetes", Value{true});
  parsed("framework.tensorflow", "tensorflow");
  parsed("framework.jax", "xla");
  if (scan.settings.contains("zero_stage")) facts.set("framework.deepspeed", Value{true});
  resolve_trainer(scan, incident, facts);
  resolve_runtime(scan, facts);
}

constexpr auto training_words = std::to_array<std::string_view>(
    {"train", "trainer", "training", "fit", "finetune", "sft", "pretrain", "backward", "grpo", "ppo"});
constexpr auto using_words = std::to_array<std::string_view>(
    {"inference",  "infer", "predict", "prediction", "predictor", "serve",   "server",
     "chat",       "demo",  "convert", "export",     "quantize",  "encode",  "embed",
     "transcribe", "fold",  "prefill", "detect",     "translate", "caption", "upscale"});

constexpr auto training_settings = std::to_array<std::string_view>(
    {"accumulation", "optimizer", "zero_stage", "fsdp", "trainable_parameters", "checkpointing"});

/// True if a part of a file name or function name is one of `words`: "run_inference.py" shows the purpose of its
/// program. Library files do not count, because trainer.py predicts too.
bool names_work(const Frame& frame, std::span<const std::string_view> words) {
  const std::size_t slash = frame.file.find_last_of("/\\");
  const std::string file = frame.library ? "" : frame.file.substr(slash == std::string::npos ? 0 : slash + 1);
  for (const std::string& name : {file, frame.function})
    for (std::size_t at = 0; at < name.size();) {
      const std::size_t end = std::min(name.find_first_of("_.-<>", at), name.size());
      const std::string_view word = std::string_view(name).substr(at, end - at);
      if (std::find(words.begin(), words.end(), word) != words.end()) return true;
      at = end + 1;
    }
  return false;
}

/// True for programs whose steps are those of a sampler, a forest or requests. Such a step is not a training step whose
/// batch fills the GPU.
bool has_own_steps(const Program& program) {
  return program.work == Program::Work::paints || program.work == Program::Work::boosts ||
         program.work == Program::Work::runs;
}

const Program* find_program_by_name(std::string_view name) {
  const auto& all = all_programs();
  const auto named = std::find_if(all.begin(), all.end(), [&](const Program& program) { return program.name == name; });
  return named == all.end() ? nullptr : &*named;
}

const Program* find_program_in_setting(const ScanResult& scan, std::string_view setting) {
  const auto printed = scan.settings.find(setting);
  return printed == scan.settings.end() ? nullptr : find_program_by_name(printed->second.value);
}

const Program* find_program_by_parser(const ScanResult& scan) {
  for (const Program& program : all_programs())
    if (std::any_of(program.parsers.begin(), program.parsers.end(),
                    [&](const std::string& parser) { return scan.coverage.by_parser.contains(parser); }))
      return &program;
  return nullptr;
}

/// The program whose own words or formats are in the log.
const Program* find_named_program(const ScanResult& scan) {
  const Program* program = find_program_in_setting(scan, "program");
  return program != nullptr ? program : find_program_by_parser(scan);
}

/// The program of a log without a failure: only of a training, because an engine may be its helper.
const Program* find_training_program(const ScanResult& scan) {
  const Program* program = find_named_program(scan);
  return program != nullptr && program->work == Program::Work::trains ? program : nullptr;
}

/// The training library that uses an engine in its own process: its code called the engine. The folder of a Python
/// environment may have any name.
const Program* find_training_around(const Incident& incident) {
  for (const Frame& f : incident.oom.frames) {
    const std::size_t packages = f.file.rfind("-packages/");
    const std::string file = packages == std::string::npos ? f.file : f.file.substr(packages);
    for (const Program& program : all_programs())
      if (program.owns(file)) {
        if (program.work == Program::Work::serves) return nullptr;
        if (program.work == Program::Work::trains) return &program;
      }
  }
  return nullptr;
}

/// Finds the program by its own message, by its files in the traceback, or by words in its log. The words of an engine
/// count only if nothing shows that it is a helper of a training. A program that contains the one of the message has
/// the settings that its user can change.
const Program* find_program(const ScanResult& scan, const Incident& incident) {
  const auto& frames = incident.oom.frames;
  const Program* engine = find_program_in_setting(scan, "engine");
  // A program that paints may have a training below its folder, as an extension.
  const bool trains_inside = std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
    return f.code.find(".backward(") != std::string::npos || f.code.find("optimizer.step(") != std::string::npos;
  });
  for (const Program& program : all_programs())
    if (!program.message.empty() && incident.oom.program == program.message) return &program;
  for (const Program& program : all_programs()) {
    const auto of_program = [&](const Frame& f) {
      if (trains_inside && program.work == Program::Work::paints) return false;
      if (path_contains(f.file, "/transformers/models/")) return false;  // a model, not the program of its name
      return program.owns(f.file);
    };
    if ((!program.message.empty() && incident.oom.framework == program.message) ||
        std::any_of(frames.begin(), frames.end(), of_program)) {
      if (const Program* around = program.work == Program::Work::serves ? find_training_around(incident) : nullptr)
        return around;
      const bool inside = engine != nullptr &&
                          std::find(engine->embeds.begin(), engine->embeds.end(), program.name) != engine->embeds.end();
      return inside ? engine : &program;
    }
  }
  const bool steps = scan.first_step && engine != nullptr && !has_own_steps(*engine);
  const bool trains =
      std::any_of(frames.begin(), frames.end(), [](const Frame& f) { return names_work(f, training_words); });
  if (engine != nullptr && !steps && !trains) return engine;
  return find_named_program(scan);
}

/// True if an engine refused, or its code is in the traceback.
bool uses_engine(const Incident& incident) {
  const auto& all = all_programs();
  return std::any_of(all.begin(), all.end(), [&](const Program& program) {
    if (program.work != Program::Work::serves) return false;
    if (!program.message.empty() && incident.oom.framework == program.message) return true;
    return std::any_of(incident.oom.frames.begin(), incident.oom.frames.end(),
                       [&](const Frame& f) { return program.owns(f.file); });
  });
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool shows_pytorch(const Incident& incident) {
  const Oom& oom = incident.oom;
  return is_one_of(oom.framework,
                   {"pytorch", "torch-cpu", "vllm", "sglang", "text-generation-inference", "bitsandbytes", "habana"}) ||
         std::any_of(oom.frames.begin(), oom.frames.end(),
                     [](const Frame& f) { return path_contains(f.file, "/torch"); });
}

/// A framework is known to be absent only if the allocator of another one failed and nothing in the log is from it. XLA
/// serves several frameworks.
void resolve_frameworks(const ScanResult& scan, const Incident* incident, Facts& facts) {
  const auto is_read = [&](std::string_view parser) { return scan.coverage.by_parser.contains(parser); };
  if (scan.settings.contains("torch") || is_read("torch_oom") || is_read("memory_summary") ||
      facts.is_true("framework.deepspeed") || facts.is_true("framework.megatron") ||
      facts.is_true("framework.lightning") || std::any_of(scan.incidents.begin(), scan.incidents.end(), shows_pytorch))
    facts.set("framework.pytorch", Value{true});
  if (incident == nullptr) return;
  const Oom& oom = incident->oom;
  if (shows_pytorch(*incident)) facts.set("framework.pytorch", Value{true});
  if (oom.framework == "tensorflow" && facts.find("framework.tensorflow") == nullptr)
    facts.set("framework.tensorflow", Value{true});
  const auto runtime = scan.settings.find("runtime");
  if (facts.find("framework.pytorch") == nullptr && runtime != scan.settings.end())
    facts.set("framework.pytorch", Value{runtime->second.value == "pytorch"}, {runtime->second.evidence});
  if (oom.kind != OomKind::device || oom.framework.empty() || oom.framework.starts_with("xla")) return;
  for (const std::string_view name : {"framework.pytorch", "framework.tensorflow", "framework.jax"})
    if (facts.find(name) == nullptr) facts.set(name, Value{false}, {incident->evidence});
}

/// Libraries without training steps, in addition to the engines. A smaller batch or gradient accumulation does not
/// apply to them.
constexpr auto without_steps = std::to_array<std::string_view>(
    {"ggml",    "metal",    "ctranslate2", "tensorrt", "triton", "openvino", "onnxruntime",
     "xgboost", "lightgbm", "catboost",    "rapids",   "faiss",  "cupy",     "numba",
     "blender", "optix",    "miner",       "openacc",  "matlab", "relion"});

/// The frames of the failure, plus the script that the launcher runs.
std::vector<Frame> named_places(const ScanResult& scan, const Incident& incident) {
  std::vector<Frame> places = incident.oom.frames;
  if (const auto script = scan.settings.find("script"); script != scan.settings.end())
    places.push_back({script->second.value, 0, "", "", false});
  return places;
}

bool names_training(const ScanResult& scan, const Incident& incident) {
  const std::vector<Frame> places = named_places(scan, incident);
  return std::any_of(places.begin(), places.end(), [](const Frame& f) { return names_work(f, training_words); });
}

/// Web servers and frameworks on top of them. Code that they call answers a request.
constexpr auto servers = std::to_array<std::string_view>(
    {"/flask/", "/gunicorn/", "/uvicorn/", "/starlette/", "/fastapi/", "/gradio/", "/streamlit/", "/aiohttp/",
     "/tornado/", "/django/", "/celery/", "/bentoml/", "/litserve/"});

bool answers_requests(const ScanResult& scan, const Incident& incident) {
  return scan.settings.contains("web_server") ||
         std::any_of(incident.oom.frames.begin(), incident.oom.frames.end(), [](const Frame& f) {
           return std::any_of(servers.begin(), servers.end(),
                              [&](std::string_view server) { return path_contains(f.file, server); });
         });
}

/// True if the names of the program's files and functions show inference and none shows training.
bool only_uses_model(const ScanResult& scan, const Incident& incident) {
  const std::vector<Frame> places = named_places(scan, incident);
  // A library function that the user's code calls counts too: model.encode(…). The caller of the first one of a
  // traceback that was cut is unknown: nn.Module.to calls "convert".
  bool called_by_user = false;
  return !names_training(scan, incident) && std::any_of(places.begin(), places.end(), [&](const Frame& f) {
    const bool counts = !f.library || (called_by_user && !f.function.starts_with('_'));
    called_by_user = !f.library;
    return counts && names_work(f, using_words);
  });
}

/// True if a task that a server runs is a training: Celery and web servers start them as well.
bool trains_for_request(const ScanResult& scan, const Incident& incident) {
  const auto& frames = incident.oom.frames;
  return names_training(scan, incident) &&
         std::none_of(frames.begin(), frames.end(), [](const Frame& f) { return names_work(f, using_words); });
}

/// True if a compiled program died of an exception of PyTorch's C++ library: few of those train.
bool is_compiled(const ScanResult& scan, const Incident& incident) {
  return scan.settings.contains("compiled_program") && !scan.settings.contains("script") &&
         incident.oom.frames.empty() && !names_training(scan, incident);
}

/// True for settings that only a training has.
bool is_set_to_train(const ScanResult& scan) {
  return std::any_of(training_settings.begin(), training_settings.end(),
                     [&](std::string_view name) { return scan.settings.contains(name); });
}

/// The families of formats that tools print which watch a machine, its devices, containers and processes from outside.
constexpr auto monitors = std::to_array<std::string_view>(
    {"amd_smi",        "containers", "dcgm",       "free_table",   "gpu_processes",   "gpustat",
     "gputil",         "host_tools", "mprof",      "macos_memory", "npu_smi",         "nvitop",
     "other_monitors", "procfs",     "prometheus", "rocm_smi",     "scalars",         "smi",
     "smi_monitor",    "smi_query",  "smi_table",  "xpu_smi",      "windows_counters"});

/// Memory of a device, which any program may use: "VRAM 9.1 / 24.0 GB".
bool is_of_whole_device(const Series& s) {
  return s.metric == Metric::used || s.metric == Metric::free || s.metric == Metric::utilization ||
         (s.metric == Metric::memory && s.capacity > 0);
}

/// True if all that oomdoctor understood in the logs is the output of monitors, and this is most of what they contain:
/// a program's own lines may be those that it did not understand. Lines that only print the RAM of the whole machine
/// come from a script that watches it, and so do the values of whole devices, if a log has little else.
bool has_monitors_only(const ScanResult& scan) {
  const auto& by_parser = scan.coverage.by_parser;
  const bool prints_only = 10 * scan.coverage.claimed >= 9 * scan.coverage.lines;
  const bool machine = std::all_of(scan.series.begin(), scan.series.end(), [&](const Series& s) {
    return is_machine_metric(s.metric) || s.metric == Metric::host_utilization ||
           (prints_only && is_of_whole_device(s));
  });
  return 2 * scan.coverage.claimed >= scan.coverage.lines &&
         std::all_of(by_parser.begin(), by_parser.end(), [&](const auto& claimed) {
           return (machine && claimed.first == "prints") ||
                  std::find(monitors.begin(), monitors.end(), claimed.first) != monitors.end();
         });
}

/// True if monitors wrote all of the evidence: they know devices and processes, but no program. A table with PyTorch's
/// own counters comes from the program.
bool has_exports_only(const ScanResult& scan, const Incident* incident) {
  const auto is_log = [](const Input& input) { return input.kind == "log"; };
  const auto counts_tensors = [](const Series& s) {
    return s.metric == Metric::allocated || s.metric == Metric::reserved;
  };
  return incident == nullptr && !scan.first_step && !scan.inputs.empty() && scan.snapshots.empty() &&
         (std::none_of(scan.inputs.begin(), scan.inputs.end(), is_log) || has_monitors_only(scan)) &&
         std::none_of(scan.series.begin(), scan.series.end(), counts_tensors);
}

/// True if a program of which the log shows no framework reported the failure of a device in words of its own, and
/// neither these nor its last line of progress speak of learning: a solver counts iterations as well.
bool shows_no_learning(const ScanResult& scan, const Incident* incident, const Facts& facts) {
  static constexpr auto words =
      std::to_array<std::string_view>({"loss", "epoch", "train", "batch", "lr", "learning", "acc", "grad", "ppl",
                                       "reward", "val", "step", "sample", "model", "torch"});
  if (incident == nullptr || incident->oom.kind != OomKind::device || !incident->oom.has(OomTrait::prose) ||
      !incident->oom.framework.empty() || !incident->oom.frames.empty() || is_set_to_train(scan) ||
      names_training(scan, *incident))
    return false;
  for (const std::string_view name : {"framework.pytorch", "framework.tensorflow", "framework.jax"})
    if (facts.is_true(name)) return false;
  const std::string text =
      lower(incident->evidence.excerpt) + (scan.last_progress ? lower(scan.last_progress->excerpt) : std::string());
  return std::none_of(words.begin(), words.end(), [&](std::string_view word) { return text.find(word) != text.npos; });
}

/// True if a line speaks of the training: it begins, or it failed.
bool says_training(const ScanResult& scan) {
  return scan.remark_counts.contains("phase/training") || scan.remark_counts.contains("run/training_failed");
}

/// True if more than steps shows a training: an evaluation draws a bar as well.
bool shows_learning(const ScanResult& scan, const Incident& incident, const Facts& facts) {
  static constexpr auto words = std::to_array<std::string_view>({"loss", "epoch", "train", "lr=", "lr:", "grad"});
  for (const std::string_view name : {"phase.backward", "phase.optimizer", "trace.optimizer", "framework.trainer",
                                      "framework.deepspeed", "framework.megatron", "framework.lightning"})
    if (facts.is_true(name)) return true;
  const std::string text = scan.last_progress ? lower(scan.last_progress->excerpt) : std::string();
  return is_set_to_train(scan) || says_training(scan) || names_training(scan, incident) ||
         std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.find(word) != text.npos; });
}

/// Sets run.trains. It is false only if the failed program has no training steps and nothing in the log is from a
/// training. Image generators print the steps of their sampler, which do not count.
void set_training(const ScanResult& scan, const Incident* incident, const Program* by, Facts& facts) {
  const bool silent = by == nullptr && shows_no_learning(scan, incident, facts);
  const bool samples_only =
      facts.is_true("framework.diffusers") && incident != nullptr && !names_training(scan, *incident);
  const bool steps = scan.first_step && !silent && !samples_only && (by == nullptr || !has_own_steps(*by));
  const bool uses =
      facts.is_true("framework.serving") || (by != nullptr && by->is_engine()) ||
      facts.is_true("framework.diffusers") || facts.is_true("phase.generation") ||
      (incident != nullptr && (only_uses_model(scan, *incident) || is_compiled(scan, *incident) ||
                               (answers_requests(scan, *incident) && !trains_for_request(scan, *incident)))) ||
      (incident != nullptr &&
       std::find(without_steps.begin(), without_steps.end(), incident->oom.framework) != without_steps.end());
  if (incident != nullptr) facts.set("run.learns", Value{shows_learning(scan, *incident, facts)});
  facts.set("run.exports_only", Value{has_exports_only(scan, incident)});
  if (facts.is_true("trace.graph_capture") || facts.is_true("trace.profile_run"))
    facts.set("run.trains", Value{false});  // the engine was preparing itself, which is not a training step
  else if (steps || facts.is_true("phase.backward") || facts.is_true("phase.optimizer") ||
           facts.is_true("trace.optimizer"))
    facts.set("run.trains", Value{true});
  else if (uses || silent)
    facts.set("run.trains", Value{false});
  else if (is_set_to_train(scan) || says_training(scan) || (incident != nullptr && names_training(scan, *incident)))
    facts.set("run.trains", Value{true});
}

/// True if the text contains one of the words.
bool names_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// True if the frame's path contains one of the parts, which are written with slashes.
bool is_in_any(const Frame& f, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return path_contains(f.file, part); });
}

/// True if files of the traceback exist in TensorFlow before 2.2 only.
bool is_old_tensorflow(const Incident* incident) {
  static constexpr auto files = std::to_array<std::string_view>(
      {"tensorflow_core/", "tensorflow/contrib/", "tensorflow/python/client/session.py"});
  if (incident == nullptr) return false;
  const auto& frames = incident->oom.frames;
  return std::any_of(frames.begin(), frames.end(), [&](const Frame& f) { return is_in_any(f, files); });
}

/// True if the traceback is of PyTorch before 1.7, in which a module's __call__ runs the forward pass itself.
bool is_old_pytorch(const Incident* incident) {
  if (incident == nullptr) return false;
  const auto& frames = incident->oom.frames;
  return std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
    return f.function == "__call__" && path_contains(f.file, "torch/nn/modules/module.py");
  });
}

/// True if a cell of a notebook is in the traceback.
bool runs_in_notebook(const Incident* incident) {
  static constexpr auto cells =
      std::to_array<std::string_view>({"<ipython-input-", "Cell In[", "/ipykernel_", "<cell line"});
  if (incident == nullptr) return false;
  const auto& frames = incident->oom.frames;
  return std::any_of(frames.begin(), frames.end(),
                     [&](const Frame& f) { return names_any(f.file, cells) || f.function.starts_with("<cell line"); });
}

/// True if the samples are sound: by libraries and models in the traceback.
bool works_on_audio(const Incident* incident) {
  static constexpr auto files = std::to_array<std::string_view>(
      {"/torchaudio/", "/whisper/", "/wav2vec2", "/hubert/", "/wavlm/", "/speech_to_text", "/speecht5/",
       "/seamless_m4t", "/espnet", "/speechbrain/", "/icefall/", "/zipformer/", "/nemo/collections/asr/",
       "/nemo/collections/tts/", "/s3prl/", "/encodec/", "/audiocraft/", "/demucs/"});
  if (incident == nullptr) return false;
  const auto& frames = incident->oom.frames;
  return std::any_of(frames.begin(), frames.end(), [&](const Frame& f) { return is_in_any(f, files); });
}

/// True if the samples are images: by the program, by libraries and layers in the traceback, or by the settings.
bool works_on_images(const ScanResult& scan, const Incident* incident, const Program* program) {
  static constexpr auto files = std::to_array<std::string_view>(
      {"/torchvision/", "/timm/", "/kornia/", "/monai/", "/diffusers/", "/segmentation_models", "resnet", "unet",
       "yolo", "/mmseg/", "/mmdet", "/ultralytics/", "/torch_fidelity/", "/lpips/"});
  static constexpr auto calls = std::to_array<std::string_view>({"2d(", "3d(", "grid_sample(", "roi_align(", "Conv2D"});
  const auto of_planes = [](const Frame& f) { return f.function.ends_with("2d") || f.function.ends_with("3d"); };
  if (program != nullptr && (program->work == Program::Work::paints || program->images)) return true;
  if (scan.settings.contains("image_size")) return true;
  if (std::any_of(scan.series.begin(), scan.series.end(), [](const Series& s) { return s.label == image_label; }))
    return true;
  if (incident == nullptr) return false;
  const auto& frames = incident->oom.frames;
  return std::any_of(frames.begin(), frames.end(),
                     [&](const Frame& f) { return is_in_any(f, files) || names_any(f.code, calls) || of_planes(f); });
}

/// True if a test of pytest failed: by a line of its summary, "FAILED tests/a.py::test_b - …", or its own frames.
bool fails_in_pytest(const ScanResult& scan, const Incident* incident) {
  if (incident == nullptr) return false;
  const auto& frames = incident->oom.frames;
  return scan.settings.contains("failed_test") ||
         std::any_of(frames.begin(), frames.end(), [](const Frame& f) { return path_contains(f.file, "/_pytest/"); });
}

}  // namespace

bool works_without_model(std::string_view framework) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"xgboost", "lightgbm", "catboost", "rapids", "faiss", "cupy", "numba", "blender", "optix", "miner", "physx",
       "relion", "cryosparc", "gromacs", "kokkos", "openmm", "namd", "unreal"});
  return std::find(names.begin(), names.end(), framework) != names.end();
}

void framework_facts(const ScanResult& scan, const Incident* incident, Facts& facts) {
  set_frameworks(scan, incident, facts);
  const Program* program = incident != nullptr ? find_program(scan, *incident) : find_training_program(scan);
  if (program != nullptr) {
    const auto here = incident != nullptr ? std::vector{incident->evidence} : std::vector<Evidence>();
    facts.set("framework.program", Value{program->name}, here);
    if (program->is_engine()) facts.set("framework.engine", Value{program->name}, here);
    if (program->work == Program::Work::serves ||
        (incident != nullptr && program->work == Program::Work::trains && uses_engine(*incident)))
      facts.set("framework.serving", Value{true}, here);
    if (program->one_sample) facts.set("run.one_sample", Value{true}, here);
    if (program->grows) facts.set("run.grows_by_design", Value{true}, here);
    if (program->work == Program::Work::paints) facts.set("framework.paints", Value{true}, here);
    if (program->work == Program::Work::simulates) facts.set("framework.simulator", Value{true}, here);
  }
  const bool program_does = program != nullptr && works_without_model(lower(program->name));
  if (incident != nullptr && (program_does || works_without_model(incident->oom.framework)))
    facts.set("framework.without_model", Value{true}, {incident->evidence});
  if (is_old_tensorflow(incident)) facts.set("framework.old_tensorflow", Value{true}, {incident->evidence});
  if (is_old_pytorch(incident)) facts.set("framework.old_pytorch", Value{true}, {incident->evidence});
  if (runs_in_notebook(incident)) facts.set("framework.notebook", Value{true}, {incident->evidence});
  if (fails_in_pytest(scan, incident)) facts.set("framework.pytest", Value{true}, {incident->evidence});
  if (works_on_audio(incident))  // encoders of sound have layers of images as well
    facts.set("framework.audio", Value{true});
  else if (works_on_images(scan, incident, program))
    facts.set("framework.images", Value{true});
  resolve_frameworks(scan, incident, facts);
  set_training(scan, incident, program, facts);
  bool of_pictures = false;
  for (const std::string_view sign :
       {"trace.paints", "trace.decodes_latents", "framework.diffusers", "framework.paints"})
    of_pictures = of_pictures || facts.is_true(sign);
  facts.set("run.paints", Value{of_pictures && facts.is_true("phase.generation") && !facts.is_true("run.trains")});
}

}  // namespace oomdoctor
