#include "scan/format_registry.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/ascii.h"
#include "read/first_lines.h"
#include "read/label.h"
#include "read/setting_format.h"
#include "scan/anchors.h"
#include "scan/line_template.h"

namespace oomdoctor {
namespace {

constexpr int message_back = 3, message_ahead = 9;  ///< max lines of a wrapped message before and after the anchor
constexpr std::size_t max_gauges = 64;              ///< max step lines glued together in one line
constexpr std::size_t message_key_bytes = 80;       ///< enough to distinguish two messages that begin on one line
constexpr std::size_t sniffed_lines = 64;           ///< enough lines of an export to see memory change

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return is_digit(c); });  // a pointer is not inlined
}

/// The text in lower case, with a '0' for each run of digits: the same for all texts that differ in their numbers only.
std::string with_runs_joined(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (!is_digit(c))
      out += lower(c);
    else if (out.empty() || out.back() != '0')
      out += '0';
  return out;
}

/// True if a number may have an exponent beyond the range of double. Other digits would make it a valid number.
bool has_long_exponent(std::string_view text) {
  for (std::size_t i = 1; i + 4 < text.size(); ++i) {
    if ((text[i] != 'e' && text[i] != 'E') || !is_digit(text[i - 1])) continue;
    const std::size_t from = text[i + 1] == '-' || text[i + 1] == '+' ? i + 2 : i + 1;
    if (from + 3 <= text.size() && is_digit(text[from]) && is_digit(text[from + 1]) && is_digit(text[from + 2]))
      return true;
  }
  return false;
}

GroupPositions make_parts(const Captures& captures, std::string_view text) {
  GroupPositions parts;
  for (std::size_t i = 0; i < captures.group.size(); ++i) {
    const std::string_view group = captures.group[i];
    if (group.data() == nullptr) continue;
    parts.resize(i + 1);
    parts[i] = {static_cast<std::uint32_t>(group.data() - text.data()), static_cast<std::uint32_t>(group.size()), true};
  }
  return parts;
}

}  // namespace

/// A regex counts characters, so lengths of numbers matter to it. For a pattern on free-form lines,
/// FreeformLine::repeatable decides.
CompiledFormat::Digits CompiledFormat::classify_digits() const {
  const auto alike = [this] {
    if (gauge != nullptr) return form().digits_are_numbers() && !has_digit(gauge->anchor);
    return pattern->reach == Reach::line && (pattern->accepts == nullptr || pattern->digits_are_numbers) &&
           digits_are_numbers(pattern->regex) && !has_digit(pattern->anchor) && !has_digit(pattern->second_anchor);
  };
  if (!alike()) return Digits::text;
  return (gauge != nullptr ? gauge->regex : pattern->regex).empty() ? Digits::numbers : Digits::columns;
}

void BlockMatches::clear() {
  all.clear();
  values.clear();
  parts.clear();
  printed.clear();
  messages.clear();
  runs.clear();
  open.reset();
  headers.clear();
  rows.clear();
  row_runs.clear();
  places.clear();
}

const FreeformLine& BlockMatches::fill_printed(const LineMatch& found) const {
  if (found.values_begin < found.values_end) substitute_numbers(values_of(found), *found.printed);
  return *found.printed;
}

Captures make_captures(const LineMatch& found) {
  Captures captures;
  if (found.parts == nullptr) return captures;
  for (std::size_t i = 0; i < found.parts->size(); ++i) captures.group[i] = group_text(found, i);
  captures.begin = found.parts->front().at;
  captures.end = captures.begin + found.parts->front().size;
  return captures;
}

/// The position of a message in its line does not depend on the line that led to it.
std::size_t hash_message(const LineMatch& found) {
  return std::hash<std::string_view>{}(found.text.substr(found.parts->front().at, message_key_bytes));
}

