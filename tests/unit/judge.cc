// Tests of the judge on facts alone: golden messages of the allocator, stories with phases and trends, fixes. The tests
// derive the facts of a message with the identities that the rules rely on, so they need no log.
#include "catch.h"

#include <algorithm>
#include <random>
#include <set>

#include "judge/rule_pack.h"
#include "judge/verdict.h"

using namespace oomdoctor;

namespace {

const RulePack& pack() {
  static const RulePack rules = shipped_rules();
  return rules;
}

std::optional<Bytes> gib(double count) {
  return *read_bytes(std::to_string(count).substr(0, std::to_string(count).find('.') + 3), "GiB");
}
std::optional<Bytes> mib(double count) {
  return *read_bytes(std::to_string(count).substr(0, std::to_string(count).find('.') + 3), "MiB");
}

struct Message {
  std::optional<Bytes> capacity, free, allocated, unallocated, request, process, limit;
  std::vector<Bytes> others;
};

void set_share(Facts& facts, std::string_view name, const std::optional<Bytes>& part,
               const std::optional<Bytes>& whole) {
  if (part && whole && whole->count > 0)
    facts.set(name, Number{double(part->count) / double(whole->count), double(part->slack) / double(whole->count)});
}

Bytes floored(Bytes b) { return {std::max<i64>(0, b.count), b.slack}; }

void set_need(Facts& facts, const Message& m, const std::optional<Bytes>& reserved) {
  const Bytes margin{m.capacity->count / 20, 0};
  facts.set("account.margin", std::optional(margin));
  facts.set("account.shortfall", std::optional(floored(*m.request - *m.free)));
  facts.set("account.free_beyond_request",
            m.free->count >= m.request->count + std::max<i64>(64 * MiB, m.request->count / 20));
  if (m.unallocated) facts.set("account.after_compaction", std::optional(*m.free + *m.unallocated - *m.request));
  if (m.limit && reserved) {
    const Bytes over = *reserved + *m.request - *m.limit;
    const bool reached = over.count + over.slack >= 0;
    facts.set("account.limit_reached", reached);
    facts.set("account.capped", reached);  // no cap of these messages is a default
    facts.set("account.need", std::optional(floored(over) + margin));
  } else {
    facts.set("account.need", std::optional(floored(*m.request - *m.free) + margin));
  }
}

// The facts that the analysis derives from such a message: see the identities in facts/account.cc.
Facts facts_of(const Message& m) {
  Facts facts;
  facts.set("oom.kind", std::string("device"));
  facts.set("oom.agent", std::string("cuda_allocator"));
  facts.set("oom.has_numbers", true);
  facts.set("oom.beyond_exabyte", false);
  for (const auto& alien : {"advice.request_alone", "advice.outside_pytorch", "advice.unseen_ranks"})
    facts.set(alien, false);
  facts.set("platform.alloc_conf", std::string("PYTORCH_CUDA_ALLOC_CONF"));
  facts.set("oom.capacity", m.capacity);
  facts.set("oom.free", m.free);
  facts.set("oom.allocated", m.allocated);
  facts.set("oom.unallocated", m.unallocated);
  facts.set("oom.request", m.request);
  facts.set("oom.process", m.process);
  facts.set("oom.limit", m.limit);
  facts.set("oom.private_pools", Bytes{});
  facts.set("oom.others_count", Number{double(m.others.size()), 0});
  std::optional<Bytes> reserved;
  if (m.allocated && m.unallocated) reserved = *m.allocated + *m.unallocated;
  facts.set("oom.reserved", reserved);
  std::optional<Bytes> own, external;
  if (m.process && reserved) own = floored(*m.process - *reserved);
  if (m.process)
    external = floored(*m.capacity - *m.free - *m.process);
  else if (reserved)
    external = floored(*m.capacity - *m.free - *reserved - Bytes{3 * GiB / 2, 0});
  facts.set("account.own_other", own);
  facts.set("account.external", external);
  set_share(facts, "account.own_other_share", own, m.capacity);
  set_share(facts, "account.external_share", external, m.capacity);
  set_share(facts, "account.allocated_share", m.allocated, m.capacity);
  set_share(facts, "account.request_share", m.request, m.capacity);
  set_share(facts, "account.frag_ratio", m.unallocated, reserved);
  if (m.allocated) facts.set("account.oversubscribed", m.allocated->count > m.capacity->count);
  if (m.request) set_need(facts, m, reserved);
  return facts;
}

// A GPU that the tensors of the process fill: C 14.56 GiB.
Facts full_device() { return facts_of({gib(14.56), mib(83.81), gib(13.94), mib(56.76), mib(346), gib(14.22), {}, {}}); }

std::string first(const Diagnosis& d) { return d.causes.empty() ? "" : d.causes[0].cause; }

double probability(const Diagnosis& d, std::string_view id) {
  for (const auto& cause : d.causes)
    if (cause.cause == id) return cause.probability;
  return -1;
}

const ReportFix* find_fix(const Diagnosis& d, std::string_view id) {
  for (const auto& fix : d.fixes)
    if (fix.id == id) return &fix;
  return nullptr;
}

bool holds_back(const Diagnosis& d, std::string_view id) {
  return std::any_of(d.held_back.begin(), d.held_back.end(), [&](const auto& held) { return held.id == id; });
}

Number count(double n) { return {n, 0}; }
std::string text(const char* t) { return t; }

void set_phase(Facts& facts, std::string_view phase) {
  facts.set("phase.known", true);
  for (const std::string_view id : {"load", "first_step", "optimizer_init", "forward", "backward", "optimizer",
                                    "evaluation", "generation", "checkpoint_save", "checkpoint_load", "data_loading"})
    facts.set("phase." + std::string(id), id == phase);
}

void set_trend(Facts& facts, bool leak, bool accelerating) {
  facts.set("trend.points", count(60));
  facts.set("trend.leak", leak);
  facts.set("trend.accelerating", accelerating);
  facts.set("trend.maxima_only", false);
  facts.set("trend.flat", !leak);
  facts.set("trend.settled", false);
  facts.set("trend.sawtooth", false);
  facts.set("trend.slope", Number{14.0 * double(MiB), 0});
  facts.set("trend.rate", std::string("14.00 MiB per step"));
  facts.set("trend.last_slope", Number{20.0 * double(MiB), 0});
  facts.set("trend.last_rate", std::string("20.00 MiB per step"));
  if (leak) facts.set("trend.explained_share", Number{0.95, 0});
}

}  // namespace

