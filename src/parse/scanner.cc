#include "parse/scanner.h"

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <utility>

#include "parse/case_builder.h"
#include "parse/declared_memory.h"
#include "parse/joined_case.h"
#include "parse/readers.h"
#include "text/console_text.h"

namespace oomdoctor {
namespace {

constexpr std::size_t block_size = 1 << 20;
constexpr std::size_t margin =
    64 << 10;  ///< bytes that stay readable before and behind the block, for messages over several lines
constexpr std::size_t sniffed_lines = 6;
constexpr std::size_t told_bytes = 80;  ///< enough to tell two messages that begin on one line

bool ends_line(char c) { return c == '\n' || c == '\r'; }

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

/// Feeds one source through map and fold.
class Pass {
 public:
  Pass(CaseBuilder& builder, Case& out) : builder_(builder), case_(out) {}

  /// Tells the builder what was found in [begin, end), rows of an open table included.
  void fold(const Window& window, std::size_t begin, std::size_t end, i64 first_line, const Findings& findings) {
    const std::vector<Found>& found = findings.all;
    declared_.begin_block(findings);
    rows_.clear();
    std::size_t next = 0;
    if (table_ == nullptr &&
        std::none_of(found.begin(), found.end(), [](const Found& f) { return f.header != nullptr; })) {
      for (const Found& f : found) tell(window, f, findings);
      return builder_.end_block();
    }
    i64 number = first_line;
    for (std::size_t at = begin; at < end;) {
      const Line line = window.line_around(at, number, table_ != nullptr ? Window::max_row : Window::max_line);
      bool header = false;
      const std::size_t from = next;
      for (; next < found.size() && found[next].first_line <= number; ++next) header |= found[next].header != nullptr;
      const bool row = table_ != nullptr && !header && tell_row(window, line);
      for (std::size_t i = from; i < next; ++i)
        if (!row || found[i].header != nullptr) tell(window, found[i], findings);
      at = line.end;
      while (at < end && !ends_line(window.buffer()[at])) ++at;
      if (at < end)
        at += window.buffer()[at] == '\r' && at + 1 < end && window.buffer()[at + 1] == '\n' ? std::size_t{2}
                                                                                             : std::size_t{1};
      number = line.last + 1;
    }
    for (; next < found.size(); ++next) tell(window, found[next], findings);
    builder_.end_block();
  }

  void open_table(const Table& table, Layout layout) {
    table_ = &table;
    if (!layout.kind.empty()) case_.inputs.front().kind = layout.kind;
    // A header may come again before every row.
    const bool told =
        std::any_of(case_.notes.begin(), case_.notes.end(), [&](const Note& n) { return n.text == layout.note; });
    if (!layout.note.empty() && !told) case_.notes.push_back({Severity::note, layout.note, {}});
    layout_ = std::move(layout);
  }

 private:
  void claim(std::string_view parser, i64 first, i64 last) {
    auto count = case_.coverage.by_parser.find(parser);
    if (count == case_.coverage.by_parser.end())
      count = case_.coverage.by_parser.emplace(std::string(parser), 0).first;
    ++count->second;
    first = std::max(first, claimed_ + 1);
    if (last >= first) case_.coverage.claimed += last - first + 1, claimed_ = last;
  }

  /// A message over the end of a block is found from either side when an anchor lies on both.
  bool told_before(const Found& f) {
    if (!f.by->message) return false;
    constexpr i64 farthest = 64;  ///< lines between two anchors of one message
    while (!told_.empty() && std::get<0>(*told_.begin()) < f.first_line - farthest) told_.erase(told_.begin());
    const std::string_view text = f.text.substr(f.captures->begin, told_bytes);
    return !told_.insert({f.first_line, f.by->order, std::hash<std::string_view>{}(text)}).second;
  }

  void tell(const Window& window, const Found& f, const Findings& findings) {
    if (f.header != nullptr) {
      open_table(*f.header, *f.layout);
      claim(std::string_view(f.header->name).substr(0, f.header->name.find('/')), f.first_line, f.last_line);
      return;
    }
    if (told_before(f)) return;
    const Cursor cursor(window, f.line);
    builder_.begin_emit(cursor, f);
    Sink& sink = f.by->parser->declared ? builder_ : declared_.beside(f.first_line, builder_);
    static const Captures none;
    if (f.by->form)
      tell_gauge(*f.by->form, findings.values_of(f), sink);
    else
      f.by->pattern->emit(Match{f.text, f.captures != nullptr ? *f.captures : none, cursor, f.printed}, sink);
    if (!f.again)
      claim(f.by->parser->name, f.first_line, std::max(f.last_line, builder_.lines_claimed_through()));
  }

