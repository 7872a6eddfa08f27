#include "fold/event_dispatcher.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "read/oom_template.h"
#include "read/setting_format.h"

namespace oomdoctor {
namespace {

std::string_view parser_of(const Table& table) { return table.name.substr(0, table.name.find('/')); }

/// The beginning of the text up to the first line end.
std::string cut_first_line(std::string_view text) {
  constexpr std::size_t longest = 256;
  text = text.substr(0, longest);
  return std::string(text.substr(0, find_line_end(text)));
}

/// Emits the numbers of one gauge line. A step within an epoch becomes a step of the run if the total is printed. A
/// percentage after a memory value gives the capacity.
void emit_gauge(const CompiledLineFormat& form, std::span<const GaugeValue> values, EventSink& sink) {
  using NumberKind = GaugeNumber::NumberKind;
  std::optional<double> step, epoch, total;
  Origin where;
  double first_epoch = 1;
  for (const GaugeValue& v : values) {
    const NumberKind kind = form.numbers()[v.number].kind;
    if (kind == NumberKind::step) step = v.value;
    if (kind == NumberKind::epoch || kind == NumberKind::epoch0)
      epoch = v.value, first_epoch = kind == NumberKind::epoch ? 1 : 0;
    if (kind == NumberKind::total) total = v.value;
    if (kind == NumberKind::rank) where.rank = index_number(v.value);
    if (kind == NumberKind::device) where.device = index_number(v.value);
  }
  const double before = step && epoch && total ? std::max(0.0, *epoch - first_epoch) * *total : 0;
  if (step) *step += before;
  if (where.rank || where.device) sink.at(where);
  if (step || epoch)
    sink.step({step ? std::optional(whole_number(*step)) : std::nullopt, {}, epoch, whole_number(before)});
  const double unit = form.gauge().unit;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const GaugeValue& v = values[i];
    const GaugeNumber& number = form.numbers()[v.number];
    if (number.kind != NumberKind::memory || v.value < 0) continue;
    Reading reading = number.reading;
    reading.value = v.value * unit;
    reading.quantum = unit;
    for (int k = 0; k < v.decimals; ++k) reading.quantum /= 10;
    reading.quantum = std::max(1.0, reading.quantum);
    // "41.27GiB(52.16%)": the percentage is a share of the capacity.
    if (i + 1 < values.size() && form.numbers()[values[i + 1].number].kind == NumberKind::percent &&
        values[i + 1].value > 0)
      reading.capacity = std::round(100 * reading.value / values[i + 1].value);
    sink.reading(reading, step);
  }
}

}  // namespace

void EventDispatcher::add(const Window& window, BlockMatches& findings, std::size_t from) {
  if (!first_line_) first_line_ = cut_first_line(window.buffer());
  const auto shift = [&](LineRef& ref) {  // the map step counts lines from the start of the block
    ref.line.number += lines_;
    ref.line.last += lines_;
    ref.first_line += lines_;
    ref.last_line += lines_;
    window.add_tag(ref.line);
  };
  for (StepRun& run : findings.runs) shift(run.last), shift(run.advanced);
  declared_.begin_block(findings, lines_);
  if (rows_.size() < findings.places.size()) rows_.resize(findings.places.size());
  for (std::size_t i = from; i < findings.all.size(); ++i) {
    shift(findings.all[i]);
    emit(window, findings.all[i], findings);
  }
  builder_.end_block();
}

void EventDispatcher::end_block(const Block& block) {
  lines_ += block.line_ends;
  ended_ = block.window->buffer()[block.end - 1] == '\n';
}

i64 EventDispatcher::finish() {
  builder_.finish();
  if (not_read_again_ > 0)
    result_.notes.push_back(
        {Severity::note,
         std::to_string(not_read_again_) + " repetitions of a line were counted, but not read again",
         {}});
  if (walks_.cut_short() > 0)
    result_.notes.push_back({Severity::note,
                             "so many lines say something about memory that " + std::to_string(walks_.cut_short()) +
                                 " looks at their neighbours were cut to " + std::to_string(WalkBudget::always) +
                                 " lines",
                             {}});
  for (const auto& [name, given_up] : given_up_)
    result_.notes.push_back({Severity::warning,
                             "format " + std::string(name) + ": its regex took too many steps on " +
                                 std::to_string(given_up.lines) + (given_up.lines == 1 ? " line" : " lines") +
                                 " (first: line " + std::to_string(given_up.first) +
                                 ") and was not applied there; limit its repetitions",
                             {}});
  return lines_ + (ended_ ? 0 : 1);
}

void EventDispatcher::open_table(const std::shared_ptr<const OpenTable>& table) {
  const Layout& layout = table->layout;
  if (!layout.kind.empty()) result_.inputs.front().kind = layout.kind;
  // Some tools repeat the header before every row.
  const bool known =
      std::any_of(result_.notes.begin(), result_.notes.end(), [&](const Note& n) { return n.text == layout.note; });
  const bool unread = layout.unread || layout.columns.empty();
  if (!layout.note.empty() && !known) result_.notes.push_back({Severity::note, layout.note, {}, unread, unread});
  if (open_ && *open_ == *table) return;  // its header was printed again
  row_memory_.reset();
  open_ = table;
}