TEST_CASE("golden messages rank their cause first") {
  struct Golden {
    const char* name;
    Message message;
    const char* cause;
    const char* agent = nullptr;
  };
  const std::vector<Golden> golden = {
      {"nearly all live, another process has 0.57 GiB",
       {gib(15.90), mib(8.44), gib(14.12), mib(410.41), mib(138), gib(15.32), {}, {*mib(577)}},
       "oversized_step"},
      {"four stray contexts",
       {gib(39.49),
        mib(321.31),
        gib(36.04),
        mib(321.37),
        mib(572),
        gib(37.46),
        {},
        {*mib(414), *mib(414), *mib(414), *mib(414)}},
       "oversized_step"},
      {"half of the cache idle, but the request is larger than all that",
       {gib(31.47), gib(12.73), gib(9.08), gib(9.35), gib(22.78), gib(18.73), {}, {}},
       "oversized_step"},
      {"a third of the device in one request",
       {gib(178.35), gib(10.00), gib(167.64), mib(4.62), gib(55.88), gib(168.34), {}, {}},
       "oversized_step"},
      {"more idle than live", {gib(19.92), gib(6.22), gib(5.34), gib(7.10), gib(6.64), {}, {}, {}}, "fragmentation"},
      {"marginal", {gib(15.77), mib(514.19), gib(13.73), mib(736.86), mib(546), gib(15.25), {}, {}}, "oversized_step"},
      {"full, nine per cent idle",
       {gib(14.56), mib(343.81), gib(12.84), gib(1.26), mib(346), gib(14.22), {}, {}},
       "oversized_step"},
      {"large request, nothing idle",
       {gib(14.56), gib(1.94), gib(12.44), mib(56.76), gib(4.72), gib(12.62), {}, {}},
       "oversized_step"},
      {"full to the brim",
       {gib(31.36), mib(53.06), gib(30.35), mib(319.13), mib(112), gib(31.30), {}, {}},
       "oversized_step"},
      {"a third of the cache pending",
       {gib(39.59), mib(228.19), gib(22.96), gib(13.23), mib(648), {}, {}, {}},
       "fragmentation"},
      {"half of the device foreign",
       {gib(47.50), mib(68.88), gib(22.15), mib(10.24), mib(984), {}, {}, {}},
       "other_process"},
      {"half of a small device foreign",
       {gib(15.90), mib(26.56), gib(8.12), mib(51.2), mib(12), {}, {}, {}},
       "other_process"},
      {"a third of a small cache idle",
       {gib(3.95), mib(354.88), gib(1.72), gib(0.74), mib(376), {}, {}, {}},
       "fragmentation"},
      {"tensors fill it", {gib(14.61), mib(37.12), gib(13.76), mib(10.24), mib(200), {}, {}, {}}, "oversized_step"},
      {"half of a small device in one request",
       {gib(3.81), gib(1.67), gib(1.92), mib(102.4), gib(2.00), {}, {}, {}},
       "oversized_step"},
      {"hardly anything live", {gib(8.00), Bytes{0, 0}, mib(203.44), gib(6.24), mib(2), {}, {}, {}}, "fragmentation"},
      {"two hundred free",
       {gib(287.98), gib(203.49), gib(68.63), gib(14.93), mib(2), {}, {}, {}},
       "oversubscription",
       "hip_allocator"},
      {"a cap of one", {gib(255.98), gib(244.65), mib(1017.01), mib(54.99), mib(2), {}, gib(1.05), {}}, "memory_limit"},
      {"a cap of 2.63", {gib(8.00), gib(6.10), mib(954), Bytes{0, 0}, gib(2.13), {}, gib(2.63), {}}, "memory_limit"},
      {"a cap of 2.25, nothing held",
       {gib(45.00), gib(43.66), Bytes{0, 0}, Bytes{0, 0}, gib(18.63), {}, gib(2.25), {}},
       "memory_limit"},
      {"more allocated than there is",
       {gib(6.00), Bytes{0, 0}, gib(12.15), mib(100), mib(20), {}, {}, {}},
       "oversubscription"},
  };
  for (const auto& example : golden) {
    INFO(example.name);
    Facts facts = facts_of(example.message);
    if (example.agent) facts.set("oom.agent", text(example.agent));
    const Diagnosis diagnosis = judge(pack(), facts);
    CHECK(first(diagnosis) == example.cause);
    REQUIRE(diagnosis.causes.size() == pack().causes().size());
    CHECK(diagnosis.causes[0].probability <= 0.99);
    double sum = 0;
    for (const auto& cause : diagnosis.causes) sum += cause.probability;
    CHECK(sum <= 1.0000001);
  }
}

