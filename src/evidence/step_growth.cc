#include "evidence/step_growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace oomdoctor {
namespace {

/// What the search for steps and growth goes by. A leak that is missed is a gap, a loop that is called a leak a false
/// verdict: so each limit asks for more than the look-alike next to it shows.
struct GrowthLimits {
  std::size_t least_steps =
      4;  ///< whole ones: the first makes states and caches, and two differences may be equal by chance
  std::size_t least_before = 3;  ///< whole steps, to compare the last one with: one of them may be the warm-up
  std::size_t least_growths =
      3;  ///< steps in which a line grew: the layers of one pass, or two buffers, grow once or twice
  double same_gap =
      0.1;  ///< two gaps between requests are alike if they differ by no more; inputs of one length vary less
  double regular_gaps =
      0.6;  ///< of the gaps of a request that marks steps: alike. Evaluations and saves lie between the others
  double least_coverage = 0.3;    ///< of the trace by such gaps: a loop of the set-up is shorter
  double continued = 0.5;         ///< growth of the second half by that of the first: less is a sign of an end
  double turned_over = 0.25;      ///< bytes freed by bytes kept: more is a buffer
  double kept_of_drawdown = 0.7;  ///< a step frees far more than it keeps; a layer of one pass does not
  std::size_t longest_pause = 3;  ///< gaps between two growths by the usual one: a leak of each second or third batch
  double longest_tail = 3;        ///< after the last beginning, by the usual gap: else the steps had ended before
  double early = 0.35;            ///< the growth of lines whose frees are unknown begins in this part of the trace
};
constexpr GrowthLimits growth_rule;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<u32> annotated_begins(const DeviceSnapshot& device, const MemoryMoment& moment) {
  constexpr std::string_view step = "Optimizer.step";
  std::map<std::string, std::vector<i64>> ends;
  for (const TraceAnnotation& note : device.annotations)
    if (!note.start && note.name.starts_with(step)) ends[note.name].push_back(note.time_us);
  const auto most = std::max_element(ends.begin(), ends.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<u32> begins;
  if (most == ends.end()) return begins;
  std::sort(most->second.begin(), most->second.end());
  if (moment.history == TraceHistory::full) begins.push_back(0);
  u32 event = 0;
  for (const i64 end : most->second) {
    while (event < moment.events && device.events[event].time_us <= end) ++event;
    if (event >= moment.events) break;
    if (event > 0 && (begins.empty() || begins.back() != event)) begins.push_back(event);
  }
  return begins;
}

/// The identity of a request: its stack, or its size where the trace has no stacks.
u64 signature(const TraceEvent& event, bool by_stack) { return by_stack ? event.stack : event.size; }

bool has_stacks(const DeviceSnapshot& device, const MemoryMoment& moment) {
  return std::any_of(moment.lives.begin(), moment.lives.end(), [&](const BlockLife& life) {
    const StackId stack = device.events[life.alloc].stack;
    return stack != no_stack && stack != empty_stack;
  });
}

/// The request whose regular gaps cover most of the trace. Requests of one step share their number, so of each number
/// only the first counts.
std::vector<u32> marked_begins(const DeviceSnapshot& device, const MemoryMoment& moment) {
  const bool by_stack = has_stacks(device, moment);
  std::unordered_map<u64, std::vector<u32>> places;  // as numbers of lives
  for (u32 i = 0; i < moment.lives.size(); ++i) {
    const TraceEvent& event = device.events[moment.lives[i].alloc];
    if (by_stack && (event.stack == no_stack || event.stack == empty_stack)) continue;
    places[signature(event, by_stack)].push_back(i);
  }
  const std::vector<u32>* best = nullptr;
  double best_coverage = growth_rule.least_coverage * static_cast<double>(moment.lives.size());
  for (const auto& [key, at] : places) {
    if (at.size() <= growth_rule.least_steps) continue;
    std::vector<double> gaps;
    for (std::size_t i = 1; i < at.size(); ++i) gaps.push_back(at[i] - at[i - 1]);
    const double usual = median(gaps);
    double covered = 0;
    std::size_t alike = 0;
    for (const double gap : gaps)
      if (std::fabs(gap - usual) <= growth_rule.same_gap * usual + 1) covered += gap, ++alike;
    if (static_cast<double>(alike) < growth_rule.regular_gaps * static_cast<double>(gaps.size())) continue;
    if (static_cast<double>(moment.lives.size() - at.back()) > growth_rule.longest_tail * usual) continue;
    const bool earlier = best != nullptr && covered == best_coverage && at.front() < best->front();
    if (covered > best_coverage || earlier) best = &at, best_coverage = covered;
  }
  std::vector<u32> begins;
  if (best != nullptr)
    for (const u32 life : *best) begins.push_back(moment.lives[life].alloc);
  return begins;
}

/// True if a step frees far more than it keeps. The layers of one pass do not, and no loading.
bool gives_back(const DeviceSnapshot& device, const MemoryMoment& moment, const ProgramSteps& steps) {
  std::vector<double> falls(steps.whole());
  std::vector<u32> freed(moment.events, BlockLife::open);
  for (const BlockLife& life : moment.lives)
    if (life.free != BlockLife::open) freed[life.free] = life.alloc;
  double live = 0, peak = 0;
  std::size_t step = 0;
  for (u32 i = steps.begins.front(); i < steps.begins.back(); ++i) {
    while (step + 1 < steps.whole() && i >= steps.begins[step + 1]) ++step, peak = live;
    const TraceEvent& event = device.events[i];
    if (event.action == TraceAction::alloc) live += static_cast<double>(event.size);
    if (freed[i] != BlockLife::open) live -= static_cast<double>(device.events[freed[i]].size);
    peak = std::max(peak, live);
    falls[step] = std::max(falls[step], peak - live);
  }
  return live <= growth_rule.kept_of_drawdown * median(std::move(falls)) * static_cast<double>(steps.whole());
}

/// What a line gained and lost in each whole step.
struct LineSteps {
  std::vector<double> bytes, blocks;
  double given_back = 0, kept = 0;
};

class GrowthSearch {
 public:
  GrowthSearch(const DeviceSnapshot& device, const MemoryMoment& moment, const ProgramSteps& steps,
               const CodeLines& lines)
      : device_(device), moment_(moment), steps_(steps), lines_(lines) {}

  std::vector<GrowingLine> run() {
    std::vector<GrowingLine> found;
    if (steps_.whole() < growth_rule.least_steps) return found;
    fill();
    for (const auto& [frame, line] : steps_of_)
      if (const auto growing = judge(frame, line)) found.push_back(*growing);
    std::sort(found.begin(), found.end(), [](const GrowingLine& a, const GrowingLine& b) {
      return a.bytes_per_step != b.bytes_per_step ? a.bytes_per_step > b.bytes_per_step : a.frame < b.frame;
    });
    return found;
  }

 private:
  void fill() {
    knows_frees_ = has_stacks(device_, moment_);
    const std::vector<StackId> stacks = stacks_of_lives(device_, moment_);
    std::map<u32, std::size_t> survivors;
    for (std::size_t i = 0; i < stacks.size(); ++i)
      if (moment_.lives[i].free == BlockLife::open) ++survivors[lines_.user_frame(stacks[i])];
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const u32 frame = lines_.user_frame(stacks[i]);
      // A key-value cache grows until its sequence ends.
      if (frame == CodeLines::no_frame || (lines_.traits(stacks[i]) & for_key_value_cache) != 0) continue;
      const auto alive = survivors.find(frame);
      if (alive == survivors.end() || alive->second < growth_rule.least_growths) continue;
      LineSteps& line = steps_of_[frame];
      if (line.bytes.empty()) line.bytes.resize(steps_.whole()), line.blocks.resize(steps_.whole());
      const BlockLife& life = moment_.lives[i];
      const auto born = steps_.whole_step_of(life.alloc);
      const auto died = life.free == BlockLife::open ? std::nullopt : steps_.whole_step_of(life.free);
      if (born && died && *born == *died) continue;
      const double size = static_cast<double>(device_.events[life.alloc].size);
      if (born) line.bytes[*born] += size, line.blocks[*born] += 1, line.kept += size;
      if (died) line.bytes[*died] -= size, line.blocks[*died] -= 1, line.given_back += size;
    }
  }

  std::optional<GrowingLine> judge(u32 frame, const LineSteps& line) const {
    std::vector<std::size_t> growths;
    for (std::size_t k = 0; k < line.bytes.size(); ++k)
      if (line.bytes[k] > 0 && line.blocks[k] > 0) growths.push_back(k);
    if (growths.size() < growth_rule.least_growths) return std::nullopt;
    const std::size_t first = growths.front(), last = growths.back();
    std::vector<double> gaps;
    for (std::size_t i = 1; i < growths.size(); ++i) gaps.push_back(static_cast<double>(growths[i] - growths[i - 1]));
    const double longest = static_cast<double>(growth_rule.longest_pause) * median(gaps);
    if (static_cast<double>(line.bytes.size() - last) > longest) return std::nullopt;  // it has ended
    if (std::any_of(gaps.begin(), gaps.end(), [&](double gap) { return gap > longest; })) return std::nullopt;
    if (line.given_back > growth_rule.turned_over * line.kept) return std::nullopt;
    if (!knows_frees_ && static_cast<double>(first) > growth_rule.early * static_cast<double>(line.bytes.size()))
      return std::nullopt;
    const std::size_t middle = first + (last - first + 1) / 2;
    double bytes = 0, blocks = 0, earlier = 0;
    for (std::size_t k = first; k <= last; ++k) {
      bytes += line.bytes[k], blocks += line.blocks[k];
      if (k < middle) earlier += line.bytes[k];
    }
    if (bytes - earlier < growth_rule.continued * earlier) return std::nullopt;
    const double span = static_cast<double>(last - first + 1);
    return GrowingLine{frame, std::llround(bytes / span), blocks / span, first};
  }

  const DeviceSnapshot& device_;
  const MemoryMoment& moment_;
  const ProgramSteps& steps_;
  const CodeLines& lines_;
  std::map<u32, LineSteps> steps_of_;
  bool knows_frees_ = true;
};

}  // namespace

