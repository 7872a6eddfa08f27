#include "text/line_unwrapper.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>

#include "base/ascii.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

constexpr std::size_t head_lines = 2000;             ///< the part of the text that decides about the width
constexpr std::size_t narrowest = 40, widest = 400;  ///< of consoles; below, lines are short for other reasons
constexpr std::size_t longest_waiting = 1 << 14;     ///< a longer line does not come from a console
/// This many different full lines prove a width. With fewer, the width must be a usual one.
constexpr int enough = 3;
constexpr std::array<std::size_t, 10> usual_widths = {60, 72, 80, 100, 120, 132, 140, 160, 180, 200};
constexpr double few = 0.4;  ///< allowed full lines without a continuation, per full line with one
constexpr std::size_t start_length = 6;

/// The characters of a text in UTF-8: its bytes without those that continue a character (10xxxxxx), eight at a time.
/// A product sums the bytes of one factor into the highest one; not every processor counts bits.
std::size_t count_characters(std::string_view text) {
  constexpr std::uint64_t lowest_bits = 0x0101010101010101;
  std::size_t count = text.size();
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    count -= static_cast<std::size_t>((bytes >> 7 & ~(bytes >> 6) & lowest_bits) * lowest_bits >> 56);
  }
  for (const char c : text) count -= (static_cast<unsigned char>(c) & 0xC0) == 0x80 ? 1 : 0;
  return count;
}

std::size_t line_columns(std::string_view line) {
  return is_clean(line) ? count_characters(line) : count_characters(clean_line(line));
}

std::string digits_alike(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (is_digit(c)) c = '0';
  return out;
}

/// Rows of one table and lines of one logger have the same start.
std::string start_form(std::string_view line) { return digits_alike(line.substr(0, start_length)); }

/// Boxes and rulers have their own width.
bool is_wall(char c) { return c == '|' || c == '+'; }
bool is_drawn(std::string_view line) {
  return (is_wall(line.front()) && is_wall(line.back())) || line.find_first_not_of(line.front(), 1) == line.npos;
}

/// "-----", "====": a script prints it between the parts of its output.
bool is_ruler(std::string_view line) {
  constexpr std::size_t shortest = 3;
  return line.size() >= shortest && is_punctuation(line.front()) && !is_wall(line.front()) &&
         line.find_first_not_of(line.front(), 1) == line.npos;
}

/// "------- ---------- ----": the line between the header and the rows of a table. A console never breaks one.
bool is_table_rule(std::string_view line) {
  constexpr std::size_t shortest = 8;
  return line.size() >= shortest && line.find_first_not_of("-= ") == line.npos && line.find_first_of("-=") == 0;
}

/// Some programs print a blank after the last word.
bool ends_sentence(std::string_view line) {
  const std::size_t last = line.find_last_not_of(" \t");
  return last != line.npos && std::string_view(".!?").find(line[last]) != std::string_view::npos;
}

/// A capture of a terminal pads its rows to the width: the printed line ends before the blanks.
bool is_padded(std::string_view line) {
  constexpr std::size_t fewest_blanks = 4;  // fewer may be in a line that was broken there
  return line.size() >= fewest_blanks && line.find_last_not_of(' ') + fewest_blanks < line.size();
}

/// "1.75 GiB": the unit is whole, so no word is broken after it.
bool ends_size(std::string_view line) {
  for (const std::string_view unit : {"KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB", "Ki", "Mi", "Gi", "Ti"}) {
    if (!line.ends_with(unit)) continue;
    const std::string_view before = line.substr(0, line.size() - unit.size());
    const std::size_t last = before.find_last_not_of(' ');
    return last != before.npos && is_digit(before[last]);
  }
  return false;
}

enum class Rest { no, perhaps, yes };

/// The lines after the full lines of one form. A table row is sometimes followed by a line that reads like a
/// continuation.
struct Followers {
  std::array<int, 3> count{};  ///< by Rest

  void add(Rest rest) { ++count[static_cast<std::size_t>(rest)]; }
  Rest verdict() const {
    const auto [no, perhaps, yes] = count;
    if (no > perhaps + yes) return Rest::no;
    return yes > 0 ? Rest::yes : perhaps > 0 ? Rest::perhaps : Rest::no;
  }
};