// A short log is read in less time than this takes, so it allocates little: the anchors stay views, and the targets are
// sorted into one list.
FormatRegistry::FormatRegistry(std::span<const Parser* const> parsers, const PrefilterPlan& plan) {
  std::vector<std::string_view> anchors;
  std::vector<bool> fold;
  std::vector<std::pair<std::size_t, Target>> led_to;  // an anchor and one of its targets
  anchors.reserve(plan.placements.size());
  fold.reserve(plan.placements.size());
  plain_.reserve(plan.placements.size());
  led_to.reserve(plan.mentions.size());
  const auto add_anchor = [&](std::string_view anchor, bool fold_case, const Target& target) {
    const std::size_t mention = led_to.size(), next = anchors.size();
    const std::size_t at = mention < plan.mentions.size() ? plan.mentions[mention] : next;
    if (at > next) throw std::logic_error("the plan of the prefilter is of other formats");
    if (at == next) {
      anchors.push_back(anchor);
      fold.push_back(fold_case);
      plain_.push_back(!has_digit(anchor));
      if (plain_.back() == 0) numbered_.push_back(with_runs_joined(anchor));
    }
    led_to.emplace_back(at, target);
  };
  const auto add_reader = [&](const Parser* parser, std::string_view name) -> CompiledFormat& {
    const std::size_t order = readers_.size();
    CompiledFormat& reader = readers_.emplace_back();
    reader.parser = parser;
    reader.name = name;
    reader.order = order;
    return reader;
  };
  for (const Parser* parser : parsers) {
    for (const Pattern& p : parser->patterns) {
      CompiledFormat& reader = add_reader(parser, p.name);
      reader.pattern = &p;
      reader.fallback = p.fallback;
      reader.message = p.reach == Reach::message;
      reader.is_step_only = p.emit == emit_step;
      const bool key = p.setting != nullptr && p.setting->spelling == SettingSpelling::key;
      for_each_anchor(p, [&](std::string_view anchor) {
        add_anchor(anchor, p.fold_case, Target{&reader, nullptr, p.may_match, key ? anchor.size() : 0});
      });
    }
    for (const LineFormat& g : parser->gauges) {
      CompiledFormat& reader = add_reader(parser, g.name);
      reader.gauge = &g;
      add_anchor(g.anchor, false, {.reader = &reader});
    }
    for (const Table& t : parser->tables) {
      tables_.push_back(&t);
      add_anchor(t.anchor, false, {.table = &t});
    }
  }
  first_target_.resize(anchors.size() + 1);
  for (const auto& [anchor, target] : led_to) ++first_target_[anchor + 1];
  std::partial_sum(first_target_.begin(), first_target_.end(), first_target_.begin());
  std::vector<std::size_t> next = first_target_;
  targets_.resize(led_to.size());
  for (const auto& [anchor, target] : led_to) targets_[next[anchor]++] = target;
  prefilter_ = std::make_unique<Prefilter>(anchors, fold, plan);
}

bool FormatRegistry::may_lead_to_match(const Window& window, const AnchorHit& hit, const Target& target) {
  const bool near = target.key_size > 0 ? is_key(window.buffer(), hit.offset, target.key_size)
                                        : target.may_match == nullptr || target.may_match(window.buffer(), hit.offset);
  return near || !window.clean_around(hit.offset);
}

bool FormatRegistry::find_wanted(const Window& window, std::span<const AnchorHit> hits,
                                 std::vector<const CompiledFormat*>& wanted) const {
  wanted.clear();
  bool table = false;
  for (const AnchorHit& hit : hits)
    for (const Target& t : behind(hit.anchor)) {
      table |= t.table != nullptr;
      if (t.reader != nullptr && may_lead_to_match(window, hit, t)) wanted.push_back(t.reader);
    }
  std::sort(wanted.begin(), wanted.end(), InOrder());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return table || !wanted.empty();
}

bool FormatRegistry::has_table(std::span<const AnchorHit> hits) const {
  return std::any_of(hits.begin(), hits.end(), [this](const AnchorHit& hit) {
    const std::span<const Target> targets = behind(hit.anchor);
    return std::any_of(targets.begin(), targets.end(), [](const Target& t) { return t.table != nullptr; });
  });
}

bool FormatRegistry::find_header(const Window& window, const Line& line, std::span<const AnchorHit> hits,
                                 BlockMatches& out) const {
  std::optional<Line> row;
  for (const AnchorHit& hit : hits)
    for (const Target& t : behind(hit.anchor)) {
      if (t.table == nullptr) continue;
      if (!row) row = window.line_around(hits[0].offset, line.number, Window::max_row);
      Layout layout;
      if (!t.table->header(row->body(), layout)) continue;
      LineMatch& header = out.all.emplace_back();
      header.header = &out.headers.emplace_back(std::make_shared<OpenTable>(OpenTable{t.table, std::move(layout)}));
      header.line = line;
      header.line.prefix = peel_prefix(line.text);
      header.first_line = line.number;
      header.last_line = line.last;
      return true;
    }
  return false;
}