TEST_CASE("a cause that the message proves is decided") {
  CHECK(judge(pack(), facts_of({gib(19.92), gib(6.22), gib(5.34), gib(7.10), gib(6.64), {}, {}, {}})).cause ==
        "fragmentation");
  CHECK(judge(pack(), facts_of({gib(47.50), mib(68.88), gib(22.15), mib(10.24), mib(984), {}, {}, {}})).cause ==
        "other_process");
  const Diagnosis limit =
      judge(pack(), facts_of({gib(8.00), gib(6.10), mib(954), Bytes{0, 0}, gib(2.13), {}, gib(2.63), {}}));
  CHECK(limit.cause == "memory_limit");
  CHECK(limit.causes[0].probability > 0.95);
  Facts absurd;
  absurd.set("oom.kind", text("device"));
  absurd.set("oom.agent", text("cuda_allocator"));
  absurd.set("oom.beyond_exabyte", true);
  const Diagnosis bogus = judge(pack(), absurd);
  CHECK(bogus.cause == "bogus_request");
  CHECK(bogus.causes[0].probability > 0.9);
  CHECK(bogus.causes[0].probability <= 0.99);
}

TEST_CASE("an engine gets only its own settings") {
  Facts facts;
  facts.set("oom.kind", text("pool"));
  facts.set("framework.serving", true);
  facts.set("trace.wake_up", false);
  facts.set("trace.graph_capture", false);
  for (const char* engine : {"vLLM", "SGLang", "TGI"}) {
    facts.set("framework.engine", text(engine));
    const Diagnosis d = judge(pack(), facts);
    const ReportFix* shorter = find_fix(d, "shorter-context");
    REQUIRE(shorter);
    REQUIRE(shorter->settings.size() == 1);
    CHECK(shorter->settings[0].scope == engine);
  }
}

TEST_CASE("a question uses the words of the program") {
  const auto command = [](const char* fact, auto value) {
    Facts facts = full_device();
    facts.set("run.done", count(400));
    facts.set(fact, value);
    for (const auto& q : judge(pack(), facts).questions)
      if (q.missing == "trend.points") return q.command;
    return std::string();
  };
  CHECK(command("framework.jax", true).find("jax.local_devices()") != std::string::npos);
  CHECK(command("framework.tensorflow", true).find("tf.config") != std::string::npos);
  CHECK(command("platform.torch", text("npu")).find("torch.npu.memory_allocated()") != std::string::npos);
  CHECK(command("run.started", true).find("torch.cuda.memory_allocated()") != std::string::npos);
  CHECK(command("framework.pytorch", false).find("torch") == std::string::npos);
}

TEST_CASE("a small request in the loss is no huge tensor") {
  Facts facts = full_device();
  facts.set("trace.loss", true);
  CHECK(first(judge(pack(), facts)) == "logits_spike");  // 346 MiB
  facts.set("oom.request", mib(2));
  CHECK(first(judge(pack(), facts)) != "logits_spike");
}

