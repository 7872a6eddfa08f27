// Every known shape of memory, one test each: which of them is a leak.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "courses.h"
#include "facts/analysis.h"

using namespace oomdoctor;
using namespace oomdoctor::curves;

namespace {

Curve stays_at(double level) {
  return [=](int, double) { return level; };
}

/// A value that is the need of the largest sample so far.
Curve longest_so_far(unsigned seed, double spread) {
  auto source = std::make_shared<Noise>(seed);
  auto highest = std::make_shared<double>(0);
  return [=](int i, double) {
    if (i == 0) *highest = 0;
    return *highest = std::max(*highest, 8 + std::exp(spread * source->normal()));
  };
}

Evidence at_line(i64 line) { return {{0, line, line, 0, 0}, "test", ""}; }

Series read_from(Series series, i64 line) {
  series.first_evidence = at_line(line);
  series.last_evidence = at_line(line + series.n - 1);
  return series;
}

Series grown(Metric metric, double from, double by, int n = 60) {
  return read_from(series_at(every(static_cast<std::size_t>(n), 1),
                             values_of(
                                 n, [=](int, double t) { return from + by * t; }, 0.01),
                             0.01 * GB, metric),
                   1);
}

/// A run that failed after these series.
Analysis trends_before_failure(std::vector<Series> series, OomKind kind = OomKind::device) {
  ScanResult scan;
  Incident incident;
  incident.evidence = at_line(5000);
  incident.when.order = 5000;
  incident.oom.kind = kind;
  incident.oom.capacity = Bytes{40 * GiB, 0};
  scan.incidents.push_back(incident);
  scan.series = std::move(series);
  Analysis analysis;
  analysis.primary = 0;
  trend_facts(scan, {}, analysis);
  return analysis;
}

bool is_false(const Facts& facts, std::string_view name) { return facts.find(name) != nullptr && !facts.is_true(name); }

}  // namespace

// ---- Shapes of one series ----

TEST_CASE("shape: flat until the failure", "[shapes]") {
  holds({.curve = stays_at(21.5), .shapes = {Shape::flat}, .loudest = 0.02});
  holds({.curve = stays_at(21.5), .shapes = {Shape::flat}, .capacity = {}, .loudest = 0.02});
  holds({.curve = stays_at(0), .shapes = {Shape::flat}, .loudest = 0});
}

TEST_CASE("shape: a warm-up and then a plateau", "[shapes]") {
  const std::vector<Shape> early{Shape::warmup, Shape::saturating, Shape::step};
  holds(
      {.curve = [](int i, double) { return 9 + 1.7 * std::min(i, 3); }, .lengths = {12, 25, 60, 240}, .shapes = early});
  holds({.curve = [](int, double t) { return 9 + 5 * (1 - std::exp(-t / 0.05)); }, .shapes = early});
  holds({.curve = [](int, double t) { return 9 + 4 * std::min(t, 0.1) / 0.1; },
         .lengths = {25, 60, 240, 2000},
         .shapes = early});
}

TEST_CASE("shape: the same growth in every step", "[shapes]") {
  leaks({.curve = [](int, double t) { return 12 + 6 * t; }, .shapes = {Shape::linear}});
  leaks({.curve = [](int, double t) { return 12 + 6 * t; }, .shapes = {Shape::linear}, .capacity = {}});
  leaks({.curve = [](int i, double) { return 3 + 0.31 * i; },
         .lengths = {6, 8, 12, 25, 60},
         .shapes = {Shape::linear},
         .metric = Metric::host_rss,
         .capacity = {}});
}

TEST_CASE("shape: growth that accelerates", "[shapes]") {
  leaks({.curve = [](int, double t) { return 12 + t + 6 * t * t; }, .shapes = {Shape::accelerating}});
  leaks({.curve = [](int, double t) { return 12 + 8 * t * t; }, .shapes = {Shape::accelerating}});
}

TEST_CASE("shape: growth that doubles", "[shapes]") {
  leaks({.curve = [](int, double t) { return 12 + 0.2 * std::exp2(5 * t); }, .shapes = {Shape::accelerating}});
  leaks({.curve = [](int i, double) { return 2 * std::pow(1.1, i); },
         .lengths = {12, 25},
         .shapes = {Shape::accelerating}});
}

