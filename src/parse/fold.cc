#include "parse/fold.h"

#include <algorithm>

namespace oomdoctor {
namespace {

constexpr std::size_t sniffed_lines = 6;

bool ends_line(char c) { return c == '\n' || c == '\r'; }

std::string_view parser_of(const Table& table) { return table.name.substr(0, table.name.find('/')); }

void tell_gauge(const GaugeForm& form, std::span<const GaugeValue> values, Sink& sink) {
  using Kind = GaugeNumber::Kind;
  std::optional<double> step, epoch, total;
  Where where;
  double first_epoch = 1;
  for (const GaugeValue& v : values) {
    const Kind kind = form.numbers()[v.number].kind;
    if (kind == Kind::step) step = v.value;
    if (kind == Kind::epoch || kind == Kind::epoch0) epoch = v.value, first_epoch = kind == Kind::epoch ? 1 : 0;
    if (kind == Kind::total) total = v.value;
    if (kind == Kind::rank) where.rank = index_number(v.value);
    if (kind == Kind::device) where.device = index_number(v.value);
  }
  if (step && epoch && total) *step += std::max(0.0, *epoch - first_epoch) * *total;
  if (where.rank || where.device) sink.at(where);
  if (step || epoch) sink.step({step ? std::optional(whole_number(*step)) : std::nullopt, {}, epoch});
  const double unit = form.gauge().unit;
  for (const GaugeValue& v : values) {
    const GaugeNumber& number = form.numbers()[v.number];
    if (number.kind != Kind::memory || v.value < 0) continue;
    Reading reading = number.reading;
    reading.value = v.value * unit;
    reading.quantum = unit;
    for (int i = 0; i < v.decimals; ++i) reading.quantum /= 10;
    reading.quantum = std::max(1.0, reading.quantum);
    sink.reading(reading, step);
  }
}

}  // namespace

void Fold::add(Block& block) {
  const Window& window = *block.window;
  std::vector<Found>& found = block.found.all;
  if (block.number == 0) sniff(window);
  const auto move = [this](Mention& mention) {  // lines were counted from the beginning of the block
    mention.line.number += lines_;
    mention.line.last += lines_;
    mention.first_line += lines_;
    mention.last_line += lines_;
  };
  for (Found& f : found) move(f);
  for (StepRun& run : block.found.runs) move(run.last), move(run.advanced);
  declared_.begin_block(block.found);
  rows_.clear();
  if (table_ != nullptr || std::any_of(found.begin(), found.end(), [](const Found& f) { return f.header != nullptr; }))
    tell_rows(block);
  else
    for (const Found& f : found) tell(window, f, block.found);
  builder_.end_block();
  lines_ += block.line_ends;
  ended_ = ends_line(window.buffer()[block.end - 1]);
}

i64 Fold::finish() {
  builder_.finish();
  return lines_ + (ended_ ? 0 : 1);
}

/// The first lines of an input may be rows without a header.
void Fold::sniff(const Window& window) {
  std::vector<std::string> head;
  for (std::optional<Line> line = window.line_around(0, 1); line && head.size() < sniffed_lines;
       line = window.next(*line))
    head.emplace_back(line->text);
  Layout layout;
  if (const Table* table = readers_.sniff(head, layout)) open_table(*table, std::move(layout));
}

void Fold::open_table(const Table& table, Layout layout) {
  table_ = &table;
  if (!layout.kind.empty()) case_.inputs.front().kind = layout.kind;
  // A header may come again before every row.
  const bool told =
      std::any_of(case_.notes.begin(), case_.notes.end(), [&](const Note& n) { return n.text == layout.note; });
  if (!layout.note.empty() && !told) case_.notes.push_back({Severity::note, layout.note, {}});
  layout_ = std::move(layout);
}

/// Line by line: each may be a row of the open table, and then is nothing else.
void Fold::tell_rows(const Block& block) {
  const Window& window = *block.window;
  const std::vector<Found>& found = block.found.all;
  std::size_t next = 0;
  i64 number = lines_ + 1;
  for (std::size_t at = block.begin; at < block.end;) {
    const auto bounds = window.bounds_around(at, table_ != nullptr ? Window::max_row : Window::max_line);
    const Line line = window.unpeeled(bounds, at, number);
    bool header = false;
    const std::size_t from = next;
    const std::size_t stop = std::min(window.end_of_line(line.end), block.end);
    for (; next < found.size() && found[next].line.begin < stop; ++next) header |= found[next].header != nullptr;
    const bool row = table_ != nullptr && !header && tell_row(window, line);
    for (std::size_t i = from; i < next; ++i)
      if (!row || found[i].header != nullptr) tell(window, found[i], block.found);
    at = stop;
    number = line.last;
    if (at == block.end || !ends_line(window.buffer()[at])) continue;  // a long line goes on
    const bool pair = window.buffer()[at] == '\r' && at + 1 < block.end && window.buffer()[at + 1] == '\n';
    at += pair ? std::size_t{2} : std::size_t{1};
    ++number;
  }
  for (; next < found.size(); ++next) tell(window, found[next], block.found);
}

bool Fold::tell_row(const Window& window, const Line& line) {
  const Cursor cursor(window, line);
  rows_.push_back({line, table_->name, line.number, line.last, {}});
  builder_.begin_emit(cursor, rows_.back());
  if (!table_->row(line.text, layout_, builder_)) return false;
  claim(parser_of(*table_), line.number, line.last);
  return true;
}

void Fold::tell(const Window& window, const Found& f, const Findings& findings) {
  if (f.header != nullptr) {
    open_table(*f.header, *f.layout);
    claim(parser_of(*f.header), f.first_line, f.last_line);
    return;
  }
  if (told_before(f)) return;
  const Cursor cursor(window, f.line);
  builder_.begin_emit(cursor, f);
  Sink& sink = f.by->parser->declared ? builder_ : declared_.beside(f.first_line, builder_);
  if (f.by->form) {
    tell_gauge(*f.by->form, findings.values_of(f), sink);
  } else {
    const Captures captures = captures_of(f);
    const Printed* printed = f.printed != nullptr ? &findings.printed_of(f) : nullptr;
    f.by->pattern->emit(Match{f.text, captures, cursor, printed}, sink);
  }
  if (f.steps != nullptr) {
    builder_.go_on(*f.steps);
    claim(f.by->parser->name, f.first_line, f.last_line);
    *count_ += f.steps->lines - 1;
    case_.coverage.claimed += f.steps->lines - 1;
    claimed_ = std::max(claimed_, f.steps->last.last_line);
    return;
  }
  if (!f.again) claim(f.by->parser->name, f.first_line, std::max(f.last_line, builder_.lines_claimed_through()));
}

/// A message over the end of a block is found from either side when an anchor lies on both.
bool Fold::told_before(const Found& f) {
  if (!f.by->message) return false;
  constexpr i64 farthest = 64;  ///< lines between two anchors of one message
  while (!told_.empty() && std::get<0>(*told_.begin()) < f.first_line - farthest) told_.erase(told_.begin());
  return !told_.insert({f.first_line, f.by->order, hash_of_message(f)}).second;
}

void Fold::claim(std::string_view parser, i64 first, i64 last) {
  if (count_ == nullptr || parser != counted_) {  // mostly it is the same as before
    counted_ = parser;
    const auto found = case_.coverage.by_parser.find(parser);
    count_ = found != case_.coverage.by_parser.end() ? &found->second : &case_.coverage.by_parser[std::string(parser)];
  }
  ++*count_;
  first = std::max(first, claimed_ + 1);
  if (last >= first) case_.coverage.claimed += last - first + 1, claimed_ = last;
}

}  // namespace oomdoctor