TEST_CASE("memory outside the framework may belong to any process if none is listed") {
  Facts facts = facts_of({gib(16.00), mib(68), gib(4.15), mib(10.24), mib(984), {}, {}, {}});
  const double named = probability(judge(pack(), facts), "other_process");
  facts.set("account.ownerless", true);
  facts.set("account.holders", text("other processes, or libraries of this one, beyond a usual context"));
  const Diagnosis open = judge(pack(), facts);
  CHECK(probability(open, "other_process") < named);
  CHECK(probability(open, "library_memory") > 0.02);
}

TEST_CASE("a late failure on a full GPU without further evidence is undetermined and asks for a series") {
  Facts facts = full_device();
  facts.set("run.done", count(400));
  const Diagnosis diagnosis = judge(pack(), facts);
  CHECK(diagnosis.cause == "undetermined");
  std::set<std::string> three;
  for (std::size_t i = 0; i < 3; ++i) three.insert(diagnosis.causes[i].cause);
  CHECK(three.contains("leak"));
  CHECK(three.contains("input_spike"));
  REQUIRE_FALSE(diagnosis.questions.empty());
  CHECK(diagnosis.questions.size() <= 3);
  const auto asks_for_series = [](const Diagnosis& of) {
    return std::any_of(of.questions.begin(), of.questions.end(),
                       [](const auto& q) { return q.missing == "trend.points"; });
  };
  CHECK(asks_for_series(diagnosis));
  facts.set("trend.points", count(2));
  CHECK(asks_for_series(judge(pack(), facts)));
  facts.set("trend.points", count(20));
  CHECK_FALSE(asks_for_series(judge(pack(), facts)));
}

TEST_CASE("stories with phases and trends") {
  SECTION("accelerating growth is a leak") {
    Facts facts = full_device();
    facts.set("run.done", count(400));
    set_trend(facts, true, true);
    const Diagnosis d = judge(pack(), facts);
    CHECK(d.cause == "leak");
    CHECK(find_fix(d, "snapshot-diff"));
    CHECK(find_fix(d, "bound-growing-input"));
    CHECK_FALSE(find_fix(d, "smaller-batch"));
    CHECK(holds_back(d, "batch-against-a-leak"));
  }
  SECTION("linear growth is a leak") {
    Facts facts = full_device();
    facts.set("run.done", count(60));
    set_trend(facts, true, false);
    CHECK(judge(pack(), facts).cause == "leak");
  }
  SECTION("a leak is reported before any failure") {
    Facts facts;
    facts.set("run.at_risk", true);
    set_trend(facts, true, false);
    CHECK(judge(pack(), facts).cause == "leak");
  }
  SECTION("failure in the first optimizer step") {
    Facts facts = full_device();
    set_phase(facts, "optimizer_init");
    facts.set("trace.optimizer", true);
    CHECK(judge(pack(), facts).cause == "model_states");
  }
  SECTION("failure during loading") {
    Facts facts = full_device();
    set_phase(facts, "load");
    CHECK(judge(pack(), facts).cause == "model_states");
  }
  SECTION("failure in the first step") {
    Facts facts = full_device();
    set_phase(facts, "first_step");
    facts.set("run.done", count(1));
    CHECK(judge(pack(), facts).cause == "oversized_step");
  }
  SECTION("failure in the loss") {
    const auto in_loss = [](const std::optional<Bytes>& request) {
      Facts facts = facts_of({gib(14.56), mib(83.81), gib(13.94), mib(56.76), request, gib(14.22), {}, {}});
      set_phase(facts, "first_step");
      facts.set("trace.known", true);
      facts.set("trace.loss", true);
      return judge(pack(), facts);
    };
    const Diagnosis d = in_loss(gib(1.21));
    CHECK(first(d) == "logits_spike");
    REQUIRE_FALSE(d.fixes.empty());
    CHECK(d.fixes[0].id == "fused-cross-entropy");
    CHECK(first(in_loss(mib(346))) == "oversized_step");  // the last part of a full GPU
  }
  SECTION("one long input after many steps") {
    Facts facts = full_device();
    set_phase(facts, "forward");
    facts.set("run.done", count(300));
    set_trend(facts, false, false);
    facts.set("shape.varies", true);
    facts.set("shape.outlier", true);
    facts.set("shape.outlier_value", count(4096));
    facts.set("shape.typical_value", count(410));
    const Diagnosis d = judge(pack(), facts);
    CHECK(d.cause == "input_spike");
    CHECK(find_fix(d, "shorter-sequence"));
  }
  SECTION("failure in an evaluation") {
    Facts facts = full_device();
    set_phase(facts, "evaluation");
    facts.set("run.done", count(300));
    const Diagnosis d = judge(pack(), facts);
    CHECK(d.cause == "eval_accumulation");
  }
  SECTION("growth inside an evaluation is no leak of the training") {
    Facts facts = full_device();
    set_phase(facts, "evaluation");
    facts.set("run.done", count(300));
    set_trend(facts, true, false);
    facts.set("trend.in_evaluation", true);
    CHECK(judge(pack(), facts).cause == "eval_accumulation");
  }
  SECTION("failure during a checkpoint save") {
    Facts facts = full_device();
    set_phase(facts, "checkpoint_save");
    facts.set("run.done", count(300));
    CHECK(judge(pack(), facts).cause == "checkpoint_spike");
  }
  SECTION("the cache grows, tensors do not") {
    Facts facts = facts_of({gib(19.92), mib(220), gib(11.34), gib(7.10), gib(1.64), gib(19.2), {}, {}});
    facts.set("run.done", count(300));
    set_trend(facts, false, false);
    facts.set("trend.gap_grows", true);
    const Diagnosis d = judge(pack(), facts);
    CHECK(d.cause == "fragmentation");
    CHECK(d.causes[0].probability > 0.9);
  }
}

