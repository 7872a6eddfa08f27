// Invariants of the numbers in every fix: no fix frees more than there is, no plan promises more than the GPU has, and
// a smaller batch keeps the global batch.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <regex>
#include <set>

#include "base/bytes.h"
#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"

namespace oomdoctor {
namespace {

/// The most that can be freed on a GPU: everything on it, plus the request.
std::optional<std::int64_t> max_to_free(const ReportIncident& incident) {
  if (incident.kind != "device" || !incident.allocated_bytes || !incident.requested_bytes) return std::nullopt;
  std::int64_t others = 0;
  for (const auto& [pid, bytes] : incident.other_processes) others += bytes;
  const std::int64_t live = std::max(*incident.allocated_bytes, incident.reserved_bytes.value_or(0));
  return std::max(live + others, incident.capacity_bytes.value_or(0)) + *incident.requested_bytes;
}

/// The memory that the fix affects, if the message prints its size.
std::optional<std::int64_t> share_of(const ReportFix& fix, const ReportIncident& incident) {
  constexpr std::array<std::string_view, 7> of_the_cache{"cuda-malloc-async", "expandable-segments", "flush-at-phases",
                                                         "max-split-size",    "pad-shapes",          "release-pending",
                                                         "round-up-sizes"};
  if (std::find(of_the_cache.begin(), of_the_cache.end(), fix.id) != of_the_cache.end())
    return incident.unallocated_bytes;
  if (fix.id != "stop-neighbour" || incident.other_processes.empty()) return std::nullopt;
  std::int64_t others = 0;
  for (const auto& [pid, bytes] : incident.other_processes) others += bytes;
  return others + incident.capacity_bytes.value_or(0) / 100;  // plus their rounding: the slack of the sizes
}

void check_numbers(const Report& report) {
  const ReportIncident* judged = nullptr;
  for (const ReportIncident& incident : report.incidents)
    if (report.verdict.incident == incident.id) judged = &incident;
  const auto limit = judged != nullptr ? max_to_free(*judged) : std::nullopt;
  for (const ReportFix& fix : report.fixes) {
    CAPTURE(fix.id);
    CHECK_FALSE(fix.settings.empty());
    if (fix.saves_low_bytes) CHECK(*fix.saves_low_bytes >= 0);
    if (fix.saves_low_bytes && fix.saves_high_bytes) CHECK(*fix.saves_low_bytes <= *fix.saves_high_bytes);
    if (limit && fix.saves_high_bytes) CHECK(*fix.saves_high_bytes <= *limit);
    if (const auto share = judged != nullptr ? share_of(fix, *judged) : std::nullopt; share && fix.saves_high_bytes)
      CHECK(*fix.saves_high_bytes <= *share);
    if (fix.enough) CHECK(fix.saves_high_bytes);
  }
  if (!report.plan) return;
  CHECK(report.plan->margin_bytes >= 0);
  CHECK(report.plan->need_bytes > report.plan->margin_bytes);
  const auto peak = report.plan->predicted_peak_bytes;
  if (peak) CHECK(*peak >= 0);
  if (peak && report.plan->would_have_fitted && judged != nullptr && judged->capacity_bytes)
    CHECK(*peak <= *judged->capacity_bytes);
}

double gib(double bytes) { return bytes / static_cast<double>(GiB); }

/// The log of a failure whose message is a balanced breakdown.
std::string made_failure(std::mt19937& random) {
  const auto part = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  const auto chance = [&](double share) { return part(0, 1) < share; };
  const double capacity = part(4, 192) * static_cast<double>(GiB), context = part(0.2, 1.2) * static_cast<double>(GiB);
  const double others = chance(0.3) ? part(0.01, 0.6) * capacity : 0;
  const double room = std::max(capacity - context - others, static_cast<double>(GiB));
  const double free = part(0, 0.2) * room, reserved = room - free;
  const double idle = (chance(0.5) ? part(0, 0.02) : part(0, 0.4)) * reserved;
  const double request = free + part(0.001, chance(0.1) ? 2 : 0.2) * capacity;
  std::string log;
  if (chance(0.5))
    log += fmt::format("per_device_train_batch_size={}\ngradient_accumulation_steps={}\n", 1 + random() % 64,
                       1 + random() % 8);
  if (chance(0.3)) log += fmt::format("trainable params: {}\n", 1 + random() % 1'000'000'000);
  const int steps = static_cast<int>(random() % 30);
  for (int step = 0; step < steps; ++step)
    log += fmt::format("step {} | loss 2.1 | allocated {:.2f} GiB\n", step, gib(reserved - idle) * part(0.3, 1));
  return log +
         fmt::format(
             "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {:.2f} GiB. GPU 0 has a total capacity of "
             "{:.2f} GiB of which {:.2f} GiB is free. {}Including non-PyTorch memory, this process has {:.2f} GiB "
             "memory in use. Of the allocated memory {:.2f} GiB is allocated by PyTorch, and {:.2f} GiB is reserved by "
             "PyTorch but unallocated.\n",
             gib(request), gib(capacity), gib(free),
             others > 0 ? fmt::format("Process 4711 has {:.2f} GiB memory in use. ", gib(others)) : "",
             gib(reserved + context), gib(reserved - idle), gib(idle));
}

}  // namespace

TEST_CASE("no saving exceeds its share and no plan exceeds the GPU, over all samples", "[prescription_laws]") {
  for (const auto& path : testing::law_samples()) {
    CAPTURE(path.string());
    check_numbers(diagnose({{path.string(), std::nullopt}}));
  }
}

TEST_CASE("each fix of a report says something else, over all samples", "[prescription_laws]") {
  for (const auto& path : testing::law_samples()) {
    CAPTURE(path.string());
    std::set<std::string> titles, reasons;
    for (const ReportFix& fix : diagnose({{path.string(), std::nullopt}}).fixes) {
      CAPTURE(fix.id);
      CHECK(titles.insert(fix.title).second);
      CHECK(reasons.insert(fix.why).second);
    }
  }
}

TEST_CASE("no saving exceeds its share and no plan exceeds the GPU, over generated breakdowns", "[prescription_laws]") {
  std::mt19937 random(20260301);
  for (int i = 0; i < 1000; ++i) {
    const std::string log = made_failure(random);
    CAPTURE(log);
    const Report report = diagnose({{"train.log", log}});
    REQUIRE(report.verdict.outcome == Outcome::oom);
    check_numbers(report);
  }
}

TEST_CASE("a smaller batch keeps the global batch, under every name of the accumulation", "[prescription_laws]") {
  std::mt19937 random(7);
  const std::array<std::string, 10> names{"gradient_accumulation_steps",
                                          "accumulate_grad_batches",
                                          "grad_accum",
                                          "grad_accum_steps",
                                          "grad_accumulation_steps",
                                          "gradient_accumulation",
                                          "accumulation_steps",
                                          "accum_iter",
                                          "update_freq",
                                          ""};
  const std::string failure =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.23 GiB. GPU 0 has a total capacity of 19.58 GiB "
      "of which 1.06 GiB is free. Including non-PyTorch memory, this process has 18.50 GiB memory in use. Of the "
      "allocated memory 18.10 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.\n";
  for (std::size_t i = 0; i < 10 * names.size(); ++i) {
    const std::string& name = names[i % names.size()];
    const long batch = 2 + static_cast<long>(random() % 60), accumulation = 1 + static_cast<long>(random() % 9);
    const std::string value = name == "update_freq" ? fmt::format("[{}]", accumulation) : std::to_string(accumulation);
    const std::string log =
        fmt::format("Namespace(batch_size={}{}, lr=0.0001)\n", batch, name.empty() ? "" : ", " + name + "=" + value) +
        "step 1 | loss 2.1\nstep 2 | loss 2.0\nstep 3 | loss 1.9\n" + failure;
    CAPTURE(log);
    const Report report = diagnose({{"train.log", log}});
    const auto fix = std::find_if(report.fixes.begin(), report.fixes.end(),
                                  [](const ReportFix& f) { return f.id == "smaller-batch"; });
    REQUIRE(fix != report.fixes.end());
    const std::string text = fix->settings.at(0).text;
    CAPTURE(text);
    // An unknown setting is multiplied, never set.
    const std::regex form(name.empty() ? R"(batch_size=(\d+) .* (\d+) times the accumulation steps)"
                                       : R"(batch_size=(\d+), )" + name + R"(=(\d+))");
    std::smatch numbers;
    REQUIRE(std::regex_search(text, numbers, form));
    CHECK(std::stol(numbers[1]) < batch);
    CHECK(std::stol(numbers[1]) * std::stol(numbers[2]) == batch * (name.empty() ? 1 : accumulation));
  }
}

TEST_CASE("a notebook gets arguments of a constructor, not options of a command line", "[prescription_laws]") {
  const Report report =
      diagnose({{std::string(OOMDOCTOR_SOURCE_DIR) + "/samples/huggingface/notebook_logits.log", std::nullopt}});
  std::set<std::string> texts;
  for (const ReportFix& fix : report.fixes)
    for (const FixSetting& setting : fix.settings)
      if (setting.scope == "HF Trainer") texts.insert(setting.text);
  CHECK(texts.contains("TrainingArguments(per_device_train_batch_size=2, gradient_accumulation_steps=4)"));
  CHECK(std::none_of(texts.begin(), texts.end(), [](const std::string& text) { return text.find("--") != text.npos; }));
}

}  // namespace oomdoctor
