// The estimate for people: the memory breakdown, the changes that make it fit, the verdict.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "render/chart.h"
#include "render/layout.h"
#include "render/screens.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

std::string_view moment_words(const Budget& budget) {
  switch (budget.peak) {
    case Moment::step:
      return "in the optimizer's step";
    case Moment::encode:
      return "while the inputs are encoded";
    case Moment::decode:
      return "while the VAE decodes";
    default:
      return "at the end of the forward pass";
  }
}

/// For example "79.15 GiB", "79.15 ± 6.80 GiB".
std::string size_words(const Bytes& size) {
  if (size.slack == 0) return computed_bytes_text(size.count);
  const double count = static_cast<double>(size.count), slack = static_cast<double>(size.slack);
  return estimate_text({count, count - slack, count + slack});
}

/// The rows of the memory breakdown: the terms at the peak, and the free rest of the GPU.
struct BreakdownRow {
  std::string label;
  i64 bytes;
};

std::vector<BreakdownRow> make_rows(const MemoryEstimate& estimate) {
  std::vector<BreakdownRow> rows;
  for (const Term& term : estimate.budget.terms)
    if (estimate.budget.at_peak(term)) rows.push_back({std::string(term.label), term.bytes.count});
  const i64 left = estimate.capacity.value_or(0) - estimate.budget.total.count;
  if (left > 0) rows.push_back({"free", left});
  return rows;
}

void add_account(Page& page, const MemoryEstimate& estimate) {
  const Budget& budget = estimate.budget;
  const i64 whole = std::max(estimate.capacity.value_or(0), budget.total.count);
  std::string title = fmt::format("{} {}", computed_bytes_text(budget.total.count), moment_words(budget));
  if (estimate.capacity) title += fmt::format(", on {} with {}", estimate.card, bytes_text(*estimate.capacity));
  if (!budget.pipeline_stage.empty()) title += fmt::format(", {} stage of the pipeline", budget.pipeline_stage);
  page.heading(title);

  const std::vector<BreakdownRow> rows = make_rows(estimate);
  std::vector<i64> sizes;
  std::vector<double> shares;
  int widest = 0;
  for (const BreakdownRow& row : rows) {
    sizes.push_back(row.bytes);
    shares.push_back(static_cast<double>(row.bytes) / static_cast<double>(whole));
    widest = std::max(widest, count_columns(row.label));
  }
  const SharesText text = shares_text(sizes, whole);
  constexpr int max_bar = 40, min_bar = 4, gaps_and_percents = 13;
  const int number = count_columns(text.numbers.front()) + 1 + count_columns(text.unit);
  const int room = page.width() - number - gaps_and_percents;
  widest = std::min(widest, room - min_bar);
  const auto bars = waterfall(shares, std::min(room - widest, max_bar));
  for (std::size_t i = 0; i < rows.size(); ++i)
    page.line(fmt::format("  {}  {} {}  {}  {}", pad(clip_end(rows[i].label, widest), widest), text.numbers[i],
                          text.unit, text.percents[i], bars[i]));
}

void add_formulas(Page& page, const MemoryEstimate& estimate) {
  page.heading("How it was counted");
  for (const Term& term : estimate.budget.terms) {
    std::string text = term.formula;
    const bool at_peak = estimate.budget.at_peak(term);
    if (term.bytes.slack > 0 || !at_peak) text += "; " + size_words(term.bytes);
    if (!at_peak) text += ", but at another time";
    page.text(fmt::format("  {}: ", term.label), text, 4);
  }
  if (const auto& host = estimate.budget.host)
    page.text("  on the host: ",
              fmt::format("{}; {} for all ranks", host->formula, computed_bytes_text(host->bytes.count)), 4);
}

void add_missing(Page& page, const MemoryEstimate& estimate) {
  if (estimate.budget.missing.empty()) return;
  page.heading("Not counted");
  for (const Missing& missing : estimate.budget.missing)
    page.text(fmt::format("  {}: ", missing.label), missing.needs.empty()
                                                        ? "there is no formula for this kind of model"
                                                        : fmt::format("needs --{}", fmt::join(missing.needs, ", --")));
}

void add_plan(Page& page, const MemoryEstimate& estimate) {
  if (!estimate.plan) return;
  const Plan& plan = *estimate.plan;
  page.heading(plan.fits ? "What to change to make it fit, in this order"
                         : "What can be saved, though it is not enough");
  int number = 0;
  for (const PlannedChange& change : plan.changes) {
    page.text(
        fmt::format("  {}. ", ++number),
        fmt::format("{}  saves {}, leaves {}; {}, {}", page.paint.bold(change.title), computed_bytes_text(change.saves),
                    computed_bytes_text(change.peak), cost_text(change.cost), risk_text(change.risk)));
    page.text("     ", change.setting);
  }
  if (plan.budget.host)
    page.text("  ",
              fmt::format("The host then holds {} for all ranks.", computed_bytes_text(plan.budget.host->bytes.count)));
  if (estimate.ranks)
    page.text("  ",
              fmt::format("Or, with nothing else changed: shard over {} devices (ZeRO-3 or FSDP).", *estimate.ranks));
}

