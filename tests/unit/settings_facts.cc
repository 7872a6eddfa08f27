// Printed settings become typed facts.
#include "catch.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

Facts facts_of(const std::string& name, const std::string& value) {
  ScanResult scan;
  scan.settings[name] = {value, {}};
  Facts facts;
  setting_facts(scan, nullptr, facts);
  return facts;
}

std::optional<double> number(const std::string& name, const std::string& value) {
  return facts_of(name, value).number("settings." + name);
}

Truth truth_of(const std::string& value) {
  const Facts facts = facts_of("checkpointing", value);
  const Fact* fact = facts.find("settings.checkpointing");
  return fact == nullptr ? Truth::unknown : truth(std::get<bool>(fact->value));
}

}  // namespace

TEST_CASE("booleans as programs print them", "[settings_facts]") {
  for (const char* yes : {"True", "true", "1", "yes", "on", "full", "selective"}) CHECK(truth_of(yes) == Truth::yes);
  for (const char* no : {"False", "false", "0", "no", "off", "None", "null", ""}) CHECK(truth_of(no) == Truth::no);
  for (const char* open : {"auto", "maybe", "2", "truthful"}) CHECK(truth_of(open) == Truth::unknown);
}

TEST_CASE("numbers with commas and unit letters", "[settings_facts]") {
  CHECK(number("batch_size", "8") == 8);
  CHECK(number("vocabulary", "128,256") == 128256);
  CHECK(number("parameters", "7B") == 7e9);
  CHECK(number("parameters", "124.5M").value() == Approx(124.5e6));
  CHECK(number("parameters", "8_030_261_248") == 8030261248.0);
  CHECK(number("sequence_length", "8K") == 8000);
  CHECK(number("sequence_length", "8k") == 8000);
  CHECK(number("memory_fraction", "0.9").value() == Approx(0.9));
  CHECK_FALSE(number("batch_size", "auto"));
  CHECK_FALSE(number("batch_size", ""));
}

TEST_CASE("versions compare as numbers", "[settings_facts]") {
  CHECK(number("torch", "2.4.0+cu121").value() == Approx(2.04));
  CHECK(number("torch", "1.13.1").value() == Approx(1.13));
  CHECK(number("torch", "2.10.0").value() > number("torch", "2.9.1").value());
  CHECK_FALSE(number("torch", "unknown"));
  CHECK_FALSE(number("torch", "2"));
}

TEST_CASE("the failed run has the setting that it printed, not that of a later run", "[settings_facts]") {
  ScanResult scan;
  KnownSetting& batch = scan.settings["batch_size"];
  batch = {"16", {}, "32", 2};
  batch.evidence.span.first_line = batch.evidence.span.last_line = 40;
  Incident failed;
  Span& failure = failed.evidence.span;
  failure.first_line = failure.last_line = 12;
  const auto at_failure = [&] {
    Facts facts;
    setting_facts(scan, &failed, facts);
    return facts.number("settings.batch_size");
  };
  CHECK(at_failure() == 32);
  failed.handled = true;  // the same run goes on with the smaller batch
  CHECK(at_failure() == 16);
  failed.handled = false;
  failure.first_line = failure.last_line = 50;
  CHECK(at_failure() == 16);
}

TEST_CASE("workers of other programs are no data loader workers", "[settings_facts]") {
  const auto workers = [](const std::string& line, bool with_batch = false) {
    ScanResult scan;
    KnownSetting& setting = scan.settings["num_workers"];
    setting.value = "4";
    setting.evidence.reader = "settings/workers";
    setting.evidence.excerpt = line;
    if (with_batch) scan.settings["batch_size"] = {"16", {}};
    Facts facts;
    setting_facts(scan, nullptr, facts);
    return facts.number("settings.num_workers");
  };
  CHECK_FALSE(workers("gunicorn app:api --workers 4 --timeout 90"));
  CHECK_FALSE(workers("srun python align.py --workers 4 --input reads.gz", true));
  CHECK_FALSE(workers("workers: 4"));
  CHECK(workers("workers: 4", true) == 4);
  CHECK(workers("Namespace(batch_size=16, lr=0.1, workers=4)") == 4);
  CHECK(workers("python train.py --workers 4") == 4);
}

