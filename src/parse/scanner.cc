#include "parse/scanner.h"

#include <algorithm>
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

void tell_gauge(const Gauge& gauge, const std::vector<GaugeValue>& values, Sink& sink) {
  std::optional<double> step, epoch, total;
  Where where;
  double first_epoch = 1;
  for (const GaugeValue& v : values) {
    if (v.name == "step") step = v.value;
    if (v.name == "epoch" || v.name == "epoch0") epoch = v.value, first_epoch = v.name == "epoch" ? 1 : 0;
    if (v.name == "total") total = v.value;
    if (v.name == "rank") where.rank = index_number(v.value);
    if (v.name == "device") where.device = index_number(v.value);
  }
  if (step && epoch && total) *step += std::max(0.0, *epoch - first_epoch) * *total;
  if (where.rank || where.device) sink.at(where);
  if (step || epoch) sink.step({step ? std::optional(whole_number(*step)) : std::nullopt, {}, epoch});
  for (const GaugeValue& v : values) {
    const auto metric = metric_of(v.name);
    if (!metric || v.value < 0) continue;
    double q = gauge.unit;
    for (int i = 0; i < v.decimals; ++i) q /= 10;
    Reading r;
    r.metric = *metric;
    const bool maximum = metric == Metric::max_allocated || metric == Metric::max_reserved;
    r.kind = maximum ? gauge.maxima : gauge.current;
    r.value = v.value * gauge.unit;
    r.quantum = std::max(1.0, q);
    r.unit = std::string(gauge.unit_name);
    r.label = std::string(gauge.label);
    sink.reading(r, step);
  }
}

/// Feeds one source through map and fold.
class Pass {
 public:
  Pass(CaseBuilder& builder, Case& out) : builder_(builder), case_(out) {}

  /// Tells the builder what was found in [begin, end), rows of an open table included.
  void fold(const Window& window, std::size_t begin, std::size_t end, i64 first_line, std::vector<Found>& found) {
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& a, const Found& b) { return a.first_line < b.first_line; });
    last_block_ = std::exchange(this_block_, {});
    declared_.begin_block(found);
    std::size_t next = 0;
    if (table_ == nullptr &&
        std::none_of(found.begin(), found.end(), [](const Found& f) { return f.header != nullptr; })) {
      for (Found& f : found) tell(window, f);
      return;
    }
    i64 number = first_line;
    for (std::size_t at = begin; at < end;) {
      const Line line = window.line_around(at, number, table_ != nullptr ? Window::max_row : Window::max_line);
      bool header = false;
      const std::size_t from = next;
      for (; next < found.size() && found[next].first_line <= number; ++next) header |= found[next].header != nullptr;
      const bool row = table_ != nullptr && !header && tell_row(window, line);
      for (std::size_t i = from; i < next; ++i)
        if (!row || found[i].header != nullptr) tell(window, found[i]);
      at = line.end;
      while (at < end && !ends_line(window.buffer()[at])) ++at;
      if (at < end)
        at += window.buffer()[at] == '\r' && at + 1 < end && window.buffer()[at + 1] == '\n' ? std::size_t{2}
                                                                                             : std::size_t{1};
      number = line.last + 1;
    }
    for (; next < found.size(); ++next) tell(window, found[next]);
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
  Evidence evidence(const Line& line, i64 first, i64 last, std::string_view marked) const {
    Evidence e;
    e.span.first_line = first;
    e.span.last_line = last;
    std::size_t at = marked.empty() ? std::string::npos : line.text.find(marked);
    std::size_t from = 0;
    if (line.text.size() > Evidence::max_excerpt && at != std::string::npos && at > 200) from = at - 200;
    e.excerpt = line.text.substr(from, Evidence::max_excerpt);
    if (at != std::string::npos) {
      e.span.column = static_cast<int>(at - from);
      e.span.end_column = static_cast<int>(std::min(at - from + marked.size(), e.excerpt.size()));
    }
    return e;
  }

  void claim(std::string_view parser, i64 first, i64 last) {
    ++case_.coverage.by_parser[std::string(parser)];
    first = std::max(first, claimed_ + 1);
    if (last >= first) case_.coverage.claimed += last - first + 1, claimed_ = last;
  }

  /// A message over the end of a block is found from either side when an anchor lies on both.
  bool told_before(const Found& f) {
    if (f.reader->pattern == nullptr || f.reader->pattern->reach != Reach::message) return false;
    const std::string_view text = std::string_view(*f.text).substr(f.captures.begin, told_bytes);
    Told told{f.reader, f.first_line, std::hash<std::string_view>{}(text)};
    if (last_block_.contains(told)) return true;
    this_block_.insert(told);
    return false;
  }

  void tell(const Window& window, Found& f) {
    if (f.header != nullptr) {
      open_table(*f.header, std::move(f.layout));
      claim(std::string_view(f.header->name).substr(0, f.header->name.find('/')), f.first_line, f.last_line);
      return;
    }
    if (told_before(f)) return;
    const Cursor cursor(window, f.line);
    const bool marked = f.reader->pattern != nullptr && f.reader->pattern->reach == Reach::line && f.captures.has(1);
    builder_.begin_emit(cursor, f.reader->name,
                        evidence(f.line, f.first_line, f.last_line, marked ? f.captures.group[1] : std::string_view{}));
    Sink& sink = f.reader->parser->declared ? builder_ : declared_.beside(f.first_line, builder_);
    if (f.reader->form)
      for (const auto& values : f.gauges) tell_gauge(f.reader->form->gauge(), values, sink);
    else
      f.reader->pattern->emit(Match{*f.text, f.captures, cursor}, sink);
    claim(f.reader->parser->name, f.first_line, std::max(f.last_line, builder_.lines_claimed_through()));
  }

  bool tell_row(const Window& window, const Line& line) {
    const Cursor cursor(window, line);
    builder_.begin_emit(cursor, table_->name, evidence(line, line.number, line.last, {}));
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
  using Told = std::tuple<const Reader*, i64, std::size_t>;
  std::set<Told> last_block_, this_block_;  ///< messages
};

/// The end of the last whole line in [begin, end), or `end` itself for a line longer than the block. "\r\n" is
/// never cut.
std::size_t cut_at_line(std::string_view buffer, std::size_t begin, std::size_t end) {
  for (std::size_t i = end; i > begin; --i)
    if (buffer[i - 1] == '\n' || (buffer[i - 1] == '\r' && i < buffer.size() && buffer[i] != '\n')) return i;
  return end < buffer.size() && buffer[end - 1] == '\r' && buffer[end] == '\n' ? end + 1 : end;
}

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
        head.push_back(l->text);
      Layout layout;
      if (const Table* table = impl_->readers.sniff(head, layout)) pass.open_table(*table, std::move(layout));
      first = false;
    }
    const std::size_t end = more ? cut_at_line(buffer, begin, begin + block_size) : buffer.size();
    std::vector<Found> found = impl_->readers.map(window, begin, end, lines + 1);
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
  for (const Found& f : impl_->readers.map(window, 0, text.size(), 1))
    names.insert(std::string(f.header != nullptr ? f.header->name : f.reader->name));
  return {names.begin(), names.end()};
}

}  // namespace oomdoctor
