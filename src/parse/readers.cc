#include "parse/readers.h"

#include <algorithm>

namespace oomdoctor {
namespace {

constexpr int message_back = 3, message_ahead = 9;  ///< lines that one message may be wrapped over
constexpr std::size_t max_gauges = 64;              ///< step lines glued to one line

}  // namespace

ReaderTable::ReaderTable(std::span<const Parser* const> parsers) {
  std::vector<std::string> anchors;
  std::vector<bool> fold;
  const auto add_anchor = [&](std::string_view anchor, bool fold_case, Target target) {
    for (std::size_t i = 0; i < anchors.size(); ++i)
      if (anchors[i] == anchor && fold[i] == fold_case) return behind_[i].push_back(target);
    anchors.emplace_back(anchor);
    fold.push_back(fold_case);
    behind_.push_back({target});
  };
  for (const Parser* parser : parsers) {
    for (const Pattern& p : parser->patterns) {
      auto reader = std::make_unique<Reader>();
      reader->parser = parser;
      reader->pattern = &p;
      reader->name = p.name;
      reader->fallback = p.fallback;
      add_anchor(p.anchor, p.fold_case, {reader.get(), nullptr});
      if (!p.second_anchor.empty()) add_anchor(p.second_anchor, p.fold_case, {reader.get(), nullptr});
      reader->order = readers_.size();
      readers_.push_back(std::move(reader));
    }
    for (const Gauge& g : parser->gauges) {
      auto reader = std::make_unique<Reader>();
      reader->parser = parser;
      reader->name = g.name;
      reader->form = std::make_unique<GaugeForm>(g);
      add_anchor(g.anchor, false, {reader.get(), nullptr});
      reader->order = readers_.size();
      readers_.push_back(std::move(reader));
    }
    for (const Table& t : parser->tables) {
      tables_.push_back(&t);
      add_anchor(t.anchor, false, {nullptr, &t});
    }
  }
  prefilter_ = std::make_unique<Prefilter>(std::move(anchors), std::move(fold));
}

bool ReaderTable::try_gauge(const Reader& reader, const Line& line, std::vector<Found>& out) const {
  Found found;
  std::vector<GaugeValue> values;
  found.text = std::make_unique<std::string>(line.text);
  for (std::size_t at = 0; const auto end = reader.form->read(*found.text, at, values);) {
    found.gauges.push_back(values);
    at = std::max(*end, at + 1);
    if (found.gauges.size() >= max_gauges) break;
  }
  if (found.gauges.empty()) return false;
  found.reader = &reader;
  found.first_line = line.number;
  found.last_line = line.last;
  found.line = line;
  out.push_back(std::move(found));
  return true;
}

/// The matches that cover this line: a neighbour's match has its own hit.
bool ReaderTable::try_message(const Reader& reader, const Window& window, const Line& line,
                              std::vector<Found>& out) const {
  const Joined joined = Cursor(window, line).joined(message_back, message_ahead);
  std::size_t own_begin = 0, own_end = joined.text.size();
  for (const auto& [begin, number] : joined.starts) {
    if (number <= line.number) own_begin = begin;
    if (number > line.number) {
      own_end = begin;
      break;
    }
  }
  bool any = false;
  Captures captures;
  for (std::size_t from = 0; from < own_end; from = std::max(captures.end, from + 1)) {
    if (reader.regex().search(joined.text, captures, from) != Search::found || captures.begin >= own_end) break;
    if (captures.end <= own_begin) continue;
    Found found;
    found.reader = &reader;
    found.text = std::make_unique<std::string>(joined.text);
    found.captures = captures;
    for (auto& group : found.captures.group)
      if (group.data() != nullptr)
        group = std::string_view(*found.text)
                    .substr(static_cast<std::size_t>(group.data() - joined.text.data()), group.size());
    found.first_line = joined.line_at(captures.begin);
    found.last_line = joined.line_at(std::max<std::size_t>(captures.end, 1) - 1);
    found.line = line;
    while (found.line.number > found.first_line) {
      auto before = window.previous(found.line);
      if (!before) break;
      found.line = std::move(*before);
    }
    out.push_back(std::move(found));
    any = true;
  }
  return any;
}

bool ReaderTable::try_reader(const Reader& reader, const Window& window, const Line& line,
                             std::vector<Found>& out) const {
  if (reader.form) return try_gauge(reader, line, out);
  if (reader.pattern->reach == Reach::message) return try_message(reader, window, line, out);
  Found found;
  found.text = std::make_unique<std::string>(line.text);
  if (!reader.pattern->regex.empty() && reader.regex().search(*found.text, found.captures) != Search::found)
    return false;
  if (reader.pattern->takes != nullptr && !reader.pattern->takes(*found.text)) return false;
  found.reader = &reader;
  found.first_line = line.number;
  found.last_line = line.last;
  found.line = line;
  out.push_back(std::move(found));
  return true;
}

void ReaderTable::try_line(const Window& window, const Line& line, const ReaderSet& wanted,
                           std::vector<Found>& out) const {
  bool taken = false;
  for (const bool fallback : {false, true})
    for (const Reader* r : wanted)
      if (r->fallback == fallback && !(fallback && taken))
        taken |= try_reader(*r, window, line, out) && !(r->pattern != nullptr && r->pattern->aside);
}

std::vector<Found> ReaderTable::map(const Window& window, std::size_t begin, std::size_t end, i64 first_line) const {
  std::vector<AnchorHit> hits;
  prefilter_->scan(window.buffer(), begin, end, hits);
  std::vector<Found> out;
  std::set<std::pair<const Reader*, std::pair<i64, std::size_t>>> seen;  // messages that several anchors lead to
  std::size_t counted = begin;
  i64 number = first_line;
  for (std::size_t i = 0; i < hits.size();) {
    const std::size_t first = hits[i].offset;
    number += window.line_ends(counted, first);
    counted = first;
    const Line line = window.line_around(first, number);
    ReaderSet wanted;
    const Table* header = nullptr;
    Layout layout;
    for (; i < hits.size() && hits[i].offset < std::max(line.end, first + 1); ++i)
      for (const Target& t : behind_[hits[i].anchor]) {
        if (t.reader != nullptr) wanted.insert(t.reader);
        if (t.table != nullptr && header == nullptr &&
            t.table->header(window.line_around(first, number, Window::max_row).body(), layout))
          header = t.table;
      }
    if (header != nullptr) {
      Found found;
      found.line = line;
      found.first_line = line.number;
      found.last_line = line.last;
      found.header = header;
      found.layout = std::move(layout);
      out.push_back(std::move(found));
      continue;  // a header's words are column names
    }
    std::vector<Found> here;
    try_line(window, line, wanted, here);
    for (Found& f : here) {
      const bool message = f.reader->pattern != nullptr && f.reader->pattern->reach == Reach::message;
      // Where in its line a message begins does not depend on the line that led to it.
      const std::size_t rest = message ? f.text->size() - f.captures.begin : 0;
      const std::size_t key = message ? std::hash<std::string_view>{}(std::string_view(*f.text).substr(
                                            f.captures.begin, std::min<std::size_t>(rest, 80)))
                                      : 0;
      if (!message || seen.insert({f.reader, {f.first_line, key}}).second) out.push_back(std::move(f));
    }
  }
  return out;
}

const Table* ReaderTable::sniff(std::span<const std::string> first_lines, Layout& layout) const {
  for (const Table* table : tables_)
    if (table->sniff != nullptr && table->sniff(first_lines, layout)) return table;
  return nullptr;
}

}  // namespace oomdoctor