/// One row of the sweep: its name, and a cell for each length.
std::string sweep_row(std::string_view name, const std::vector<std::string>& cells) {
  std::string row = fmt::format("  {:<8}", name);
  for (const std::string& cell : cells) row += fmt::format("{:>9}", cell);
  return row;
}

/// The peaks of all batches and lengths that a screen has room for. A run that does not fit is a dash.
void add_sweep(Page& page, const MemoryEstimate& estimate) {
  if (!estimate.sweep) return;
  const Sweep& sweep = *estimate.sweep;
  constexpr int name_width = 10, cell_width = 9;
  const auto room = static_cast<std::size_t>(std::max((page.width() - name_width) / cell_width, 1));
  const std::size_t shown = std::min(room, sweep.sequences.size()), first = sweep.sequences.size() - shown;
  const auto row = [&](std::string_view name, auto cell) {
    std::vector<std::string> cells;
    for (std::size_t i = first; i < sweep.sequences.size(); ++i) cells.push_back(cell(i));
    page.line(sweep_row(name, cells));
  };
  const bool has_tokens = sweep.sequences.back() > 0;  // a UNet has none
  page.heading(fmt::format("Peak in GiB by batch{}; - does not fit", has_tokens ? " and tokens of a sample" : ""));
  if (has_tokens) row("tokens", [&](std::size_t i) { return count_text(sweep.sequences[i]); });
  for (std::size_t batch = 0; batch < sweep.batches.size(); ++batch)
    row(count_text(sweep.batches[batch]), [&](std::size_t i) {
      const SweepPoint& point = sweep.points[batch * sweep.sequences.size() + i];
      return point.fits ? fmt::format("{:.1f}", to_double(point.peak) / to_double(GiB)) : std::string("-");
    });
  row("largest", [&](std::size_t i) { return count_text(sweep.largest[i]); });
}

std::string outcome_words(const Page& page, std::string_view outcome) {
  if (outcome == "fits") return page.paint.good("FITS");
  if (outcome == "probably_fits") return page.paint.good("PROBABLY FITS");
  if (outcome == "probably_not") return page.paint.error("PROBABLY DOES NOT FIT");
  if (outcome == "does_not_fit") return page.paint.error("DOES NOT FIT");
  return page.paint.warning("NOT KNOWN");
}

std::string batch_words(const MemoryEstimate& estimate) {
  if (!estimate.largest_batch) return "";
  const i64 tokens = estimate.longest_sequence.value_or(0);
  if (*estimate.largest_batch == 0)
    return tokens == 0 ? "; no micro-batch fits as it is"
                       : fmt::format("; as it is, samples of up to {} tokens fit", count_text(tokens));
  std::string text = fmt::format("; the largest micro-batch that fits is {}", count_text(*estimate.largest_batch));
  if (tokens > 0) text += fmt::format(", the longest sequence {} tokens", count_text(tokens));
  return text;
}

/// Without a capacity there is no verdict: prints the need, and the GPUs that satisfy it.
void add_need(Page& page, const MemoryEstimate& estimate) {
  const bool complete = estimate.budget.missing.empty();
  page.text("", fmt::format("{}  {} {}", page.paint.bold(complete ? "NEEDS" : "NEEDS AT LEAST"),
                            size_words(estimate.budget.total), moment_words(estimate.budget)));
  if (complete && !estimate.fitting_gpus.empty())
    page.text("  fits  ", fmt::format("{}", fmt::join(estimate.fitting_gpus, ", ")));
}

/// The last lines, as in a report: the outcome in capitals, then the numbers that decide it.
void add_verdict(Page& page, const MemoryEstimate& estimate) {
  std::string rule;
  for (int i = 0; i < page.width(); ++i) rule += "─";
  page.line(page.paint.dim(rule));
  if (!estimate.capacity) return add_need(page, estimate);
  const std::string_view incomplete = estimate.budget.missing.empty() ? "" : ", without what was not counted";
  const std::string card = bytes_text(*estimate.capacity);
  page.text(
      "", fmt::format("{}  {} of {}, keeping {} in reserve{}{}", outcome_words(page, judge_outcome(estimate)),
                      size_words(estimate.budget.total), card, computed_bytes_text(compute_margin(*estimate.capacity)),
                      incomplete, batch_words(estimate)));
  if (!estimate.plan) return;
  if (estimate.plan->fits)
    page.text("  with the changes above  ",
              fmt::format("{} of {}{}", size_words(estimate.plan->budget.total), card, incomplete));
  else
    page.text("  ", "No set of the settings that are known here makes it fit.");
}

}  // namespace

std::string estimate_screen(const MemoryEstimate& estimate, const RenderOptions& view) {
  Page page(view.width, Paint{view.color, view.ascii});
  page.text("", plain_line(estimate.model));
  page.text("", plain_line(estimate.run));
  if (!estimate.assumed.empty())
    page.text(page.paint.dim("assumed  "), fmt::format("{}", fmt::join(estimate.assumed, ", ")));
  for (const auto& note : estimate.notes) page.text("note  ", plain_line(note));
  add_account(page, estimate);
  add_formulas(page, estimate);
  add_missing(page, estimate);
  add_plan(page, estimate);
  add_sweep(page, estimate);
  add_verdict(page, estimate);
  return page.str();
}

}  // namespace oomdoctor
