// Values for the fixes, computed from this log: the batch that fits, the memory limit to request, the steps between
// restarts.
//
// The part that scales with the batch is peak minus static memory. Static memory is the last gauge of tensors between
// steps. Without such a gauge the part is unknown, and the smaller batch is offered without a number of bytes.
#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

// Judgement constants, each with its reason.
constexpr double host_room = 1.3;  ///< a third more than the measured use, because samplers miss peaks
constexpr double shared_memory =
    16.0 * static_cast<double>(
               GiB);  ///< enough for tens of workers with prefetched image batches; the default of containers is 64 MiB

constexpr double majority = 0.5;  ///< of the GPU; from here, PyTorch's counters and settings cover the smaller part
constexpr double several = 2;     ///< of processes or ranks
constexpr double min_weight_bytes = 0.5;  ///< per parameter: 4-bit weights without anything else

/// Of the free memory, the share that a program with layers on the GPU gives to weights. The rest is for the cache of
/// these layers and for its buffers, which take 1 to 3 GiB at usual contexts on a GPU of 24 GiB.
constexpr double weights_share = 0.85;

double round_up(double value, double unit) { return std::ceil(value / unit) * unit; }

/// The largest batch up to `wanted` that divides the samples of one accumulated step, so that the global batch stays
/// the same.
double dividing_batch(double wanted, double batch, double accumulation) {
  const double whole = batch * accumulation;
  for (double b = std::floor(wanted); b > 1; --b)
    if (std::fmod(whole, b) == 0) return b;
  return 1;
}

/// True if the refused request does not depend on the step size: other processes had taken the GPU before, one request
/// exceeds a GPU that is otherwise empty, this process had and wanted the smaller part of it, a cache of requests fills
/// it, the platform sets the limit, or TensorFlow's pool asked for more than any GPU has.
bool is_independent_of_step(const Facts& facts) {
  constexpr double little_given = 0.25, nothing_held = 0.02;  // of the GPU
  const auto given = facts.number("settings.given_at_start"), card = facts.number("settings.capacity"),
             held = facts.number("oom.allocated"), whole = facts.number("oom.capacity");
  const bool taken = facts.find("device.full_before") != nullptr || (given && card && *given < little_given * *card);
  const bool alone = facts.number("account.request_share").value_or(0) > 1 && held && whole &&
                     *held < nothing_held * *whole && facts.number("run.done").value_or(0) < 1;
  const bool small = facts.number("account.demand_share").value_or(1) < majority;
  const bool cached = facts.number("snapshot.cache_share").value_or(0) >= majority;
  constexpr double of_no_gpu = 1024.0 * static_cast<double>(GiB);
  const bool pool = facts.text("oom.framework") == "tensorflow" && facts.text("oom.agent") == "driver" &&
                    facts.number("oom.request").value_or(0) >= of_no_gpu;
  return taken || alone || small || cached || pool || facts.find("settings.block_limit") != nullptr ||
         facts.is_true("settings.unified_memory");
}

/// The name under which the program printed a setting. The evidence's reader contains it.
std::string printed_name(std::string_view setting, std::string_view usual, const Facts& facts) {
  constexpr std::string_view reader = "settings/";
  const Fact* fact = facts.find(setting);
  if (fact == nullptr || fact->evidence.empty() || !fact->evidence.front().reader.starts_with(reader))
    return std::string(usual);
  std::string key = fact->evidence.front().reader.substr(reader.size());
  const std::string& line = fact->evidence.front().excerpt;
  const std::size_t at = lower(line).find(key);
  return at == line.npos ? key : line.substr(at, key.size());  // in its letter case: BATCH_SIZE
}