TEST_CASE("host failures and GPU failures are not confused") {
  Facts killed;
  killed.set("oom.kind", text("host"));
  killed.set("oom.agent", text("kernel"));
  killed.set("host.kernel_kill", true);
  killed.set("host.sigkill_only", false);
  const Diagnosis kernel = judge(pack(), killed);
  CHECK(kernel.cause == "host_memory");
  CHECK(kernel.causes[0].probability > 0.95);
  CHECK(probability(kernel, "oversized_step") == 0);

  Facts signal;
  signal.set("oom.kind", text("host"));
  signal.set("oom.agent", text("signal"));
  signal.set("host.kernel_kill", false);
  signal.set("host.limit_kill", false);
  signal.set("host.sigkill_only", true);
  const Diagnosis bare = judge(pack(), signal);
  CHECK(first(bare) == "host_memory");
  CHECK(bare.causes[0].probability == Approx(0.6));

  Facts bus;
  bus.set("oom.kind", text("shared_memory"));
  bus.set("oom.agent", text("worker"));
  bus.set("host.bus_error", true);
  const Diagnosis shm = judge(pack(), bus);
  CHECK(shm.cause == "shared_memory");
  REQUIRE_FALSE(shm.fixes.empty());
  CHECK(shm.fixes[0].id == "bigger-shm");

  CHECK(probability(judge(pack(), full_device()), "host_memory") == 0);
  CHECK(probability(judge(pack(), full_device()), "masked") == 0);
}

TEST_CASE("library statuses, pools and pinned memory") {
  Facts status;
  status.set("oom.kind", text("masked"));
  status.set("oom.agent", text("library"));
  status.set("oom.has_numbers", false);
  status.set("masked.status", text("CUBLAS_STATUS_ALLOC_FAILED"));
  CHECK(judge(pack(), status).cause == "masked");

  Facts cache;
  cache.set("oom.kind", text("pool"));
  cache.set("oom.agent", text("serving"));
  cache.set("pool.kv_cache", true);
  CHECK(judge(pack(), cache).cause == "kv_cache");

  Facts pinned;
  pinned.set("oom.kind", text("host"));
  pinned.set("oom.agent", text("cpu_allocator"));
  pinned.set("host.pinned_failed", true);
  CHECK(judge(pack(), pinned).cause == "pinned_memory");
}

