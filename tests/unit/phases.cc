#include "catch.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

const Frame user{"train.py", 9, "main", "run()", false};

Incident failed_in(std::vector<Frame> frames) {
  Incident incident;
  incident.oom.frames = std::move(frames);
  incident.when.order = 1000;
  incident.evidence.span = {0, 1000, 1000, 0, 0};
  return incident;
}

/// A log that began with the run and has this many steps.
ScanResult run_of(i64 steps) {
  ScanResult scan;
  scan.settings["batch_size"] = {"8", {}};
  scan.settings["precision"] = {"bf16", {}};
  scan.progress_lines = steps;
  return scan;
}

std::string phase_in(const ScanResult& scan, std::vector<Frame> frames) {
  return find_phase(scan, failed_in(std::move(frames))).id;
}

Event marker(const char* id, i64 line, std::optional<int> rank = {}) {
  Event e;
  e.what = Remark{id, {}};
  e.when.order = line;
  e.origin.rank = rank;
  e.evidence.span = {0, line, line, 0, 0};
  return e;
}

}  // namespace

TEST_CASE("a traceback determines the phase", "[phases]") {
  const std::string site = "/x/site-packages/";
  const Frame forward{site + "torch/nn/modules/linear.py", 1, "forward", "return linear(x)", true};
  const Frame backward{site + "torch/_tensor.py", 2, "backward", "torch.autograd.backward(", true};
  const Frame adam{site + "torch/optim/adam.py", 3, "step", "update()", true};
  const Frame states{site + "torch/optim/adam.py", 4, "_init_group", "state['exp_avg'] = torch.zeros_like(", true};
  const Frame evaluate{site + "transformers/trainer.py", 5, "evaluate", "loop()", true};
  const Frame generate{site + "transformers/generation/utils.py", 6, "generate", "self._sample(", true};
  const Frame save{site + "transformers/trainer.py", 7, "_save_checkpoint", "", true};
  const Frame resume{site + "deepspeed/engine.py", 8, "load_checkpoint", "", true};
  const Frame load{site + "transformers/modeling_utils.py", 9, "from_pretrained", "", true};
  const Frame fetch{site + "torch/utils/data/_utils/collate.py", 10, "collate", "", true};
  struct Row {
    std::vector<Frame> frames;
    const char* phase;
  };
  const ScanResult scan = run_of(50);
  for (const Row& row : {Row{{user, forward}, "forward"}, Row{{user, backward}, "backward"},
                         Row{{user, adam}, "optimizer"}, Row{{user, adam, states}, "optimizer_init"},
                         Row{{user, evaluate, forward}, "evaluation"}, Row{{user, generate, forward}, "generation"},
                         Row{{user, save}, "checkpoint_save"}, Row{{user, resume}, "checkpoint_load"},
                         Row{{user, load}, "load"}, Row{{user, fetch}, "data_loading"}, Row{{user}, ""}, Row{{}, ""}}) {
    CAPTURE(row.phase);
    CHECK(phase_in(scan, row.frames) == row.phase);
  }
  CHECK(phase_in(scan, {user, backward, forward}) == "backward");  // recomputation of a checkpointed layer
  CHECK(phase_in(run_of(1), {user, backward}) == "first_step");
  CHECK(phase_in(run_of(1), {user, adam}) == "optimizer_init");
  CHECK(phase_in(run_of(0), {user, forward}) == "forward");     // it may print no steps
  CHECK(phase_in(ScanResult{}, {user, forward}) == "forward");  // the log may begin anywhere in the run
}

TEST_CASE("a program that evaluates loads its model first", "[phases]") {
  const std::string site = "/x/site-packages/";
  const Frame evaluate{"evaluator.py", 1, "evaluate", "model = build(name)", false};
  const Frame reads{site + "transformers/modeling_utils.py", 2, "from_pretrained", "cls._load_pretrained_model(", true};
  const Frame forward{site + "torch/nn/modules/linear.py", 3, "forward", "return linear(x)", true};
  CHECK(phase_in(run_of(0), {evaluate, reads}) == "load");
  CHECK(phase_in(run_of(40), {evaluate, reads}) == "evaluation");
  CHECK(phase_in(run_of(0), {evaluate, forward}) == "evaluation");
}

