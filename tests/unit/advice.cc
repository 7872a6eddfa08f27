#include <cmath>

#include "catch.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

constexpr double gib = static_cast<double>(GiB);

Facts given(std::initializer_list<std::pair<const char*, double>> numbers) {
  Facts facts;
  for (const auto& [name, value] : numbers) facts.set(name, Value{Number{value, 0}});
  advice_facts(facts);
  return facts;
}

}  // namespace

TEST_CASE("a smaller batch keeps the global batch", "[advice]") {
  for (int batch = 2; batch <= 40; ++batch)
    for (int accumulation = 1; accumulation <= 9; ++accumulation)
      for (const double need : {0.5, 3.0, 9.0}) {
        const Facts facts = given({{"settings.batch_size", batch},
                                   {"settings.accumulation", accumulation},
                                   {"advice.static", 10 * gib},
                                   {"oom.allocated", 18 * gib},
                                   {"oom.request", 2 * gib},
                                   {"account.need", need * gib}});
        CAPTURE(batch, accumulation, need);
        const double to = facts.number("advice.batch_to").value();
        const double steps = facts.number("advice.accumulation_to").value();
        CHECK(to * steps == batch * accumulation);
        CHECK(to == std::floor(to));
        CHECK(steps == std::floor(steps));
        CHECK(to >= 1);
        CHECK(to < batch);
        // 10 GiB scale with the batch: the rest must fit, unless one sample is too much.
        if (to > 1) CHECK(10 * to / batch <= 10 - need + 1e-9);
        CHECK(facts.number("advice.batch_saves").value() == Approx(10 * gib * (1 - to / batch)));
      }
}

TEST_CASE("without a figure for the batch's share, the batch is halved", "[advice]") {
  const Facts facts = given({{"settings.batch_size", 16}});
  CHECK(facts.number("advice.batch_to") == 8);
  CHECK_FALSE(facts.number("advice.accumulation_to"));  // unknown is not 1
  CHECK(facts.number("advice.accumulation_times") == 2);
  CHECK_FALSE(facts.number("advice.batch_saves"));
  CHECK_FALSE(given({{"settings.batch_size", 1}}).number("advice.batch_to"));
  CHECK_FALSE(given({}).number("advice.batch_to"));
}

TEST_CASE("without a cap, a process gains what is free beyond it, and no more", "[advice]") {
  const auto gain = [](std::initializer_list<std::pair<const char*, double>> more) {
    Facts facts;
    for (const auto& [name, value] : {std::pair("oom.limit", 3 * gib), std::pair("oom.capacity", 8 * gib)})
      facts.set(name, Value{Number{value, 0}});
    for (const auto& [name, value] : more) facts.set(name, Value{Number{value, 0}});
    advice_facts(facts);
    return facts.number("advice.limit_gain");
  };
  CHECK(gain({{"oom.free", 6 * gib}, {"oom.allocated", 1 * gib}}) == 4 * gib);  // others hold 1 GiB
  CHECK(gain({{"oom.free", 6 * gib}, {"oom.allocated", 1 * gib}, {"oom.reserved", 1.5 * gib}}) == 4.5 * gib);
  CHECK(gain({{"oom.free", 6 * gib}, {"oom.allocated", 2.9 * gib}}) == 5 * gib);  // never more than the device
  CHECK(gain({{"oom.free", 4 * gib}}) == 4 * gib);
  CHECK_FALSE(gain({{"oom.allocated", 1 * gib}}));
}

TEST_CASE("an engine's smaller share is at most what others leave of the device", "[advice]") {
  const auto share = [](std::initializer_list<std::pair<const char*, double>> numbers) {
    return given(numbers).number("advice.share_down");
  };
  CHECK(share({{"settings.memory_fraction", 0.9}}).value() == Approx(0.8));
  CHECK(share({{"settings.memory_fraction", 0.9}, {"account.external_share", 0.1}}).value() == Approx(0.8));
  CHECK(share({{"settings.memory_fraction", 0.6}, {"account.external_share", 0.62}}).value() == Approx(0.36));
  CHECK_FALSE(share({{"settings.memory_fraction", 0.6}, {"account.external_share", 0.99}}));
}

TEST_CASE("caps, host memory and workers", "[advice]") {
  const Facts cap = given({{"oom.limit", 12 * gib}, {"account.need", 1.1 * gib}, {"oom.capacity", 24 * gib}});
  CHECK(cap.number("advice.limit_to") == 13.25 * gib);  // up to a quarter of a GiB
  CHECK(cap.number("advice.fraction_to").value() == Approx(0.56));
  CHECK_FALSE(
      given({{"oom.limit", 23.5 * gib}, {"account.need", gib}, {"oom.capacity", 24 * gib}}).number("advice.limit_to"));
  CHECK(given({{"host.limit", 64 * gib}, {"host.used", 60 * gib}}).number("advice.host_to") == 84 * gib);  // 83.2
  CHECK(given({{"host.capacity", 64 * gib}, {"host.used", 3 * gib}}).number("advice.host_to") == 84 * gib);
  CHECK_FALSE(given({{"host.used", 60 * gib}}).number("advice.host_to"));  // of one process
  CHECK(given({{"settings.num_workers", 7}}).number("advice.workers_to") == 3);
  CHECK(given({{"settings.num_workers", 1}}).number("advice.workers_to") == 0);
  CHECK(given({{"settings.trainable_parameters", 1e9}}).number("advice.optimizer_states") == 8e9);
}

}  // namespace oomdoctor