/// Whether `next` continues a full line that was broken in a word, in a number or at a blank. A continuation does not
/// begin like a separate line.
Rest is_rest(std::string_view line, std::string_view next) {
  if (next.empty() || start_form(next) == start_form(line) || read_time(next)) return Rest::no;
  if (is_table_rule(line) || is_table_rule(next)) return Rest::no;
  const char last = line.back(), first = next.front();
  if ((is_ruler(next) && last != first) || (first == '{' && last == '}')) return Rest::no;  // or two records of JSON
  if (is_wall(line.front()) && !is_wall(last)) return is_wall(first) ? Rest::perhaps : Rest::yes;
  if (is_space(first)) return next.size() > 1 && is_space(next[1]) ? Rest::perhaps : Rest::yes;
  if (is_space(last)) return ends_sentence(line) ? Rest::perhaps : Rest::yes;
  const bool in_word = is_letter(last) && is_lower(first) && !ends_size(line);
  const bool in_number = is_digit(last) && is_digit(first);
  return in_word || in_number || is_punctuation(first) ? first == '[' ? Rest::perhaps : Rest::yes : Rest::perhaps;
}

struct LineWithEnd {
  std::string_view line, end;
};

/// The next line and its end; nullopt if the end may still be missing.
std::optional<LineWithEnd> next_piece(std::string_view text, bool at_end) {
  const std::size_t stop = find_line_end(text);
  if (stop == text.size()) return at_end && !text.empty() ? std::optional(LineWithEnd{text, {}}) : std::nullopt;
  if (text[stop] == '\r' && stop + 1 == text.size() && !at_end) return std::nullopt;
  const std::size_t length = text[stop] == '\r' && stop + 1 < text.size() && text[stop + 1] == '\n' ? 2 : 1;
  return LineWithEnd{text.substr(0, stop), text.substr(stop, length)};
}

/// Lines with their columns.
using MeasuredLines = std::vector<std::pair<std::string_view, std::size_t>>;

/// The first lines; empty if one is wider than any console.
MeasuredLines measure_lines(std::string_view head) {
  MeasuredLines lines;
  for (std::size_t at = 0; at < head.size() && lines.size() < head_lines;) {
    const auto piece = next_piece(head.substr(at), true);
    // Python's marks below a statement are as wide as that was before somebody shortened it.
    const bool marks = piece->line.ends_with("^^^") || piece->line.ends_with("~~~");
    const std::size_t columns = marks ? 0 : piece->line.size() > 4 * widest ? widest + 1 : line_columns(piece->line);
    if (columns > widest) return {};
    lines.emplace_back(piece->line, columns);
    at += piece->line.size() + piece->end.size();
  }
  return lines;
}

/// The lines of tables: a rule, its header and the rows, all equally wide. They are full for another reason.
std::vector<bool> find_table_lines(const MeasuredLines& lines) {
  std::vector<bool> found(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].first.empty() || !is_table_rule(lines[i].first)) continue;
    if (i > 0 && lines[i - 1].second == lines[i].second) found[i - 1] = true;
    for (std::size_t k = i; k < lines.size() && lines[k].second == lines[i].second; ++k) found[k] = true;
  }
  return found;
}

/// A capture of a terminal fills all its rows with blanks. Lines that a console broke also have shorter rests.
bool pads_rows(const MeasuredLines& lines, std::size_t width) {
  constexpr double nearly_all = 0.9;
  const auto full = std::count_if(lines.begin(), lines.end(), [&](const auto& line) { return line.second == width; });
  return static_cast<double>(full) >= nearly_all * static_cast<double>(lines.size());
}

}  // namespace