TEST_CASE("settings that a traceback implies show no beginning of the run", "[phases]") {
  const std::vector<Frame> frames{user,
                                  {"/x/site-packages/torch/nn/modules/linear.py", 1, "forward", "return x", true}};
  const auto perhaps_first = [&](const ScanResult& scan) {
    Facts facts;
    phase_facts(scan, scan.incidents[0], find_phase(scan, scan.incidents[0]), facts);
    return facts.is_true("phase.perhaps_first");
  };
  ScanResult scan = run_of(0);
  scan.incidents = {failed_in(frames)};
  CHECK(perhaps_first(scan));
  scan.settings = {{"engine", {"ComfyUI", {}}}, {"system", {"macOS", {}}}};
  CHECK_FALSE(perhaps_first(scan));
}

TEST_CASE("operations of JAX outside of compiled functions and gradients", "[phases]") {
  const auto single = [](const std::string& code, const std::string& caller = "main()") {
    const ScanResult scan = run_of(0);
    const Incident incident =
        failed_in({{"/home/u/run.py", 9, "<module>", caller, false}, {"/home/u/run.py", 4, "main", code, false}});
    Facts facts;
    phase_facts(scan, incident, find_phase(scan, incident), facts);
    return facts.is_true("trace.single_operation");
  };
  CHECK(single("sims = jnp.dot(a, b.T)"));
  CHECK(single("return jnp.sum(jax.nn.relu(x.reshape(-1)), axis=int(0))"));
  CHECK_FALSE(single("state = train_step(state, jnp.asarray(batch))"));
  CHECK_FALSE(single("y = x @ w"));
  CHECK_FALSE(single("loss = jnp.mean(model.apply(params, x))"));
  CHECK_FALSE(single("return jnp.dot(a, b)", "g = jax.grad(loss)(params)"));
}

TEST_CASE("the arguments that a call returns anew are known by their positions", "[phases]") {
  const auto returned = [](const std::string& code) {
    const ScanResult scan = run_of(0);
    const Incident incident = failed_in({{"/home/u/run.py", 4, "main", code, false}});
    Facts facts;
    phase_facts(scan, incident, find_phase(scan, incident), facts);
    return facts.text("trace.returned_arguments").value_or("none");
  };
  CHECK(returned("w, state, loss = step(w, state, x)") == "0, 1");
  CHECK(returned("loss, w = train.step(x, w, key)") == "1");
  CHECK(returned("w, loss = step(w, f(x), y)") == "0");
  CHECK(returned("y = step(w, x)") == "none");
  CHECK(returned("w = w + grad(w)") == "none");
  CHECK(returned("if w == step(w):") == "none");
  CHECK(returned("w = step(") == "none");
}

TEST_CASE("the words of a function's name show the phase", "[phases]") {
  const auto phase = [](const Frame& frame) { return phase_in(run_of(50), {frame}); };
  CHECK(phase({"run.py", 1, "resumeTraining", "", false}) == "checkpoint_load");
  CHECK(phase({"run.py", 1, "restore_weights", "", false}) == "checkpoint_load");
  CHECK(phase({"run.py", 1, "load_vocabulary", "", false}).empty());
  CHECK(phase({"run.py", 1, "gather_state_dict", "", false}) == "checkpoint_save");
  CHECK(phase({"run.py", 1, "dump_weights", "", false}) == "checkpoint_save");
  CHECK(phase({"run.py", 1, "run_evaluation", "", false}) == "evaluation");
  CHECK(phase({"run.py", 1, "build_evaluation", "", false}).empty());
  // A tokenizer decodes as well.
  CHECK(phase({"vae.py", 1, "decode", "", true}) == "generation");
  CHECK(phase({"tokens.py", 1, "decode", "ids", true}).empty());
}

TEST_CASE("another rank that failed on the same request has the traceback", "[phases]") {
  ScanResult scan = run_of(50);
  scan.incidents = {failed_in({}), failed_in({user, {"m.py", 3, "forward", "", false}})};
  scan.incidents[0].oom.request = scan.incidents[1].oom.request = Bytes{GiB, 0};
  CHECK(find_phase(scan, scan.incidents[0]).id.empty());
  scan.incidents[1].follows = 0;
  CHECK(find_phase(scan, scan.incidents[0]).id == "forward");
  scan.incidents[1].oom.request = Bytes{2 * GiB, 0};
  CHECK(find_phase(scan, scan.incidents[0]).id.empty());
}