/// Several step lines may be glued into one line, so the search continues after each match.
bool FormatRegistry::try_gauge(const CompiledFormat& reader, const Line& line, BlockMatches& out) {
  std::vector<GaugeValue> values;
  std::size_t read = 0;
  for (std::size_t at = 0; read < max_gauges; ++read) {
    const FormEnd end = reader.form().read(line.text, at, values);
    if (end.search == Search::absent) break;
    LineMatch found = make_match(line, reader);
    if (end.search == Search::too_costly) {
      found.given_up = true;
      out.all.push_back(std::move(found));
      break;
    }
    found.again = read > 0;
    found.values_begin = out.values.size();
    out.values.insert(out.values.end(), values.begin(), values.end());
    found.values_end = out.values.size();
    out.all.push_back(std::move(found));
    at = std::max(*end, at + 1);
  }
  return read > 0;
}

/// Accepts only matches that overlap this line. A neighbour's match has its own anchor.
bool FormatRegistry::try_message(const CompiledFormat& reader, const Window& window, const Line& line, Views& views,
                                 BlockMatches& out) {
  if (!views.joined) views.joined = Cursor(window, line).joined(message_back, message_ahead);
  const Joined& joined = *views.joined;
  std::size_t own_begin = 0, own_end = joined.text.size();
  for (const Joined::Start& start : joined.starts) {
    if (start.begin <= line.begin) own_begin = start.at;
    if (start.begin > line.begin) {
      own_end = start.at;
      break;
    }
  }
  bool any = false;
  Captures captures;
  for (std::size_t from = 0; from < own_end; from = std::max(captures.end, from + 1)) {
    if (reader.regex().search(joined.text, captures, from) != Search::found || captures.begin >= own_end) break;
    if (captures.end <= own_begin) continue;
    LineMatch found = make_match(line, reader);
    found.text = out.messages.emplace_back(joined.text);
    found.parts = &out.parts.emplace_back(make_parts(captures, joined.text));
    const Joined::Start& first = joined.line_at(captures.begin);
    found.first_line = first.number;
    found.last_line = joined.line_at(std::max<std::size_t>(captures.end, 1) - 1).number;
    while (found.line.begin > first.begin) {
      const auto before = window.previous(found.line);
      if (!before) break;
      found.line = *before;
    }
    out.all.push_back(std::move(found));
    any = true;
  }
  return any;
}

namespace {

std::size_t find_anchor(const Pattern& pattern, std::string_view text, std::size_t from) {
  const auto find = [&](std::string_view anchor) {
    if (!pattern.fold_case) return text.find(anchor, from);
    const auto same = [](char a, char b) { return lower(a) == lower(b); };
    const auto at = std::search(text.begin() + static_cast<std::ptrdiff_t>(std::min(from, text.size())), text.end(),
                                anchor.begin(), anchor.end(), same);
    return at == text.end() ? text.npos : static_cast<std::size_t>(at - text.begin());
  };
  std::size_t at = find(pattern.anchor);
  if (!pattern.second_anchor.empty()) at = std::min(at, find(pattern.second_anchor));
  for (const std::string_view anchor : pattern.more_anchors) at = std::min(at, find(anchor));
  return at;
}

/// The first match in the line. If the pattern limits the distance to the anchor, only starts near an anchor are
/// tried.
bool find_match(const CompiledFormat& reader, std::string_view text, Captures& captures) {
  const Pattern& pattern = *reader.pattern;
  if (!pattern.before_anchor) return reader.regex().search(text, captures) == Search::found;
  std::size_t from = 0;
  for (std::size_t at = find_anchor(pattern, text, 0); at != text.npos; at = find_anchor(pattern, text, at + 1))
    for (from = std::max(from, at - std::min(at, *pattern.before_anchor)); from <= at; ++from)
      if (reader.regex().match(text, captures, from) == Search::found) return true;
  return false;
}

}  // namespace

bool FormatRegistry::try_format(const CompiledFormat& reader, const Window& window, const Line& line, Views& views,
                                BlockMatches& out) {
  if (reader.gauge != nullptr) return try_gauge(reader, line, out);
  if (reader.message) return try_message(reader, window, line, views, out);
  const Pattern& pattern = *reader.pattern;
  LineMatch found = make_match(line, reader);
  if (!pattern.regex.empty()) {
    Captures captures;
    if (!find_match(reader, line.text, captures)) return false;
    found.parts = &out.parts.emplace_back(make_parts(captures, line.text));
    found.marked = group_text(found, 1);
  }
  if (pattern.accepts != nullptr && !pattern.accepts(line.text)) return false;
  if (pattern.accepts_parsed != nullptr) {
    if (!views.printed) views.printed = read_freeform(line.text);
    if (!pattern.accepts_parsed(*views.printed)) return false;
    found.printed = &out.printed.emplace_back(*views.printed);
  }
  out.all.push_back(std::move(found));
  return true;
}