TEST_CASE("the first fix for fragmentation is expandable segments") {
  Facts facts = facts_of({gib(19.92), gib(6.22), gib(5.34), gib(7.10), gib(6.64), {}, {}, {}});
  const Diagnosis d = judge(pack(), facts);
  REQUIRE_FALSE(d.fixes.empty());
  const ReportFix& fix = d.fixes[0];
  CHECK(fix.id == "expandable-segments");
  CHECK(fix.enough);
  CHECK(fix.if_not_already);
  REQUIRE(fix.settings.size() == 1);
  CHECK(fix.settings[0].text == "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  CHECK(fix.why.find("7.10 GiB") != std::string::npos);
  REQUIRE(d.plan);
  CHECK(d.plan->fixes == std::vector<std::string>{"expandable-segments"});
  CHECK(d.plan->would_have_fitted);
  // need = 6.64 - 6.22 GiB and 5 % of 19.92 GiB
  CHECK(double(d.plan->need_bytes) == Approx(1.416 * double(GiB)).epsilon(0.001));

  facts.set("platform.alloc_conf", text("PYTORCH_ALLOC_CONF"));
  CHECK(judge(pack(), facts).fixes[0].settings[0].text == "export PYTORCH_ALLOC_CONF=expandable_segments:True");
  facts.set("settings.torch", Number{1.10, 0});  // the setting exists since 2.1
  CHECK_FALSE(find_fix(judge(pack(), facts), "expandable-segments"));
  facts.set("settings.torch", Number{2.10, 0});
  facts.set("settings.expandable_segments", true);
  CHECK_FALSE(find_fix(judge(pack(), facts), "expandable-segments"));
}

TEST_CASE("the hint that PyTorch prints is judged") {
  Facts facts = facts_of({gib(31.47), gib(12.73), gib(9.08), gib(9.35), gib(22.78), gib(18.73), {}, {}});
  facts.set("oom.printed_advice", text("expandable_segments"));
  const Diagnosis d = judge(pack(), facts);
  CHECK_FALSE(find_fix(d, "expandable-segments"));
  REQUIRE_FALSE(d.held_back.empty());
  CHECK(d.held_back[0].id == "printed-expandable-segments");
  CHECK(d.held_back[0].because.find("is less than the request") != std::string::npos);
  CHECK(d.held_back[0].because.find('{') == std::string::npos);
}

TEST_CASE("the fix for another process is to free its memory") {
  Facts facts = facts_of({gib(47.50), mib(68.88), gib(22.15), mib(10.24), mib(984), {}, {}, {}});
  facts.set("account.stop_pids", Value{std::string("4711")});
  facts.set("account.stop_frees", Value{Number{22.15 * GiB, 0}});
  const Diagnosis d = judge(pack(), facts);
  REQUIRE_FALSE(d.fixes.empty());
  CHECK(d.fixes[0].id == "free-the-gpu");
  CHECK(d.fixes[0].enough);
  const auto& settings = d.fixes[0].settings;
  CHECK(std::any_of(settings.begin(), settings.end(),
                    [](const auto& s) { return s.text.find("4711") != std::string::npos; }));
  // Half the batch could free the little that was missing here, but not what a small program lacks.
  CHECK_FALSE(holds_back(d, "batch-against-others"));
  facts.set("advice.batch_saves_most", Value{Number{512.0 * MiB, 0}});
  facts.set("account.shortfall", Value{Number{1.0 * GiB, 0}});
  CHECK(holds_back(judge(pack(), facts), "batch-against-others"));
}

TEST_CASE("a known batch size gets numbers, an unknown one none") {
  Facts facts = full_device();
  set_phase(facts, "first_step");
  const ReportFix* unknown = nullptr;
  const Diagnosis without = judge(pack(), facts);
  unknown = find_fix(without, "smaller-batch");
  REQUIRE(unknown);
  CHECK_FALSE(unknown->if_not_already);  // nobody asks whether a batch is "set"
  for (const auto& setting : unknown->settings) CHECK(setting.text.find('{') == std::string::npos);

  facts.set("settings.batch_size", count(32));
  facts.set("settings.accumulation", count(1));
  facts.set("advice.batch_to", count(24));
  facts.set("advice.accumulation_to", count(2));
  facts.set("advice.batch_key", text("batch"));
  facts.set("advice.accumulation_key", text("accum_iter"));
  facts.set("advice.activations", gib(8));
  facts.set("advice.batch_saves", gib(2));
  const Diagnosis with = judge(pack(), facts);
  REQUIRE_FALSE(with.fixes.empty());
  CHECK(with.fixes[0].id == "smaller-batch");
  REQUIRE_FALSE(with.fixes[0].settings.empty());
  CHECK(with.fixes[0].settings[0].text == "batch=24, accum_iter=2");
  CHECK(with.fixes[0].settings[0].from == "32");
  CHECK(with.fixes[0].settings[0].to == "24");
  CHECK_FALSE(with.fixes[0].enough);  // before the first step completes, the full memory need is unknown
  set_phase(facts, "forward");
  CHECK(judge(pack(), facts).fixes[0].enough);
}

TEST_CASE("fixes for another framework or for training are not offered to programs without them") {
  Facts facts = full_device();
  facts.set("platform.torch", text("cuda"));
  const auto has_place = [](const Diagnosis& d, std::string_view place) {
    return std::any_of(d.fixes.begin(), d.fixes.end(), [&](const ReportFix& fix) {
      return std::any_of(fix.settings.begin(), fix.settings.end(), [&](const auto& s) { return s.scope == place; });
    });
  };
  const Diagnosis open = judge(pack(), facts);
  CHECK(has_place(open, "plain PyTorch"));
  REQUIRE(find_fix(open, "activation-checkpointing"));

  Facts other = facts;
  for (const char* name : {"framework.pytorch", "framework.tensorflow", "framework.jax"}) other.set(name, false);
  const Diagnosis without = judge(pack(), other);
  REQUIRE_FALSE(without.fixes.empty());
  for (const char* place : {"plain PyTorch", "HF Trainer", "TensorFlow", "JAX"}) CHECK_FALSE(has_place(without, place));
  CHECK_FALSE(find_fix(without, "activation-checkpointing"));  // every setting of it belongs to PyTorch
  CHECK(find_fix(without, "smaller-batch"));
  for (const ReportFix& fix : without.fixes) CHECK_FALSE(fix.settings.empty());

  Facts served = facts;
  served.set("framework.serving", true);
  served.set("run.trains", false);
  served.set("trace.wake_up", false);
  const Diagnosis serving = judge(pack(), served);
  CHECK_FALSE(find_fix(serving, "smaller-batch"));
  CHECK_FALSE(find_fix(serving, "memory-series"));
  CHECK(find_fix(serving, "engine-headroom"));
  CHECK_FALSE(find_fix(serving, "cache-share"));  // the cache took too much, not too little
}

TEST_CASE("a question names the tool of the GPU's vendor") {
  Facts facts;
  facts.set("oom.kind", text("device"));
  facts.set("oom.agent", text("driver"));
  const auto tools = [](const Facts& known) {
    std::string all;
    for (const auto& question : judge(pack(), known).questions) all += question.command + "\n";
    return all;
  };
  CHECK(tools(facts).find("nvidia-smi") != std::string::npos);
  Facts amd = facts;
  amd.set("platform.rocm", true);
  CHECK(tools(amd).find("rocm-smi") != std::string::npos);
  Facts apple = facts;
  apple.set("platform.mps", true);
  CHECK(tools(apple).find("Activity Monitor") != std::string::npos);
  for (const Facts& other : {amd, apple}) CHECK(tools(other).find("nvidia-smi") == std::string::npos);
}

TEST_CASE("a question asks for the missing setting") {
  Facts facts = full_device();
  set_phase(facts, "optimizer_init");
  facts.set("run.trains", true);
  const Diagnosis d = judge(pack(), facts);
  const auto asked = std::find_if(d.questions.begin(), d.questions.end(), [](const auto& question) {
    return question.missing == "settings.trainable_parameters";
  });
  REQUIRE(asked != d.questions.end());
  CHECK(asked->text.find("parameters that are trained") != std::string::npos);
  CHECK(asked->command.find("p.requires_grad") != std::string::npos);
}

TEST_CASE("a question about a fix asks whether it helps, not whether it is true") {
  Facts facts = full_device();
  set_phase(facts, "optimizer_init");
  facts.set("run.trains", true);
  facts.set("advice.activations", mib(800));
  const Diagnosis d = judge(pack(), facts);
  const auto asks = [&](const std::string& title, const std::string& end) {
    return std::any_of(d.questions.begin(), d.questions.end(), [&](const Question& question) {
      return question.text.find(title) != std::string::npos && question.text.find(end) != std::string::npos;
    });
  };
  REQUIRE_FALSE(d.questions.empty());
  for (const ReportCause& cause : d.causes) CHECK_FALSE(asks('"' + cause.title + '"', "\" helps"));
  for (const ReportFix& fix : d.fixes) CHECK_FALSE(asks('"' + fix.title + '"', "confirm or rule out"));
}

TEST_CASE("two fixes do not save the same memory twice") {
  Facts facts = full_device();
  set_phase(facts, "first_step");
  facts.set("settings.precision", text("fp32"));
  facts.set("settings.batch_size", count(4));
  facts.set("advice.batch_to", count(2));
  facts.set("advice.accumulation_to", count(2));
  facts.set("advice.activations", mib(800));  // all fixes of the activations together free at most this amount
  facts.set("advice.batch_saves", mib(400));
  const Diagnosis d = judge(pack(), facts);
  REQUIRE(d.plan);
  CHECK(d.plan->need_bytes > 800 * MiB);
  CHECK_FALSE(d.plan->would_have_fitted);
}

TEST_CASE("the list has a step without a code change and a diagnostic, and at most eight fixes") {
  Facts facts = full_device();
  facts.set("run.done", count(400));
  const Diagnosis d = judge(pack(), facts);
  CHECK(d.fixes.size() <= 8);
  const auto has = [&](auto is) {
    return std::any_of(d.fixes.begin(), d.fixes.end(),
                       [&](const ReportFix& fix) { return is(pack().fixes().at(fix.id).kind); });
  };
  CHECK(has([](FixKind kind) { return kind == FixKind::setting || kind == FixKind::outside; }));
  CHECK(has([](FixKind kind) { return kind == FixKind::diagnostic; }));
}

TEST_CASE("only a failure or a risk is judged") {
  Analysis analysis;
  analysis.runs.all.resize(1);
  CHECK_FALSE(needs_judgement(analysis));
  CHECK(decide_verdict(analysis, {}).outcome == Outcome::no_oom);
  CHECK(decide_verdict(analysis, {}).retry.decision == "unknown");

  Analysis risk = analysis;
  risk.facts.set("run.at_risk", true);
  CHECK(needs_judgement(risk));
  CHECK(decide_verdict(risk, {}).outcome == Outcome::at_risk);

  analysis.primary = 0;  // the program survived it
  analysis.runs.outcome = Outcome::handled_oom;
  CHECK(needs_judgement(analysis));
  analysis.runs.outcome = Outcome::ended_otherwise;
  CHECK_FALSE(needs_judgement(analysis));
  analysis.runs.all[0].failure = 0;
  CHECK(needs_judgement(analysis));
  analysis.runs.overcome = true;
  CHECK_FALSE(needs_judgement(analysis));
}

TEST_CASE("the judgement stays within its bounds for any facts") {
  std::mt19937 random(20240501);
  const auto chance = [&](double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; };
  const auto value_for = [&](FactUnit unit) -> Value {
    if (unit == FactUnit::truth) return chance(0.5);
    if (unit == FactUnit::text) return std::string(chance(0.5) ? "fp32" : "adamw");
    const double scale = unit == FactUnit::ratio            ? 1
                         : unit == FactUnit::count          ? 64
                         : unit == FactUnit::version_number ? 3
                                                            : 80.0 * double(GiB);
    return Number{scale * std::uniform_real_distribution<>(-0.1, 1)(random), chance(0.5) ? 0.005 * scale : 0};
  };
  const std::vector<std::string> kinds = {"device", "host", "shared_memory", "masked", "pool"};
  for (int round = 0; round < 300; ++round) {
    Facts facts;
    const double density = std::uniform_real_distribution<>(0, 1)(random);
    for (const auto& spec : fact_specs())
      if (chance(density)) facts.set(spec.name, value_for(spec.unit));
    facts.set("oom.kind", kinds[std::size_t(round) % kinds.size()]);
    const Diagnosis d = judge(pack(), facts);
    double sum = 0, last = 1;
    for (const auto& cause : d.causes) {
      sum += cause.probability;
      CHECK(cause.probability <= last);
      last = cause.probability;
    }
    CHECK(sum <= 1.0000001);
    CHECK(d.fixes.size() <= 8);
    CHECK(d.questions.size() <= 3);
    bool open = false;  // a fix with an unknown condition comes after all with a true one
    for (const auto& fix : d.fixes) {
      const bool known_when = pack().fixes().at(fix.id).when.truth(facts) == Truth::yes;
      CHECK_FALSE((open && known_when));
      open = open || !known_when;
      CHECK_FALSE((fix.enough && !known_when));
      CHECK_FALSE(fix.why.empty());
      CHECK(fix.saves_low_bytes.value_or(0) <= fix.saves_high_bytes.value_or(0));
      for (const auto& setting : fix.settings) CHECK_FALSE(setting.text.empty());
    }
    if (d.plan)
      for (const auto& id : d.plan->fixes) {
        CHECK(find_fix(d, id));
        for (const auto& other : d.plan->fixes)
          CHECK(std::count(pack().fixes().at(id).not_with.begin(), pack().fixes().at(id).not_with.end(), other) == 0);
      }
  }
}

TEST_CASE("commands use the words of the shells of Windows") {
  CHECK(in_power_shell("python train.py 2>&1 | tee train.log   # the whole traceback") ==
        "python train.py > train.log 2>&1   # the whole traceback");
  CHECK(in_power_shell("export A=x:True") == "$env:A=\"x:True\"   # PowerShell");
  CHECK(in_power_shell("export A=1 B=2   # why") == "$env:A=\"1\"; $env:B=\"2\"   # why");
  CHECK(in_power_shell("export A=\"$A --flag=1\"") == "export A=\"$A --flag=1\"");
  CHECK(in_power_shell("halve batch_size") == "halve batch_size");
}

TEST_CASE("the texts use the name of the log's device") {
  CHECK(with_device_noun("the GPU has 2 GPUs, GPUDirect and aGPU", "NPU") == "the NPU has 2 NPUs, GPUDirect and aGPU");
  Diagnosis diagnosis;
  diagnosis.causes.push_back({"a", "Step too large for the GPU", "", 1, {{{}, "it fills the GPU", 1, {}}}, {}});
  ReportFix& fix = diagnosis.fixes.emplace_back();
  fix.title = "Stop the other process on this GPU";
  fix.settings.push_back({"", "GPU=0", "", ""});
  Facts facts;
  name_device(diagnosis, pack().device_noun(facts));
  CHECK(diagnosis.causes[0].title == "Step too large for the GPU");
  facts.set("platform.vendor", std::string("huawei"));
  name_device(diagnosis, pack().device_noun(facts));
  CHECK(diagnosis.causes[0].title == "Step too large for the NPU");
  CHECK(diagnosis.causes[0].because[0].text == "it fills the NPU");
  CHECK(diagnosis.fixes[0].title == "Stop the other process on this NPU");
  CHECK(diagnosis.fixes[0].settings[0].text == "GPU=0");
}