/// The next value of an engine's settings, in the direction that helps.
void engine_advice(Facts& facts) {
  constexpr double down = 0.1, up = 0.05, max_share = 0.95, min_part = 0.5;
  constexpr double context =
      0.02;  // of the device: the engine's own CUDA context, about half a GiB, lies outside its share
  const auto set = [&](std::string_view name, double value, std::string_view from) {
    const Fact* fact = facts.find(from);
    facts.set(name, Value{Number{value, 0}}, fact != nullptr ? fact->evidence : std::vector<Evidence>{});
  };
  for (const std::string_view share : {"settings.memory_fraction", "settings.engine_share"})
    if (const auto now = facts.number(share); now && *now > 0) {
      // No more than what others leave of the device.
      const auto others = facts.number("account.external_share");
      const double left_by_others = others ? 1 - *others - context : 1;
      if (const double less = std::min(std::max(*now - down, min_part * *now), left_by_others); less > 0)
        set("advice.share_down", less, share);
      // The weights must fit into the share, and something next to them.
      const auto weights = facts.number("settings.weights_memory"), left = facts.number("settings.free_after_load");
      const auto peak = facts.number("settings.activation_peak"), whole = facts.number("settings.capacity");
      const double held = weights && left            ? *weights / (*weights + *left)
                          : weights && peak && whole ? (*weights + *peak) / *whole
                                                     : 0;
      const double more = std::max(*now, held) + up;
      if (more <= max_share + 1e-9) set("advice.share_up", more, share);
    }
  if (const auto least = facts.number("settings.least_share"); least && *least < 1)
    set("advice.share_up", std::ceil(*least * 100 - 1e-9) / 100, "settings.least_share");
  const auto fits = facts.number("settings.fitting_length"), length = facts.number("settings.sequence_length");
  if (fits)
    set("advice.context_to", *fits, "settings.fitting_length");
  else if (length && *length >= 2)
    set("advice.context_to", std::floor(*length / 2), "settings.sequence_length");
  const auto weights = facts.number("settings.weights_memory"), free = facts.number("settings.free_at_start"),
             layers = facts.number("settings.layers");
  if (weights && free && layers && *weights > *free)
    if (const double to = std::floor(*layers * weights_share * *free / *weights); to >= 1)
      set("advice.layers_to", to, "settings.layers");
  if (const auto tokens = facts.number("settings.step_tokens"); tokens && *tokens >= 2)
    set("advice.step_tokens_to", std::floor(*tokens / 2), "settings.step_tokens");
}

}  // namespace