TEST_CASE("shape: growth that slows down and has a bound", "[shapes]") {
  const std::vector<Shape> bounded{Shape::saturating, Shape::warmup};
  holds({.curve = [](int, double t) { return 10 + 4 * (1 - std::exp(-t / 0.2)); }, .shapes = bounded});
  holds({.curve = [](int, double t) { return 10 + 1.2 * std::log1p(60 * t); }, .shapes = bounded});
  // Each of 40 shapes needs memory once: the share of the shapes seen so far.
  holds({.curve = [](int, double t) { return 10 + 4 * (1 - std::pow(1 - 1 / 40.0, 300 * t)); }, .shapes = bounded});
}

TEST_CASE("shape: one step, two steps", "[shapes]") {
  holds({.curve = [](int, double t) { return t > 0.45 ? 14.0 : 10.0; }, .shapes = {Shape::step}});
  holds({.curve = [](int, double t) { return 10 + 2.0 * (t > 0.3) + 1.5 * (t > 0.7); },
         .lengths = {25, 60, 240, 2000},
         .shapes = {Shape::step}});
  holds({.curve = [](int, double t) { return 14 - 3.0 * (t > 0.3) + 3.0 * (t > 0.6); },
         .lengths = {25, 60, 240, 2000},
         .shapes = {Shape::step, Shape::flat}});  // flat, except for a stage in between
}

TEST_CASE("shape: a sawtooth", "[shapes]") {
  holds({.curve = [](int i, double) { return 10 + (i % 12) / 4.0; },
         .lengths = {30, 60, 240},
         .shapes = {Shape::sawtooth}});
  holds({.curve = [](int, double t) { return 10 + 3 * std::fmod(6 * t, 1.0); },
         .lengths = {40, 60, 240, 2000},
         .shapes = {Shape::sawtooth}});
}

// A long series is read in blocks, here of whole periods: the block means are level.
TEST_CASE("shape: short teeth in a long log", "[shapes]") {
  holds({.curve = [](int i, double) { return 10 + (i % 12) / 4.0; },
         .lengths = {1200, 2000},
         .shapes = {Shape::sawtooth}});
  holds({.curve = [](int i, double) { return 40 + 0.5 * (i % 10); },
         .lengths = {1200, 2000},
         .shapes = {Shape::sawtooth},
         .capacity = 96 * GB});
}

TEST_CASE("shape: a sawtooth on a rising floor", "[shapes]") {
  leaks({.curve = [](int i, double t) { return 10 + 5 * t + (i % 12) / 6.0; },
         .lengths = {60, 240, 2000},
         .shapes = {Shape::linear}});
  leaks({.curve = [](int, double t) { return 10 + 5 * t + 2 * std::fmod(8 * t, 1.0); },
         .lengths = {60, 240, 2000},
         .shapes = {Shape::linear}});
}

TEST_CASE("shape: allocated is constant, reserved rises", "[shapes]") {
  const Facts facts = trends_before_failure({grown(Metric::allocated, 12, 0), grown(Metric::reserved, 13, 9)}).facts;
  CHECK(facts.is_true("trend.gap_grows"));
  CHECK(is_false(facts, "trend.leak"));
}

TEST_CASE("shape: single outliers", "[shapes]") {
  for (const int at : {3, 7, 14})
    holds({.curve = [=](int i, double) { return i == at ? 17.0 : 10.0; },
           .lengths = {20, 25, 60, 240},
           .shapes = {Shape::spike},
           .shown_from = 20});
  leaks({.curve = [](int i, double t) { return 10 + 5 * t + (i % 17 == 9 ? 6 : 0); },
         .lengths = {25, 60, 240, 2000},
         .shapes = {Shape::linear}});
}

// A single outlier at the end would bend an exponential, or a line with a knot.
TEST_CASE("shape: the last value is an outlier", "[shapes]") {
  for (const int n : {12, 25, 60, 240})
    for (const double height : {1.0, 3.0, 7.0})
      holds({.curve = [=](int i, double) { return i == n - 1 ? 10 + height : 10.0; }, .lengths = {n}});
}