/// Only the text before the first free number has fixed columns. So lengths may differ only if the prefix and all
/// positions examined are in front of it.
Lengths FormatRegistry::classify_lengths(const Line& line, std::span<const CompiledFormat* const> wanted,
                                         const Views& views, const NumberSpans* runs) {
  if (runs == nullptr) return Lengths::differ;
  const std::size_t free = runs->first_free();
  const bool in_front = line.prefix.bytes_examined <= free && (!views.printed || views.printed->bytes_examined <= free);
  const bool numbers = std::all_of(wanted.begin(), wanted.end(), [](const CompiledFormat* r) {
    return r->digits() == CompiledFormat::Digits::numbers;
  });
  return in_front && numbers ? Lengths::alike : Lengths::differ;
}

void FormatRegistry::read_line(const Window& window, const Line& line, std::span<const CompiledFormat* const> wanted,
                               TemplateCache* memo, BlockMatches& out) const {
  const std::size_t first = out.all.size();
  Views views;
  bool taken = false;
  for (const bool fallback : {false, true})
    for (const CompiledFormat* r : wanted)
      if (r->fallback == fallback && !(fallback && taken))
        taken |= try_format(*r, window, line, views, out) && !(r->pattern != nullptr && r->pattern->non_exclusive);
  const auto found = std::span(out.all).subspan(first);
  const bool given_up = std::any_of(found.begin(), found.end(), [](const LineMatch& f) { return f.given_up; });
  const bool alike = memo != nullptr && memo->wanted() && !given_up && !line.prefix.strange &&
                     !has_long_exponent(line.text) &&
                     !(views.printed && (!views.printed->repeatable || numbers_may_be_program(line.text)));
  if (alike) {
    LineTemplate shape = make_template(line, wanted, found, out, memo->runs());
    shape.anchors_fixed = !may_gain_anchor(line.text);
    memo->keep(std::move(shape), classify_lengths(line, wanted, views, memo->runs()));
  }
  join_step(out, first);
}

/// Compares without the lengths of numbers, so it may say true where no number fits.
bool FormatRegistry::may_gain_anchor(std::string_view line) const {
  const std::string joined = with_runs_joined(line);
  return std::any_of(numbered_.begin(), numbered_.end(),
                     [&](const std::string& anchor) { return joined.find(anchor) != joined.npos; });
}

std::shared_ptr<const OpenTable> FormatRegistry::sniff(const Window& window) const {
  // A monitor names hundreds of columns in one line, and GPU-Z reserves 40 KB for its header.
  constexpr std::size_t both_sides = 2 * (48 << 10);  // of the first byte
  static_assert(both_sides <= 2 * Window::margin);
  std::vector<std::string> head;
  for (std::size_t at = 0; head.size() < sniffed_lines;) {
    const auto bounds = window.bounds_around(at, both_sides);
    head.emplace_back(window.line_without_prefix(bounds, at, 1).text);
    at = window.begin_after(bounds.second);
    if (at == bounds.second || at >= window.buffer().size()) break;
  }
  std::shared_ptr<const OpenTable> table = sniff(head);
  if (!table || table->layout.header.empty()) return table;
  // A table above it that only its rows make known would be lost. Its own header opens this one later.
  Layout alone;
  const auto header = std::find(head.begin(), head.end(), table->layout.header);
  if (header == head.end() || header - head.begin() < 2 || !table->table->header(*header, alone)) return table;
  const auto above = sniff(std::span(head).first(static_cast<std::size_t>(header - head.begin())));
  if (!above || above->layout.header.empty()) return table;
  return std::make_shared<OpenTable>(OpenTable{above->table, above->layout, std::move(table)});
}

std::shared_ptr<const OpenTable> FormatRegistry::sniff(std::span<const std::string> head) const {
  const FirstLines first(head);
  Layout layout;
  for (const Table* table : tables_)
    if (table->sniff != nullptr && table->sniff(first, layout))
      return std::make_shared<OpenTable>(OpenTable{table, std::move(layout)});
  return nullptr;
}

}  // namespace oomdoctor