void advice_facts(Facts& facts) {
  engine_advice(facts);
  facts.set("advice.batch_key", Value{printed_name("settings.batch_size", "batch_size", facts)});
  facts.set("advice.accumulation_key",
            Value{printed_name("settings.accumulation", "gradient_accumulation_steps", facts)});
  facts.set("advice.image_key", Value{printed_name("settings.image_size", "imgsz", facts)});
  facts.set("advice.independent_of_step", Value{is_independent_of_step(facts)});
  const auto share_of_outside = [&] {
    const auto used = facts.number("account.own_other"),
               whole = facts.number(facts.find("oom.capacity") != nullptr ? "oom.capacity" : "oom.limit");
    return used && whole ? *used / *whole : 0;
  };
  facts.set("advice.request_alone", Value{facts.number("account.request_share").value_or(0) > 1});
  const bool outside = share_of_outside() >= majority;
  facts.set("advice.outside_pytorch", Value{outside},
            outside ? facts.find("account.own_other")->evidence : std::vector<Evidence>{});
  facts.set("advice.unseen_ranks", Value{facts.number("account.uncounted").value_or(0) >= several &&
                                         (facts.number("run.ranks").value_or(1) >= several ||
                                          facts.is_true("framework.deepspeed") || facts.is_true("account.adjacent"))});
  // XLA requests a whole program at once, with the scores of all layers. A list of tensors in memory has those of all
  // layers as well.
  const auto refused = facts.text("oom.agent") == "xla" ? std::nullopt : facts.number("oom.request"),
             live_scores = facts.number("settings.live_scores");
  if (refused || live_scores)
    facts.set("advice.scores", Value{Number{std::max(refused.value_or(0), live_scores.value_or(0)), 0}});
  facts.set("advice.blind", Value{facts.text("oom.agent") == "driver" && facts.is_false("oom.has_numbers") &&
                                  facts.find("run.trains") == nullptr});
  const auto get = [&](std::string_view name) { return facts.number(name); };
  const auto set = [&](std::string_view name, double value, std::initializer_list<std::string_view> from) {
    std::vector<Evidence> evidence;
    for (const auto f : from)
      if (const Fact* fact = facts.find(f))
        evidence.insert(evidence.end(), fact->evidence.begin(), fact->evidence.end());
    facts.set(name, Value{Number{value, 0}}, std::move(evidence));
  };
  const auto need = get("account.need");
  if (const auto measured = get("advice.static"))
    set("advice.states", *measured, {"advice.static"});
  else if (const auto least = get("model.states_least")) {
    set("advice.states", *least, {"model.states_least"});
    if (const auto capacity = get("oom.capacity"); capacity && *least > *capacity)
      set("advice.states_excess", *least - *capacity, {"model.states_least", "oom.capacity"});
  }
  if (const auto static_bytes = get("advice.static"), allocated = get("oom.allocated"), request = get("oom.request");
      static_bytes && allocated && request)
    if (*allocated + *request > *static_bytes)
      set("advice.activations", *allocated + *request - *static_bytes,
          {"oom.allocated", "oom.request", "advice.static"});
  // An upper bound is useful only if a training step was running. Otherwise none of the memory may be activations.
  const bool works = facts.is_true("run.trains") || (get("settings.batch_size") && !facts.is_false("run.trains"));
  const bool in_step = works && !facts.is_true("phase.load") && !facts.is_true("phase.optimizer_init") &&
                       get("account.request_share").value_or(0) <= 1;
  // A sleeping engine has freed GPU memory that the allocator still counts.
  auto allocated = get("oom.allocated");
  if (const auto process = get("oom.process"); facts.is_true("account.unmapped_pool") && process) allocated = process;
  if (const auto request = get("oom.request"); in_step && allocated && request) {
    // A snapshot shows what else does not depend on the batch of a step.
    const double live = get("snapshot.live").value_or(0), asked = get("snapshot.request").value_or(0);
    const double kept =
        live * get("snapshot.states_share").value_or(0) + (live + asked) * get("snapshot.cache_share").value_or(0);
    // The states of the optimizer exist after its first step only.
    const double states = get(get("run.done").value_or(0) >= 1 ? "model.states_least" : "model.weights_least")
                              .value_or(get("settings.parameters").value_or(0) * min_weight_bytes);
    const double fixed = std::max(kept, states) + get("settings.data_arrays").value_or(0);
    // Weights that were loaded, of unknown number, may be most of the tensors: then half of them is not a bound of use.
    const bool loaded = fixed <= 0 && facts.is_true("run.loads_weights");
    if (*allocated + *request > fixed && !loaded)
      set("advice.activations_most", *allocated + *request - fixed,
          {"oom.allocated", "oom.request", "settings.data_arrays", "snapshot.states_share"});
  }
  const auto activations = get("advice.activations"), max_activations = get("advice.activations_most");
  if (const auto batch = get("settings.batch_size"); batch && *batch >= 2) {
    const auto accumulation = get("settings.accumulation");
    double wanted = std::floor(*batch / 2);
    if (activations && need && *activations > *need)
      wanted = std::floor(*batch * (*activations - *need) / *activations);
    // Half of the batch does not fit where half of everything does not. Where only a tenth fits, others hold the rest.
    constexpr double nearly_all = 0.9;
    const double all = get("oom.allocated").value_or(0) + get("oom.request").value_or(0);
    if (need && *need > all / 2 && *need < nearly_all * all)
      wanted = std::min(wanted, std::floor(*batch * (1 - *need / all)));
    // A batch that fitted before is known to fit. Others keep the global batch the same.
    const auto fitted = get("settings.batch_before");
    const double to =
        fitted && *fitted >= 1 && *fitted < *batch
            ? *fitted
            : dividing_batch(std::max(1.0, std::min(wanted, *batch - 1)), *batch, accumulation.value_or(1));
    set("advice.batch_to", to, {"settings.batch_size", "settings.accumulation"});
    const double parts = accumulation.value_or(1) * *batch / to;
    if (parts != std::floor(parts)) {
      // no whole number of steps gives the same global batch
    } else if (accumulation)
      set("advice.accumulation_to", *accumulation * *batch / to, {"settings.batch_size", "settings.accumulation"});
    else
      set("advice.accumulation_times", *batch / to, {"settings.batch_size"});
    if (max_activations)
      set("advice.batch_saves_most", *max_activations * (1 - to / *batch), {"settings.batch_size", "oom.allocated"});
    if (activations)
      set("advice.batch_saves", *activations * (1 - to / *batch), {"settings.batch_size", "oom.allocated"});
  }
  if (max_activations && !get("settings.batch_size"))
    set("advice.batch_saves_most", *max_activations / 2, {"oom.allocated"});
  if (const auto longest = get("shape.outlier_value");
      longest && !facts.is_true("shape.of_images") && activations && need && *activations > *need)
    set("advice.sequence_to", std::floor(*longest * (*activations - *need) / *activations / 16) * 16,
        {"shape.outlier_value"});
  const auto limit = get("oom.limit"), capacity = get("oom.capacity");
  if (const auto free = get("oom.free"); limit && capacity && free) {
    // Without the cap, the process has what it holds and what is free; a process that filled its cap holds the cap.
    const double held = get("oom.reserved").value_or(get("oom.allocated").value_or(*limit));
    set("advice.limit_gain", std::min(*capacity, held + *free) - *limit, {"oom.limit", "oom.free"});
  }
  if (limit && need) {
    const double to = round_up(*limit + *need, static_cast<double>(GiB) / 4);
    if (!capacity || to <= *capacity) {
      set("advice.limit_to", to, {"oom.limit"});
      if (capacity)
        set("advice.fraction_to", std::min(1.0, round_up(to / *capacity, 0.01)), {"oom.limit", "oom.capacity"});
    }
  }
  // The use of one process does not show the need of the whole job. Only a limit that was reached does, or the use of
  // an evicted pod.
  const auto used = get("host.used");
  const auto bound = get("host.limit") ? get("host.limit") : get("host.capacity");
  // What is read before the first step passes through host RAM.
  const auto loaded = facts.is_true("run.started") ? std::nullopt : get("settings.checkpoint_size");
  if (bound || (used && facts.is_true("host.evicted"))) {
    const double known = std::max({used.value_or(0), bound.value_or(0), loaded.value_or(0)});
    const double to = round_up(known * host_room, static_cast<double>(GiB));
    set("advice.host_to", to, {"host.used", "host.limit", "host.capacity", "settings.checkpoint_size"});
    const std::string_view basis = known == loaded     ? "the checkpoint files"
                                   : known == used     ? "the use"
                                   : get("host.limit") ? "the limit"
                                                       : "the machine's RAM";
    // Whole GiB are printed: 512 MiB become 1 GiB, twice as much.
    const bool far = to > (host_room + 0.05) * known;
    facts.set("advice.host_basis", Value{std::string(basis) + (far ? ", rounded up" : "")},
              facts.find("advice.host_to")->evidence);
  }
  if (facts.is_true("host.shm_full")) set("advice.shm_to", shared_memory, {});
  if (const auto workers = get("settings.num_workers"); workers && *workers >= 1)
    set("advice.workers_to",
        std::min(std::max(0.0, std::floor(*workers / 2)), get("settings.suggested_workers").value_or(*workers)),
        {"settings.num_workers"});
  // The excess is a lower bound, so what a fix takes off it is counted in the same bytes.
  if (const auto moments = get("model.moments_least"); moments && get("advice.states_excess"))
    set("advice.optimizer_states", *moments, {"model.moments_least"});
  else if (const auto trained = get("settings.trainable_parameters"))
    set("advice.optimizer_states", 8 * *trained, {"settings.trainable_parameters"});
}

}  // namespace oomdoctor