TEST_CASE("text stays text, and unknown names are no facts", "[settings_facts]") {
  const Facts facts = facts_of("optimizer", "adamw");
  CHECK(std::get<std::string>(facts.find("settings.optimizer")->value) == "adamw");
  CHECK(facts_of("colour", "red").find("settings.colour") == nullptr);
}

TEST_CASE("capacities", "[settings_facts]") {
  CHECK(read_capacity("40448 MiB") == 40448 * MiB);
  CHECK(read_capacity("24GiB") == 24 * GiB);
  CHECK(read_capacity("1024") == 1024);
  CHECK_FALSE(read_capacity("much"));
  CHECK_FALSE(read_capacity(""));
  CHECK_FALSE(read_capacity("0 MiB"));
  CHECK(number("max_split_size", "512 MiB") == static_cast<double>(512 * MiB));

  ScanResult scan;
  Incident incident;
  CHECK_FALSE(known_capacity(scan, std::nullopt, {}));
  scan.settings["capacity"] = {"24 GiB", {}};
  CHECK(known_capacity(scan, std::nullopt, {}) == 24 * GiB);
  incident.oom.capacity = Bytes{23 * GiB, 0};
  CHECK(known_capacity(scan, incident, {}) == 23 * GiB);
  CHECK(known_capacity(scan, incident, {22 * GiB}) == 22 * GiB);
}

TEST_CASE("the failure message gives platform and versions", "[settings_facts]") {
  ScanResult scan;
  Incident incident;
  incident.oom.agent = Agent::hip_allocator;
  incident.oom.framework = "pytorch";
  incident.oom.message_format = "torch-2.9";
  incident.oom.frames = {{"C:\\run\\train.py", 1, "f", "", false}, {"/x/transformers/trainer.py", 2, "g", "", true}};
  Facts facts;
  setting_facts(scan, &incident, facts);
  CHECK(facts.is_true("platform.rocm"));
  CHECK_FALSE(facts.is_true("platform.cuda"));
  CHECK(facts.is_true("platform.windows"));
  CHECK(facts.is_true("framework.pytorch"));
  CHECK(facts.is_true("framework.huggingface"));
  CHECK(facts.number("settings.torch").value() == Approx(2.09));
  scan.settings["torch"] = {"2.11.0", {}};
  Facts printed;
  setting_facts(scan, &incident, printed);
  CHECK(printed.number("settings.torch").value() == Approx(2.11));  // the printed version overrides the derived one
}

TEST_CASE("files in the traceback show settings", "[settings_facts]") {
  const auto facts_of_file = [](const char* file, ScanResult scan = {}) {
    Incident incident;
    incident.oom.frames = {{file, 1, "step", "", true}};
    Facts facts;
    setting_facts(scan, &incident, facts);
    return facts;
  };
  CHECK(facts_of_file("/x/deepspeed/runtime/zero/stage3.py").number("settings.zero_stage") == 3);
  CHECK_FALSE(facts_of_file("/x/deepspeed/runtime/zero/stage_1_and_2.py").number("settings.zero_stage"));
  CHECK(facts_of_file("/x/torch/utils/checkpoint.py").is_true("settings.checkpointing"));
  CHECK(facts_of_file("/x/torch/_inductor/cudagraph_trees.py").is_true("settings.cuda_graphs"));
  ScanResult printed;
  printed.settings["zero_stage"] = {"2", {}};
  CHECK(facts_of_file("/x/deepspeed/runtime/zero/stage3.py", printed).number("settings.zero_stage") == 2);
}