// ---- Shapes from real jobs ----

TEST_CASE("shape: growth inside an evaluation that releases everything", "[shapes]") {
  holds({.curve = [](int, double t) { return 10 + (t > 0.5 && t < 0.65 ? 20 * (t - 0.5) : 0); },
         .lengths = {25, 60, 240, 2000}});
  holds({.curve = [](int i, double) { return 10 + (i % 20 >= 15 ? 0.6 * (i % 20 - 14) : 0); },
         .lengths = {45, 65, 250, 2010}});
}

TEST_CASE("shape: a log that ends inside one of many evaluations", "[shapes]") {
  holds({.curve = [](int i, double) { return 10 + (i % 20 >= 15 ? 0.6 * (i % 20 - 14) : 0); },
         .lengths = {60, 80, 240, 2000}});
}

TEST_CASE("shape: the longest sample so far, in a maximum", "[shapes]") {
  for (unsigned seed = 1; seed <= 6; ++seed)
    for (const Metric metric : {Metric::max_allocated, Metric::memory})
      holds({.curve = longest_so_far(seed, 0.5),
             .lengths = {20, 60, 240},
             .metric = metric,
             .kind = metric == Metric::memory ? SeriesKind::gauge : SeriesKind::running_maximum,
             .loudest = 0});
}

TEST_CASE("shape: one step after the first step or the first epoch", "[shapes]") {
  const std::vector<Shape> early{Shape::warmup, Shape::step};
  holds({.curve = [](int i, double) { return i == 0 ? 5.0 : 10.0; }, .shapes = early, .loudest = 0.02});
  holds({.curve = [](int i, double) { return i < 2 ? 5.0 : 10.0; }, .shapes = early, .loudest = 0.02});
  holds({.curve = [](int, double t) { return t < 0.1 ? 8.0 : 10.0; }, .lengths = {25, 60, 240, 2000}, .shapes = early});
}

TEST_CASE("shape: a first value of zero, then a constant", "[shapes]") {
  const std::vector<Shape> early{Shape::warmup, Shape::step};
  for (const SeriesKind kind : {SeriesKind::gauge, SeriesKind::sampled_gauge, SeriesKind::running_maximum})
    for (const Metric metric : {Metric::used, Metric::allocated})
      for (const double level : {0.631, 17.3})
        for (const std::optional<double> capacity : {std::optional<double>(), std::optional<double>(24 * GB)})
          for (const int n : {8, 12, 60, 240}) {
            const std::vector<double> values = values_of(n, [=](int i, double) { return i == 0 ? 0 : level; });
            const Trend trend =
                analyse_growth(series_at(every(values.size()), values, 0.001 * GB, metric, kind), {capacity, {}});
            INFO("n = " << n << ", level " << level << ": " << to_string(trend.shape) << ", " << trend.why);
            CHECK_FALSE(trend.leak);
            CHECK((trend.shape == Shape::warmup || trend.shape == Shape::step));
          }
}

// The noise floor of a coarse print step makes a ramp and a saturation equal. A saturation of one step is also a
// warm-up.
TEST_CASE("shape: a coarsely printed jump from zero, and a noisy first step", "[shapes]") {
  const std::vector<Shape> early{Shape::warmup, Shape::step};
  for (const double level : {0.6, 2.0})
    holds(
        {.curve = [=](int i, double) { return i == 0 ? 0.0 : level; }, .shapes = early, .shown_from = 8, .loudest = 0});
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const Trend trend = trend_of(
        25, [](int i, double) { return i < 2 ? 5.0 : 10.0; }, 0.03, seed);
    INFO(to_string(trend.shape) << ", " << trend.model << ", " << trend.why);
    CHECK((trend.shape == Shape::warmup || trend.shape == Shape::step));
  }
}