TEST_CASE("failed ranks count, also beyond the incidents that are kept", "[phases]") {
  ScanResult scan = run_of(50);
  scan.incidents = {failed_in({}), failed_in({})};
  scan.incidents[0].origin.rank = 0, scan.incidents[1].origin.rank = 1;
  for (int rank = 0; rank < 9; ++rank) scan.ranks[rank].failed = rank < 7;
  const auto failed_ranks = [&] {
    Facts facts;
    phase_facts(scan, scan.incidents[0], {}, facts);
    return facts.number("run.ranks_failed");
  };
  CHECK(failed_ranks() == 2);
  scan.more_incidents = 5;
  CHECK(failed_ranks() == 7);
}

TEST_CASE("moving the output of a model does not mean moving the model", "[phases]") {
  const auto phase = [](const char* code) { return phase_in(run_of(0), {{"train.py", 3, "main", code, false}}); };
  CHECK(phase("model.to(device)") == "load");
  CHECK(phase("self.base_model.to(args.device, dtype)") == "load");
  CHECK(phase("layer.to(\"cuda:0\")") == "load");
  CHECK(phase("self.text_encoder.to(device)") == "load");
  CHECK(phase("layer_input.to(device)") != "load");
  CHECK(phase("player.to(device)") != "load");
  CHECK(phase("out = model(x).to(device)") != "load");
  CHECK(phase("image = self.process(self.first_model.decode(z).to(device).float())") != "load");
}

TEST_CASE("torch.load() restores a checkpoint, unless it loads a model", "[phases]") {
  const Frame restore{"/x/site-packages/torch/serialization.py", 601, "_deserialize", "return obj.to(device=device)",
                      true};
  const Frame load{"/x/site-packages/transformers/modeling_utils.py", 9, "from_pretrained", "", true};
  CHECK(phase_in(run_of(50), {user, restore}) == "checkpoint_load");
  CHECK(phase_in(run_of(50), {user, load, restore}) == "load");
}

TEST_CASE("the name of a result shows no attention", "[phases]") {
  const auto attention = [](const char* code) {
    ScanResult scan = run_of(50);
    scan.incidents = {failed_in({{"rank.py", 3, "score", code, false}})};
    Facts facts;
    phase_facts(scan, scan.incidents[0], {}, facts);
    return facts.is_true("trace.attention");
  };
  CHECK(attention("probs = torch.softmax(attention_scores, dim=-1)"));
  CHECK(attention("return F.softmax(attention_scores, dim=-1)"));
  CHECK(attention("x[i] = torch.softmax(scores, dim=-1)"));
  CHECK_FALSE(attention("attention_scores = self.ranker(batch)"));
  CHECK_FALSE(attention("loss, attention_scores = step(batch)"));
}

TEST_CASE("a part of an epoch shows earlier steps", "[phases]") {
  const auto phase = [](double epoch) {
    Incident incident = failed_in({user, {"m.py", 3, "forward", "", false}});
    incident.when.epoch = epoch;
    return find_phase(run_of(1), incident).id;
  };
  CHECK(phase(0.4) == "forward");
  CHECK(phase(7.33) == "forward");
  CHECK(phase(0.001) == "first_step");
  CHECK(phase(1) == "first_step");  // "Epoch 1/20"
}

TEST_CASE("without a traceback, the last marker of the rank counts", "[phases]") {
  ScanResult scan = run_of(50);
  scan.remarks = {marker("phase/load", 10), marker("phase/evaluation", 500), marker("phase/generation", 2000)};
  Incident incident = failed_in({});
  const Phase phase = find_phase(scan, incident);
  CHECK(phase.id == "evaluation");
  REQUIRE(phase.by);
  CHECK(phase.by->span.first_line == 500);

  incident.origin.rank = 0;
  scan.remarks.push_back(marker("phase/checkpoint_save", 900, 1));
  CHECK(find_phase(scan, incident).id == "evaluation");  // that is another rank's marker
  scan.remarks.push_back(marker("phase/training", 950));
  CHECK(find_phase(scan, incident).id.empty());
}