TEST_CASE("facts about frameworks that are not in use", "[settings_facts]") {
  ScanResult scan;
  Incident incident;
  incident.oom.agent = Agent::driver;
  const auto facts_with = [&](const char* framework) {
    incident.oom.framework = framework;
    Facts facts;
    setting_facts(scan, &incident, facts);
    return facts;
  };
  const auto is_false = [](const Facts& facts, std::string_view name) {
    return facts.find(name) != nullptr && !facts.is_true(name);
  };
  CHECK(is_false(facts_with("paddle"), "framework.pytorch"));
  CHECK(is_false(facts_with("paddle"), "framework.jax"));
  CHECK(facts_with("tensorflow").is_true("framework.tensorflow"));
  CHECK(is_false(facts_with("tensorflow"), "framework.pytorch"));
  CHECK(facts_with("vllm").is_true("framework.pytorch"));
  CHECK(facts_with("").find("framework.pytorch") == nullptr);         // any program can print the driver's message
  CHECK(facts_with("xla-gpu").find("framework.pytorch") == nullptr);  // it may be PyTorch/XLA
  incident.oom.frames = {{"/opt/lib/python3.11/site-packages/torch/nn/modules/module.py", 1, "f", "", true}};
  CHECK(facts_with("warp").is_true("framework.pytorch"));
  incident.oom.frames.clear();
  scan.coverage.by_parser["torch_oom"] = 1;
  CHECK(facts_with("warp").is_true("framework.pytorch"));
}

TEST_CASE("an engine that only serves a model does no training", "[settings_facts]") {
  ScanResult scan;
  Incident incident;
  const auto trains = [&](const char* framework) -> std::optional<bool> {
    incident.oom.framework = framework;
    Facts facts;
    setting_facts(scan, &incident, facts);
    return facts.find("run.trains") == nullptr ? std::nullopt : std::optional(facts.is_true("run.trains"));
  };
  CHECK(trains("vllm") == false);
  CHECK(trains("llama.cpp") == false);
  CHECK_FALSE(trains("pytorch"));
  incident.oom.frames = {{"/x/vllm/worker/worker.py", 2, "g", "", true}};
  CHECK(trains("pytorch") == false);
  scan.first_step = 1;  // a step of the training next to it
  CHECK(trains("pytorch") == true);
}

TEST_CASE("Apple's frameworks run on Apple's devices", "[settings_facts]") {
  Incident incident;
  incident.oom.agent = Agent::driver;
  incident.oom.framework = "mlx";
  Facts facts;
  setting_facts(ScanResult{}, &incident, facts);
  CHECK(facts.is_true("platform.mps"));
}

TEST_CASE("PyTorch's name of the device", "[settings_facts]") {
  for (const auto& [agent, name, other] :
       {std::tuple{Agent::cuda_allocator, "cuda", false}, std::tuple{Agent::hip_allocator, "cuda", false},
        std::tuple{Agent::npu_allocator, "npu", true}, std::tuple{Agent::xpu_allocator, "xpu", true}}) {
    Incident incident;
    incident.oom.agent = agent;
    Facts facts;
    setting_facts(ScanResult{}, &incident, facts);
    CHECK(std::get<std::string>(facts.find("platform.torch")->value) == name);
    CHECK(facts.is_true("platform.other") == other);
  }
}

TEST_CASE("a message that names no device takes it from the rest of the log", "[settings_facts]") {
  const auto device = [](const ScanResult& scan) {
    Incident unnamed;
    unnamed.oom.kind = OomKind::device;
    unnamed.oom.agent = Agent::cuda_allocator;
    Facts facts;
    setting_facts(scan, &unnamed, facts);
    return facts.text("platform.vendor").value_or("") + " " + facts.text("platform.torch").value_or("");
  };
  CHECK(device({}) == "nvidia cuda");
  ScanResult named;
  named.incidents.emplace_back().oom.agent = Agent::xpu_allocator;
  CHECK(device(named) == "intel xpu");
  ScanResult refused;
  refused.settings["block_limit"] = {"4GB", {}};
  CHECK(device(refused) == "intel xpu");
}