void EventDispatcher::emit_rows(const Window& window, const RowRun& run, const BlockMatches& findings) {
  std::size_t row = run.first;
  for (std::size_t i = run.places_begin; i < run.places_end; ++i) {
    const RowLocation& place = findings.places[i];
    LineRef& ref = rows_[i];
    ref.line.begin = place.begin;
    ref.line.end = place.end;
    ref.line.text = place.text;
    ref.line.prefix = {};
    window.add_tag(ref.line);
    ref.line.number = ref.first_line = place.number + lines_;
    ref.line.last = ref.last_line = place.last + lines_;
    ref.reader = run.table->name;
    walks_.reach(ref.first_line);
    const Cursor cursor(window, ref.line, &walks_, *first_line_);
    builder_.begin_emit(cursor, ref);
    run.rows->emit(row++, row_memory_, builder_);
    claim(parser_of(*run.table), ref.first_line, ref.last_line);
  }
}

void EventDispatcher::emit(const Window& window, const LineMatch& f, const BlockMatches& findings) {
  if (f.header != nullptr) {
    open_table(*f.header);
    claim(parser_of(*(*f.header)->table), f.first_line, f.last_line);
    return;
  }
  if (f.rows != nullptr) return emit_rows(window, *f.rows, findings);
  if (is_duplicate(f)) return;
  if (is_repeated(f)) {
    ++not_read_again_;
    return claim(f.by->parser->name, f.first_line, f.last_line);
  }
  if (f.given_up) {
    ++given_up_.try_emplace(f.by->name, GivenUp{0, f.first_line}).first->second.lines;
    return;
  }
  walks_.reach(f.first_line);
  const Cursor cursor(window, f.line, &walks_, *first_line_);
  builder_.begin_emit(cursor, f);
  EventSink& sink = f.by->parser->declared ? builder_ : declared_.route(f.first_line, builder_);
  if (f.by->gauge != nullptr) {
    emit_gauge(f.by->form(), findings.values_of(f), sink);
  } else if (f.by->pattern->setting != nullptr) {
    emit_setting(*f.by->pattern->setting, f.marked, sink);
  } else if (!f.by->pattern->remark.empty()) {
    sink.remark(f.by->pattern->remark);
  } else {
    const Captures captures = make_captures(f);
    const FreeformLine* printed = f.printed != nullptr ? &findings.fill_printed(f) : nullptr;
    const Match match{f.text, captures, cursor, printed};
    if (f.by->pattern->oom != nullptr)
      emit_oom(*f.by->pattern->oom, match, sink);
    else
      f.by->pattern->emit(match, sink);
  }
  if (f.steps != nullptr) {
    builder_.go_on(*f.steps);
    claim(f.by->parser->name, f.first_line, f.last_line);
    *count_ += f.steps->lines - 1;
    const i64 last = std::max(claimed_, f.steps->last.last_line);
    result_.coverage.claimed += std::min(f.steps->more, last - claimed_);  // a message may have claimed some already
    claimed_ = last;
    return;
  }
  const i64 through = builder_.lines_claimed_through();  // 0 if the parser understood nothing after all
  if (!f.again && through > 0) claim(f.by->parser->name, f.first_line, std::max(f.last_line, through));
}

/// If a message crosses the end of a block and has an anchor on both sides, both blocks find it.
bool EventDispatcher::is_duplicate(const LineMatch& f) {
  if (!f.by->message) return false;
  constexpr i64 max_distance = 64;  ///< lines between two anchors of one message
  while (!emitted_.empty() && std::get<0>(*emitted_.begin()) < f.first_line - max_distance)
    emitted_.erase(emitted_.begin());
  return !emitted_.insert({f.first_line, f.by->order, hash_message(f)}).second;
}

/// A line that repeats without any other event in between adds nothing. A log that prints a failure a million times
/// must not cause a million searches of its surroundings.
bool EventDispatcher::is_repeated(const LineMatch& f) {
  constexpr std::size_t max_repeats = 4 * ScanLimits::occurrences;  // no more of them are kept after that
  if (f.by->pattern == nullptr || f.printed != nullptr || f.steps != nullptr) {
    ++new_since_;
    return false;
  }
  Repeats& known = repeats_[f.by];
  if (known.since == new_since_ && known.text != f.text) ++new_since_;
  if (known.since != new_since_) {
    known.text = f.text;  // its memory is used again
    known.times = 0;
    known.since = new_since_;
  }
  return ++known.times > max_repeats;
}

void EventDispatcher::claim(std::string_view parser, i64 first, i64 last) {
  auto& [name, count] = counts_[reinterpret_cast<std::uintptr_t>(parser.data()) / 8 % counts_.size()];
  if (count == nullptr || name != parser) {
    name = parser;
    const auto found = result_.coverage.by_parser.find(parser);
    count =
        found != result_.coverage.by_parser.end() ? &found->second : &result_.coverage.by_parser[std::string(parser)];
  }
  count_ = count;
  ++*count_;
  first = std::max(first, claimed_ + 1);
  if (last >= first) result_.coverage.claimed += last - first + 1, claimed_ = last;
}

}  // namespace oomdoctor