  bool tell_row(const Window& window, const Line& line) {
    const Cursor cursor(window, line);
    rows_.push_back({line, table_->name, line.number, line.last, {}});
    builder_.begin_emit(cursor, rows_.back());
    if (!table_->row(line.text, layout_, builder_)) return false;
    claim(std::string_view(table_->name).substr(0, table_->name.find('/')), line.number, line.last);
    return true;
  }

  CaseBuilder& builder_;
  Case& case_;
  const Table* table_ = nullptr;
  Layout layout_;
  i64 claimed_ = 0;
  DeclaredMemory declared_;
  std::set<std::tuple<i64, std::size_t, std::size_t>> told_;  ///< messages: line, reader, text
  std::deque<Mention> rows_;                                   ///< of this block
};

}  // namespace

struct Scanner::Impl {
  ReaderTable readers;
};

Scanner::Scanner(std::span<const Parser* const> parsers) : impl_(std::make_unique<Impl>(Impl{ReaderTable(parsers)})) {}
Scanner::~Scanner() = default;

Case Scanner::scan(Source& source) const {
  Case out;
  out.inputs.emplace_back().path = source.name();
  CaseBuilder builder(out);
  Pass pass(builder, out);
  ConsoleText text(source);
  LineMemo memo;
  std::size_t begin = 0;
  i64 lines = 0;
  bool more = true, first = true;
  char last = '\n';
  while (true) {
    while (more && text.bytes().size() - begin < block_size + margin) more = text.read(block_size);
    const std::string_view buffer = text.bytes();
    if (begin >= buffer.size()) break;
    const Window window(buffer, text.folds());
    if (first) {
      std::vector<std::string> head;
      for (std::optional<Line> l = window.line_around(0, 1); l && head.size() < sniffed_lines; l = window.next(*l))
        head.emplace_back(l->text);
      Layout layout;
      if (const Table* table = impl_->readers.sniff(head, layout)) pass.open_table(*table, std::move(layout));
      first = false;
    }
    const std::size_t end = more ? window.cut(begin, begin + block_size).value_or(begin + block_size) : buffer.size();
    Findings found;
    impl_->readers.map(window, begin, end, lines + 1, memo, found);
    pass.fold(window, begin, end, lines + 1, found);
    lines += window.line_ends(begin, end);
    last = buffer[end - 1];
    const std::size_t drop = end > margin ? end - margin : 0;
    begin = end - drop;
    const bool done = !more && end >= buffer.size();
    text.drop(drop);
    if (done) break;
  }
  if (!ends_line(last)) ++lines;
  Input& input = out.inputs.back();
  input.bytes = source.bytes();
  input.lines = lines;
  input.compression = source.compression();
  input.truncated = source.truncated();
  if (const std::string damage = source.damage(); !damage.empty())
    out.notes.push_back({input.truncated ? Severity::warning : Severity::note, damage, {}});
  out.coverage.lines += lines;
  if (source.encoding() == "screens")
    out.notes.push_back({Severity::note,
                         source.name() + " is a capture of watch: its screens were played back one below the other, "
                                         "and line numbers count their lines",
                         {}});
  else if (!source.encoding().empty() && source.encoding() != "utf-8-bom")
    out.notes.push_back(
        {Severity::note, source.name() + " is " + source.encoding() + "; it was read as text of that encoding", {}});
  if (text.width() != 0)
    out.notes.push_back({Severity::note,
                         source.name() + " was broken at " + std::to_string(text.width()) +
                             " columns by a console; its lines were put together again",
                         {}});
  builder.finish();
  return out;
}

Case Scanner::scan(std::vector<Source>& sources) const {
  JoinedCase joined;
  for (Source& source : sources) joined.add(scan(source));
  return joined.take();
}

std::vector<std::string> Scanner::takers(std::string_view text) const {
  const Window window(text);
  std::set<std::string> names;
  LineMemo memo;
  Findings findings;
  impl_->readers.map(window, 0, text.size(), 1, memo, findings);
  for (const Found& f : findings.all) names.insert(std::string(f.header != nullptr ? f.header->name : f.reader));
  return {names.begin(), names.end()};
}

}  // namespace oomdoctor