std::optional<std::size_t> ProgramSteps::whole_step_of(u32 event) const {
  const auto next = std::upper_bound(begins.begin(), begins.end(), event);
  if (next == begins.begin() || next == begins.end()) return std::nullopt;
  return static_cast<std::size_t>(next - begins.begin()) - 1;
}

ProgramSteps find_steps(const DeviceSnapshot& device, const MemoryMoment& moment) {
  const ProgramSteps annotated{annotated_begins(device, moment)};
  if (annotated.whole() >= growth_rule.least_steps) return annotated;
  ProgramSteps marked{marked_begins(device, moment)};
  return marked.whole() > annotated.whole() && gives_back(device, moment, marked) ? marked : annotated;
}

std::vector<GrowingLine> find_growing_lines(const DeviceSnapshot& device, const MemoryMoment& moment,
                                            const ProgramSteps& steps, const CodeLines& lines) {
  return GrowthSearch(device, moment, steps, lines).run();
}

std::optional<double> last_step_ratio(const DeviceSnapshot& device, const MemoryMoment& moment,
                                      const ProgramSteps& steps) {
  if (steps.whole() < growth_rule.least_before || !has_stacks(device, moment)) return std::nullopt;
  struct Requests {
    double bytes = 0, count = 0;
  };
  std::unordered_map<StackId, Requests> before;
  double requested = 0, usual = 0;
  for (const BlockLife& life : moment.lives) {
    const TraceEvent& event = device.events[life.alloc];
    if (event.stack == no_stack || event.stack == empty_stack || life.alloc < steps.begins.front()) continue;
    Requests& same = before[event.stack];
    if (life.alloc < steps.begins.back()) {
      same.bytes += static_cast<double>(event.size), same.count += 1;
    } else if (same.count > 0) {
      requested += static_cast<double>(event.size);
      usual += same.bytes / same.count;
    }
  }
  return usual > 0 ? std::optional(requested / usual) : std::nullopt;
}

}  // namespace oomdoctor