TEST_CASE("the allocator's variable depends on the device and the version", "[settings_facts]") {
  const auto variable = [](Agent agent, const char* message_format, const char* torch = "") {
    ScanResult scan;
    if (*torch != 0) scan.settings["torch"] = {torch, {}};
    Incident incident;
    incident.oom.agent = agent;
    incident.oom.message_format = message_format;
    Facts facts;
    setting_facts(scan, &incident, facts);
    return facts.text("platform.alloc_conf").value_or("");
  };
  CHECK(variable(Agent::cuda_allocator, "torch-2.2") == "PYTORCH_CUDA_ALLOC_CONF");
  CHECK(variable(Agent::cuda_allocator, "torch-2.9") == "PYTORCH_CUDA_ALLOC_CONF");
  CHECK(variable(Agent::cuda_allocator, "torch-2.9", "2.10.0") == "PYTORCH_CUDA_ALLOC_CONF");
  CHECK(variable(Agent::cuda_allocator, "torch-2.9", "2.11.0+cu128") == "PYTORCH_ALLOC_CONF");
  CHECK(variable(Agent::hip_allocator, "torch-2.2") == "PYTORCH_HIP_ALLOC_CONF");
  CHECK(variable(Agent::npu_allocator, "torch-2.1") == "PYTORCH_NPU_ALLOC_CONF");
  CHECK(variable(Agent::xpu_allocator, "torch-2.2").empty());
  CHECK(variable(Agent::xpu_allocator, "torch-2.9", "2.9.1+xpu") == "PYTORCH_ALLOC_CONF");
}

TEST_CASE("old wording belongs to an old version", "[settings_facts]") {
  const auto version = [](const char* message_format) {
    Incident incident;
    incident.oom.message_format = message_format;
    Facts facts;
    setting_facts({}, &incident, facts);
    return facts.number("settings.torch").value_or(0);
  };
  CHECK(version("torch-1.0") == 1.03);
  CHECK(version("torch-1.4") == 1.1);
  CHECK(version("torch-2.1") == 2.01);
  CHECK(version("torch-2.4") == 0);
}

TEST_CASE("the line of a module's call shows an old version", "[settings_facts]") {
  const auto version = [](i64 line) {
    Incident incident;
    incident.oom.agent = Agent::cuda_allocator;
    incident.oom.message_format = "torch-1.11";  // the words of 1.10 and of 2.0 are the same
    incident.oom.frames = {
        {"/opt/env/lib/python3.9/site-packages/torch/nn/modules/module.py", line, "_call_impl", "", true}};
    Facts facts;
    setting_facts({}, &incident, facts);
    return facts.number("settings.torch").value_or(0);
  };
  CHECK(version(1102) == 1.1);
  CHECK(version(1194) == 2.0);
}

TEST_CASE("an image generator does no training, although its sampler prints steps", "[settings_facts]") {
  ScanResult scan;
  scan.first_step = 4;
  Incident incident;
  incident.oom.frames = {{"C:\\ComfyUI\\execution.py", 328, "execute", "", false}};
  Facts facts;
  setting_facts(scan, &incident, facts);
  CHECK(facts.text("framework.engine") == "ComfyUI");
  CHECK(facts.is_false("run.trains"));
  incident.oom.frames = {{"/home/user/project/train.py", 12, "main", "", false}};
  Facts training;
  setting_facts(scan, &incident, training);
  CHECK(training.is_true("run.trains"));
}

TEST_CASE("the message or the files of an engine identify it", "[settings_facts]") {
  const auto engine = [](const char* framework, const char* file) {
    Incident incident;
    incident.oom.framework = framework;
    incident.oom.frames = {{file, 1, "main", "", false}};
    Facts facts;
    setting_facts({}, &incident, facts);
    return facts.text("framework.engine").value_or("");
  };
  CHECK(engine("sglang", "server.py") == "SGLang");
  CHECK(engine("pytorch", "/opt/venv/lib/python3.12/site-packages/vllm/worker.py") == "vLLM");
  CHECK(engine("text-generation-inference", "") == "TGI");
  CHECK(engine("pytorch", "/home/user/train.py").empty());
}

}  // namespace oomdoctor