TEST_CASE("shape: a staircase that converges", "[shapes]") {
  const std::vector<Shape> bounded{Shape::saturating, Shape::step, Shape::warmup};
  // Arenas: each increment is half the previous one.
  holds({.curve = [](int, double t) { return 6 + 4 * (1 - std::exp2(-std::floor(7.99 * t))); },
         .lengths = {25, 60, 240, 2000},
         .shapes = bounded});
  // Equal steps at growing distances.
  holds({.curve = [](int, double t) { return 6 + 0.8 * std::floor(std::log2(1 + 31 * t) + 0.01); },
         .lengths = {40, 60, 240, 2000},
         .shapes = bounded});
}

TEST_CASE("shape: steep rises and regular falls", "[shapes]") {
  holds({.curve = [](int i, double) { return 40 + 0.5 * (i % 10); },
         .lengths = {25, 30, 60, 240},
         .shapes = {Shape::sawtooth},
         .capacity = 96 * GB});
  holds({.curve = [](int i, double) { return 40 + 5.0 * (i % 3); },
         .lengths = {25, 60, 240},
         .shapes = {Shape::sawtooth, Shape::noisy},
         .capacity = 96 * GB});
}

TEST_CASE("shape: a fall from the first to the second value", "[shapes]") {
  const std::vector<Shape> calm{Shape::flat, Shape::step, Shape::warmup};
  holds({.curve = [](int i, double) { return i == 0 ? 14.0 : 10.0; }, .shapes = calm, .loudest = 0.02});
  holds({.curve = [](int i, double) { return i == 0 ? 14.0 : 10.0; },
         .shapes = calm,
         .metric = Metric::memory,
         .kind = SeriesKind::reset_maximum,
         .loudest = 0.02});
}

TEST_CASE("shape: a leak that levels off", "[shapes]") {
  for (const double end : {0.3, 0.5, 0.65})
    holds({.curve = [=](int, double t) { return 8 + 6 * std::min(t, end) / end; },
           .lengths = {12, 25, 60, 240, 2000},
           .shapes = {Shape::saturating}});
}

TEST_CASE("levelling off requires a nearly level end", "[shapes]") {
  const auto why = [](double rate) {
    return trend_of(
               40, [=](int, double t) { return 8 + 6 * (1 - std::exp(-rate * t)); }, 0.01)
        .why;
  };
  CHECK(why(8).find("levels off") != std::string::npos);
  CHECK(why(2.5).find("ever more slowly") != std::string::npos);
}

TEST_CASE("growth of values printed at any time needs clear evidence", "[shapes]") {
  // Twelve sizes of a process that rise and fluctuate.
  std::vector<double> values;
  for (const double mb : {602, 655, 671, 690, 702, 741, 712, 773, 748, 829, 781, 838}) values.push_back(1e6 * mb);
  const auto trend = [&](SeriesKind kind) {
    return analyse_growth(series_at(every(values.size(), 1), values, 1e6, Metric::host_rss, kind));
  };
  CHECK(trend(SeriesKind::gauge).leak);
  CHECK_FALSE(trend(SeriesKind::sampled_gauge).leak);
  CHECK(trend(SeriesKind::sampled_gauge).why.find("too few values to rule out slow growth") != std::string::npos);
}

TEST_CASE("a counter that is not a maximum is not called one", "[shapes]") {
  const std::vector<double> stairs{0.1, 0.9, 0.9, 0.9, 1.8, 1.8, 1.8, 2.5, 2.5, 2.5, 3.4, 3.4};
  std::vector<double> values;
  for (const double y : stairs) values.push_back(y * GB);
  const Trend trend = analyse_growth(series_at(every(values.size(), 1), values, 0.1 * GB, Metric::reserved));
  CHECK(trend.why.find("maximum") == std::string::npos);
  CHECK(trend.why.find("levels off") == std::string::npos);
}

TEST_CASE("shape: the GPU's usage grows, the process's tensors do not", "[shapes]") {
  const Analysis analysis = trends_before_failure({grown(Metric::allocated, 12, 0), grown(Metric::used, 14, 9)});
  CHECK_FALSE(analysis.trends[0].leak);
  CHECK(analysis.trends[0].shape == Shape::flat);
  CHECK(analysis.trends[1].leak);
  CHECK(analysis.trends[1].shape == Shape::linear);
}

