// Very many files as one case: their order, their ranks, the series that stay, threads.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/natural_order.h"
#include "base/parallel.h"
#include "catch.h"
#include "facts/analysis.h"
#include "fold/path_tags.h"
#include "fold/series_retention.h"
#include "made_cases.h"
#include "oomdoctor/diagnose.h"
#include "serialize/json.h"

namespace oomdoctor {
namespace {

std::string rank_log(int rank, int steps, double growth, bool fails) {
  std::string text;
  for (int i = 0; i < steps; ++i) {
    const std::string minute = std::to_string(10 + i / 60), second = std::to_string(10 + i % 50);
    text += "2025-03-01 12:" + minute + ":" + second + " step " + std::to_string(i) + " | loss 2.1 | allocated " +
            std::to_string(20 + growth * i + (rank == 7 ? 3 : 0)) + " GiB\n";
  }
  if (fails)
    text +=
        "2025-03-01 12:30:00 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
        "total capacity of 39.39 GiB of which 1.12 GiB is free.\n";
  return text;
}

std::vector<LogSource> job_of(int ranks) {
  std::vector<LogSource> logs;
  for (int r = 0; r < ranks; ++r)
    logs.push_back(
        {"run/rank_" + std::to_string(r) + ".log", rank_log(r, r == 5 ? 20 : 40, r == 11 ? 0.2 : 0, r == 11)});
  return logs;
}

}  // namespace

TEST_CASE("numbers in names are ordered by value", "[many_files]") {
  std::vector<std::string> names = {"rank10.log", "rank2.log", "b",   "a/z",   "rank1.log", "a-b/c", "rank02.log",
                                    "x9y1",       "x9y",       "x10", "rank2", "",          "a"};
  std::sort(names.begin(), names.end(), natural_less);
  CHECK(names == std::vector<std::string>{"", "a", "a/z", "a-b/c", "b", "rank1.log", "rank2", "rank02.log", "rank2.log",
                                          "rank10.log", "x9y", "x9y1", "x10"});
  for (const auto& a : names)
    for (const auto& b : names) CHECK((natural_less(a, b) ? 1 : 0) + (natural_less(b, a) ? 1 : 0) == (a == b ? 0 : 1));
}

TEST_CASE("a path gives the rank if it has only one possible meaning", "[many_files]") {
  const std::vector<std::pair<std::string, int>> known = {
      {"rank_3.log", 3},
      {"log_rank3.txt", 3},
      {"logs/rank-0007/stdout", 7},
      {"/scratch/1/rank.12/stderr", 12},
      {"node2_rank17.err", 17},
      {"RANK=5.out", 5},
      {"global_rank4_local_rank0.log", 4},
      {"rank3of8.log", 3},
      {"rank3_20250301.log", 3},
      {"log-rank-3", 3},
      {"rank_2/attempt_0/1/stderr.log", 2},
      {"/tmp/none_x1/attempt_0/3/stderr.log", 3},
      {"attempt_12/0/stdout.log", 0},
      {"worker-7.log", 7},
      {"job-worker-12/train.log", 12},
  };
  for (const auto& [path, rank] : known) {
    CAPTURE(path);
    CHECK(rank_in_path(path) == rank);
  }
  for (const std::string path : {"slurm-123_4.out",
                                 "slurm-4711.out",
                                 "train3.log",
                                 "node7.log",
                                 "node_rank_2.log",
                                 "noderank2.log",
                                 "local_rank1.log",
                                 "gpu3.log",
                                 "rank.log",
                                 "ranks_8.log",
                                 "rank_0-7.log",
                                 "rank1_rank2.log",
                                 "rank20250301.log",
                                 "frank3.log",
                                 "3/stderr.log",
                                 "attempt_0/x/stderr.log",
                                 "rank__x3.log",
                                 "workers8.log",
                                 "",
                                 "/",
                                 "rank"}) {
    CAPTURE(path);
    CHECK_FALSE(rank_in_path(path));
  }
}

TEST_CASE("every number is processed once and delivered in order", "[many_files]") {
  for (const std::size_t jobs : {1U, 2U, 7U, 64U}) {
    std::vector<std::size_t> taken;
    std::vector<int> worked(100);
    std::atomic<std::size_t> ahead = 0;
    for_each_in_order(
        100, jobs,
        [&](std::size_t i) {
          if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          ++worked[i], ++ahead;
        },
        [&](std::size_t i) {
          CHECK(worked[i] == 1);
          taken.push_back(i), --ahead;
        });
    REQUIRE(taken.size() == 100);
    CHECK(std::is_sorted(taken.begin(), taken.end()));
    CHECK(ahead == 0);
  }
  for_each_in_order(
      0, 4, [](std::size_t) { FAIL(); }, [](std::size_t) { FAIL(); });
}

TEST_CASE("of the failures of several threads, the first one is thrown", "[many_files]") {
  for (const std::size_t jobs : {1U, 3U, 8U}) {
    std::vector<std::size_t> taken;
    const auto work = [](std::size_t i) {
      if (i >= 20 && i % 2 == 0) throw std::runtime_error(std::to_string(i));
    };
    CHECK_THROWS_WITH(for_each_in_order(100, jobs, work, [&](std::size_t i) { taken.push_back(i); }), "20");
    CHECK(taken.size() == 20);
  }
  CHECK_THROWS_WITH(for_each_in_order(
                        50, 4, [](std::size_t) {},
                        [](std::size_t i) {
                          if (i == 3) throw std::runtime_error("taken");
                        }),
                    "taken");
}

TEST_CASE("of very many series, the fullest, the growing and the failed rank's are followed", "[many_files]") {
  std::vector<Series> all;
  for (int i = 0; i < 1000; ++i) {
    const double first = i == 700 ? 30 : 20 + 0.001 * (i % 7);
    Series s = testing::ramp(Metric::allocated, first * testing::gib, i == 800 ? testing::gib / 10 : 0, 20);
    s.origin.rank = i;
    s.first_evidence.span.source = s.last_evidence.span.source = i;
    s.first_evidence.excerpt = "a line";
    all.push_back(s);
  }
  std::vector<Series> failed_rank = all;
  limit_series(failed_rank, {std::nullopt, 950});
  CHECK(failed_rank[950].followed());
  CHECK_FALSE(failed_rank[900].followed());
  limit_series(all, {900, std::nullopt});
  CHECK(std::count_if(all.begin(), all.end(), [](const Series& s) { return s.followed(); }) ==
        static_cast<std::ptrdiff_t>(ScanLimits::retained_series));
  for (const std::size_t i : {0U, 700U, 800U, 900U}) CHECK(all[i].followed());
  const Series& other = all[999];
  CHECK_FALSE(other.followed());
  CHECK(other.n == 20);
  CHECK(other.max_value > 20 * testing::gib - 1);
  CHECK(other.first_evidence.excerpt.empty());
}

TEST_CASE("values that are not kept do not thin the others", "[many_files]") {
  constexpr int share = static_cast<int>(ScanLimits::buckets / ScanLimits::retained_series);
  std::vector<Series> all;
  for (std::size_t i = 0; i < 2 * ScanLimits::retained_series; ++i)  // the first half is kept: all are alike
    all.push_back(testing::ramp(Metric::allocated, testing::gib, 0, i % 2 == 0 ? share * 5 / 4 : share / 2));
  limit_series(all);
  CHECK(all[0].buckets().size() == share * 5 / 4);
  CHECK(all[1].buckets().size() == share / 2);
  CHECK_FALSE(all.back().followed());
}

TEST_CASE("long series are thinned if there are many, and untouched if there are few", "[many_files]") {
  std::vector<Series> series(17, testing::ramp(Metric::allocated, testing::gib, 1024, 4096));
  limit_series(series);
  CHECK(series.back().buckets().size() == 4096);
  std::vector<Series> many(64, testing::ramp(Metric::allocated, testing::gib, 1024, 4096));
  limit_series(many);
  std::size_t buckets = 0;
  for (const Series& s : many) buckets += s.buckets().size();
  CHECK(buckets <= ScanLimits::buckets);
  CHECK(many.back().n == 4096);
  i64 values = 0;
  for (const Bucket& b : many.back().buckets()) values += b.n;
  CHECK(values == 4096);
}

TEST_CASE("ranks in separate files are reported side by side", "[many_files]") {
  const Report r = diagnose(job_of(16));
  REQUIRE(r.ranks.size() == 16);
  CHECK(r.ranks[11].failed);
  CHECK(r.ranks[11].leak);
  CHECK_FALSE(r.ranks[10].failed);
  CHECK(r.ranks[7].max_value > r.ranks[8].max_value);
  CHECK(r.ranks[5].last_step == 19);
  REQUIRE(r.incidents.size() == 1);
  CHECK(r.incidents[0].rank == 11);
  const auto mentions = [&](std::string_view text) {
    return std::any_of(r.notes.begin(), r.notes.end(),
                       [&](const ReportNote& n) { return n.text.find(text) != n.text.npos; });
  };
  CHECK(mentions("rank 5 (step 19) stopped before the others, which reached step 39"));
  CHECK(mentions("only rank 11 of 16 grows"));
}

TEST_CASE("ranks beyond the limit keep their figures only", "[many_files]") {
  constexpr int ranks = 300;
  const Report r = diagnose(job_of(ranks));
  CHECK(r.series.size() == ScanLimits::retained_series);
  CHECK(r.more_series == ranks - static_cast<i64>(ScanLimits::retained_series));
  REQUIRE(r.ranks.size() == ranks);
  for (const ReportRank& rank : r.ranks) {
    CHECK(rank.max_value.has_value());
    CHECK(rank.last_step == (rank.rank == 5 ? 19 : 39));
  }
  const auto followed = [&](int rank) {
    return std::any_of(r.series.begin(), r.series.end(), [&](const ReportSeries& s) { return s.rank == rank; });
  };
  CHECK(followed(11));  // this rank failed
  CHECK(followed(7));   // this rank is the fullest
}

TEST_CASE("the phase of the failure comes from the failed rank only", "[many_files]") {
  const std::string failure =
      "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n    loss = model.forward(x)\n  File "
      "\"/usr/lib/python3/site-packages/torch/nn/modules/module.py\", line 1, in _call_impl\n    return "
      "forward_call()\n";
  std::vector<LogSource> logs;
  for (int rank = 0; rank < 80; ++rank) {
    const std::string text = "Saving model checkpoint to /out\nbatch_size: 8\nlr: 0.1\nstep 1 loss 2.1\n";
    logs.push_back({"rank_" + std::to_string(rank) + ".log",
                    text + (rank == 70 ? failure + rank_log(0, 0, 0, true).substr(20) : std::string())});
  }
  const Report all = diagnose(logs), one = diagnose({logs[70]});
  REQUIRE(all.incidents.size() == 1);
  REQUIRE(one.incidents.size() == 1);
  CHECK(all.incidents[0].rank == 70);
  CHECK(all.incidents[0].phase == one.incidents[0].phase);
  CHECK(all.incidents[0].phase == "first_step");
}

TEST_CASE("rank tags on the lines override the rank of the file name", "[many_files]") {
  const std::string text = "[rank4]: " + rank_log(4, 1, 0, true).substr(rank_log(4, 1, 0, false).size());
  const Report r = diagnose({{"rank_3.log", rank_log(3, 10, 0, false) + text}});
  REQUIRE(r.incidents.size() == 1);
  CHECK(r.incidents[0].rank == 4);
  REQUIRE(r.series.size() == 1);
  CHECK_FALSE(r.series[0].rank);
}

TEST_CASE("the report is the same for every number of threads", "[many_files]") {
  Options options;
  options.jobs = 1;
  std::mutex mutex;
  std::size_t reported = 0;
  options.progress = [&](const Progress& p) {
    const std::lock_guard lock(mutex);
    CHECK(p.done == ++reported);
    CHECK(p.all == 40);
  };
  const std::string one = json_text(diagnose(job_of(40), options));
  CHECK(reported == 40);
  for (const std::size_t jobs : {2U, 5U, 64U}) {
    options.jobs = jobs, reported = 0;
    CHECK(json_text(diagnose(job_of(40), options)) == one);
  }
}

}  // namespace oomdoctor