TEST_CASE("a run that prints each tenth step has done those between", "[phases]") {
  const auto steps_of = [](i64 first, i64 last) {
    ScanResult scan = run_of(20);
    scan.incidents = {failed_in({})};
    scan.first_step = first, scan.last_step = last;
    Facts facts;
    phase_facts(scan, scan.incidents[0], {}, facts);
    return facts.number("run.steps");
  };
  CHECK(steps_of(0, 190) == 190);  // at least: a bar counts those that are done
  CHECK(steps_of(1, 191) == 191);
  CHECK(steps_of(10, 200) == 200);
  CHECK(steps_of(4810, 5000) == 191);  // the log begins within the run
}

TEST_CASE("progress ends a load", "[phases]") {
  ScanResult scan = run_of(50);
  scan.remarks = {marker("phase/load", 10)};
  CHECK(find_phase(scan, failed_in({})).id == "load");
  scan.last_progress = Evidence{{0, 20, 20, 0, 0}, "", ""};
  CHECK(find_phase(scan, failed_in({})).id.empty());
}

TEST_CASE("work that needs a model ends its load, and so does a long time", "[phases]") {
  ScanResult scan;
  scan.remarks = {marker("phase/load", 10), marker("run/phase_over", 40)};
  CHECK(find_phase(scan, failed_in({})).id.empty());
  scan.remarks = {marker("run/phase_over", 5), marker("phase/load", 10)};
  CHECK(find_phase(scan, failed_in({})).id == "load");
  constexpr double noon = 1.7e9, hour = 3600;
  Incident later = failed_in({});
  scan.remarks[1].when.time = noon;
  later.when.time = noon + 4 * hour;
  CHECK(find_phase(scan, later).id.empty());
  later.when.time = noon + hour / 2;
  CHECK(find_phase(scan, later).id == "load");
  later.oom.kind = OomKind::host;  // a load prints few lines
  CHECK(find_phase(scan, later).id.empty());
}

TEST_CASE("without any printed step, no failure is in the first step", "[phases]") {
  const Incident incident = failed_in({user, {"m.py", 3, "forward", "x = a + b", false}});
  CHECK(find_phase(run_of(0), incident).id == "forward");
  CHECK(find_phase(run_of(1), incident).id == "first_step");
}

TEST_CASE("JAX runs any program by its own frames: they are no forward pass", "[phases]") {
  const Frame run{"/venv/site-packages/jax/_src/pjit.py", 1269, "_pjit_call_impl", "compiled.unsafe_call(*args)", true};
  CHECK(find_phase(run_of(50), failed_in({user, run})).id.empty());
}

TEST_CASE("a thread that asks for free memory runs next to any work", "[phases]") {
  const Frame asks{"/venv/site-packages/torch/cuda/memory.py", 836, "mem_get_info", "cudaMemGetInfo(device)", true};
  const auto is_setup = [&](const Frame& caller) {
    ScanResult scan;
    scan.incidents = {failed_in({{"poll.py", 31, "<module>", "main()", false}, caller, asks})};
    Facts facts;
    phase_facts(scan, scan.incidents[0], {}, facts);
    return facts.is_true("trace.setup");
  };
  CHECK(is_setup({"/venv/site-packages/vllm/v1/worker/gpu_worker.py", 180, "init_device", "snapshot()", true}));
  CHECK_FALSE(is_setup({"/usr/lib/python3.11/threading.py", 1045, "_bootstrap_inner", "self.run()", true}));
  CHECK_FALSE(is_setup({"poller.py", 22, "run", "torch.cuda.mem_get_info()", false}));
}

TEST_CASE("a known phase makes all other phases false", "[phases]") {
  const ScanResult scan = run_of(50);
  const Incident incident = failed_in({user, {"m.py", 3, "forward", "cross_entropy(logits)", false}});
  Facts facts;
  phase_facts(scan, incident, find_phase(scan, incident), facts);
  int yes = 0, known_ids = 0;
  for (const char* id : {"load", "first_step", "optimizer_init", "forward", "backward", "optimizer", "evaluation",
                         "generation", "checkpoint_save", "checkpoint_load", "data_loading"}) {
    const std::string name = std::string("phase.") + id;
    known_ids += facts.find(name) != nullptr;
    yes += facts.is_true(name);
  }
  CHECK(known_ids == 11);
  CHECK(yes == 1);
  CHECK(facts.is_true("phase.forward"));
  CHECK(facts.is_true("trace.loss"));
  CHECK(std::get<std::string>(facts.find("trace.frame")->value) == "m.py:3");
  CHECK(facts.number("run.steps") == 50);
}

}  // namespace oomdoctor