// The longest line gives a candidate for the width. It counts if enough full lines have a continuation, few have none,
// and full lines are more frequent than slightly shorter ones.
ConsoleForm find_console_form(std::string_view head) {
  const MeasuredLines lines = measure_lines(head);
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line.second);
  if (width < narrowest) return {};
  const bool padded = pads_rows(lines, width);
  const std::vector<bool> in_table = find_table_lines(lines);
  std::map<std::string, Followers> forms;  ///< full lines that differ in more than their digits
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const auto& [line, columns] = lines[i];
    if (columns != width || in_table[i] || is_drawn(line) || (padded && is_padded(line))) continue;
    forms[digits_alike(line)].add(is_rest(line, lines[i + 1].first));
  }
  const auto count = [&](Rest rest) {
    return std::count_if(forms.begin(), forms.end(), [&](const auto& form) { return form.second.verdict() == rest; });
  };
  const bool usual = std::find(usual_widths.begin(), usual_widths.end(), width) != usual_widths.end();
  if (count(Rest::yes) < (usual ? 1 : enough) ||
      static_cast<double>(count(Rest::no)) > few * static_cast<double>(count(Rest::yes)))
    return {};
  // Without a console, lines become rarer towards the longest.
  std::size_t full = 0, nearly = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].second == width)
      ++full;
    else if (lines[i].second + 4 >= width && (i == 0 || lines[i - 1].second != width))
      ++nearly;
  }
  return full > nearly ? ConsoleForm{width, padded} : ConsoleForm{};
}

/// Reads the head and determines the width. False if the source is empty.
bool LineUnwrapper::begin(UnwrappedText& out) {
  begun_ = true;
  const std::size_t begin = out.bytes.size();
  while (out.bytes.size() < begin + head_bytes && source_->read(out.bytes, head_bytes)) continue;
  const std::string_view head = out.bytes.text().substr(begin);
  collector_ = CollectorForm::find(head.substr(0, head_bytes));
  if (!collector_) console_ = find_console_form(head);
  if (!collector_ && console_.width == 0) return !head.empty();
  waiting_ = head;
  out.bytes.cut(begin);
  collector_ ? peel(out, false) : unfold(out, false);
  return true;
}

bool LineUnwrapper::read(UnwrappedText& out, std::size_t wanted) {
  if (!begun_) return begin(out);
  if (!collector_ && console_.width == 0) return source_->read(out.bytes, wanted);
  piece_.restart({});
  const bool more = source_->read(piece_, wanted);
  waiting_.append(piece_.text());
  collector_ ? peel(out, !more) : unfold(out, !more);
  return more;
}

void LineUnwrapper::unfold(UnwrappedText& out, bool at_end) {
  std::string_view rest = waiting_;
  while (const auto piece = next_piece(rest, at_end)) {
    take(out, piece->line, piece->end);
    rest.remove_prefix(piece->line.size() + piece->end.size());
  }
  if (rest.size() > longest_waiting) take(out, rest, {}), rest = {};
  waiting_.erase(0, waiting_.size() - rest.size());
  if (at_end) out.bytes.append(held_end_), held_end_.clear();
}

void LineUnwrapper::peel(UnwrappedText& out, bool at_end) {
  std::string_view rest = waiting_;
  std::string room;
  while (!rest.empty()) {
    const std::size_t feed = rest.find('\n');
    const bool whole = feed != rest.npos;
    if (!whole && !at_end && rest.size() <= longest_waiting) break;
    const std::string_view line = rest.substr(0, feed);
    CollectedLine own = in_line_ ? CollectedLine{line, std::nullopt} : collector_->read(line, room);
    if (!whole && own.text.empty()) own.text = line;  // without a line end, nothing else shows that there is a line
    if (own.time || own.pid) out.tags.push_back({out.bytes.size(), own.time, own.pid});
    out.bytes.append(own.text);
    if (whole && own.goes_on)
      out.removed_breaks.push_back(out.bytes.size());
    else if (whole)
      out.bytes.append("\n");
    in_line_ = !whole;
    rest.remove_prefix(line.size() + (whole ? 1 : 0));
  }
  waiting_.erase(0, waiting_.size() - rest.size());
}

// A line end is passed on only when the next line shows that it was not a console's break.
void LineUnwrapper::take(UnwrappedText& out, std::string_view line, std::string_view end) {
  if (last_full_ && is_rest(last_line_, line) != Rest::no)
    out.removed_breaks.push_back(out.bytes.size());
  else
    out.bytes.append(held_end_);
  out.bytes.append(line);
  held_end_ = end;
  last_full_ =
      end.find('\n') != end.npos && line_columns(line) == console_.width && !(console_.padded && is_padded(line));
  last_line_ = line;
}

}  // namespace oomdoctor