TEST_CASE("shape: the printed peak is constant while the machine fills", "[shapes]") {
  Series peak = grown(Metric::max_allocated, 12, 0);
  peak.kind = SeriesKind::running_maximum;
  const Analysis analysis = trends_before_failure({peak, grown(Metric::host_used, 40, 30)}, OomKind::host);
  CHECK_FALSE(analysis.trends[0].leak);
  CHECK(analysis.trends[1].leak);
  CHECK(analysis.facts.is_true("host.grows"));
}

TEST_CASE("shape: copy-on-write, RSS is constant and USS grows", "[shapes]") {
  Series rss = grown(Metric::host_rss, 20, 0), uss = grown(Metric::host_rss, 1, 15);
  rss.label = "rss";
  uss.label = "uss";
  CHECK(trends_before_failure({rss, uss}, OomKind::host).facts.is_true("host.grows"));
}

// One growing host series is enough.
TEST_CASE("shape: copy-on-write, in the other order", "[shapes]") {
  const Analysis turned =
      trends_before_failure({grown(Metric::host_rss, 1, 15), grown(Metric::host_rss, 20, 0)}, OomKind::host);
  CHECK(turned.trends[0].leak);
  CHECK_FALSE(turned.trends[1].leak);
  CHECK(turned.facts.is_true("host.grows"));
}

TEST_CASE("shape: one loss of memory, then flat", "[shapes]") {
  const std::vector<Shape> calm{Shape::flat, Shape::step, Shape::warmup};
  holds({.curve = [](int i, double) { return i < 4 ? 10.0 : 10.05; }, .shapes = calm, .loudest = 0.005});
  holds({.curve = [](int, double t) { return t < 0.4 ? 0.4 : 1.3; }, .shapes = calm, .capacity = {}, .loudest = 0.01});
}

// One print step is not a change.
TEST_CASE("shape: one print step, then flat", "[shapes]") {
  holds({.curve = [](int i, double) { return i < 4 ? 0.4 : 0.5; },
         .lengths = {12, 25, 60, 240},
         .shapes = {Shape::flat, Shape::step, Shape::warmup},
         .capacity = {},
         .loudest = 0});
}

TEST_CASE("shape: levels of jobs that come and go", "[shapes]") {
  holds({.curve =
             [](int, double t) {
               const std::vector<double> levels{0, 12, 0, 31, 8, 0, 22, 0};
               return levels[std::min<std::size_t>(7, static_cast<std::size_t>(8 * t))];
             },
         .lengths = {40, 60, 240, 2000},
         .metric = Metric::used,
         .kind = SeriesKind::sampled_gauge});
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Noise source(seed);
    std::vector<double> levels;
    for (int i = 0; i < 9; ++i) levels.push_back(i % 3 == 2 ? 0 : 2 + 30 * source.uniform());
    levels.push_back(0);
    holds({.curve = [=](int, double t) { return levels[std::min<std::size_t>(9, static_cast<std::size_t>(10 * t))]; },
           .lengths = {60},
           .metric = Metric::used,
           .kind = SeriesKind::sampled_gauge,
           .loudest = 0.01});
  }
}

TEST_CASE("shape: noise around a level", "[shapes]") {
  int alarms = 0, level = 0, trials = 0;
  for (unsigned seed = 1; seed <= 18; ++seed)
    for (const int n : {8, 12, 25, 60, 240})
      for (const bool normal : {true, false}) {
        if (n == 240 && seed > 6) continue;
        Noise source(100 * seed + static_cast<unsigned>(n));
        const Trend trend =
            trend_of(n, [&](int, double) { return 10 + (normal ? 0.8 * source.normal() : 3 * source.uniform()); });
        const bool calm = trend.shape == Shape::flat || trend.shape == Shape::noisy || trend.shape == Shape::spike;
        ++trials, alarms += trend.leak, level += calm;
      }
  INFO(alarms << " alarms and " << level << " levels of " << trials);
  CHECK(alarms <= 0.02 * trials);
  CHECK(level >= 0.9 * trials);
}
