#include "read/window.h"

#include <algorithm>
#include <tuple>

#include "base/ascii.h"

namespace oomdoctor {

const Joined::Start& Joined::line_at(std::size_t offset) const {
  const Start* line = &starts.front();
  for (const Start& start : starts) {
    if (start.at > offset) break;
    line = &start;
  }
  return *line;
}

const LineIndex& Window::make_lines() const { return lines_.emplace(buffer_); }

i64 Window::removed_breaks(std::size_t begin, std::size_t end) const {
  if (removed_breaks_.empty()) return 0;
  return std::lower_bound(removed_breaks_.begin(), removed_breaks_.end(), end) -
         std::lower_bound(removed_breaks_.begin(), removed_breaks_.end(), begin);
}

void Window::add_tag(Line& line) const {
  const auto tag = std::lower_bound(tags_.begin(), tags_.end(), line.begin,
                                    [](const LineTag& own, std::size_t place) { return own.begin < place; });
  if (tag == tags_.end() || tag->begin != line.begin) return;
  if (!line.prefix.time) line.prefix.time = tag->time;
  if (!line.prefix.pid) line.prefix.pid = tag->pid;
}

i64 Window::line_ends(std::size_t begin, std::size_t end) const {
  return lines().feeds(begin, end) + removed_breaks(begin, end);
}

bool Window::ends_long_line(std::size_t at) const {
  constexpr std::size_t nearby = long_line / 4;
  const std::size_t from = at > nearby ? at - nearby : 0;
  const std::string_view around = buffer_.substr(from, at + nearby - from);
  return find_line_end(around) == around.size();
}

/// Cuts the bounds at the ends of the line, at half of `most` on each side, and at the cuts of a long line.
std::pair<std::size_t, std::size_t> Window::bounds_around(std::size_t at, std::size_t most) const {
  at = std::min(at, buffer_.size());
  const std::size_t reach = most / 2, end_of_text = buffer_.size();
  std::size_t begin = lines().find_begin(at, at > reach ? at - reach : 0);
  std::size_t end = lines().find_end(at, std::min(at + reach, end_of_text));
  for (std::size_t stop = next_long_end(begin); stop < end; stop += long_line) {
    if (stop == begin || !ends_long_line(stop)) continue;
    (stop <= at ? begin : end) = stop;
  }
  return {begin, end};
}

std::size_t Window::end_of_line(std::size_t at) const {
  const std::size_t end = lines().find_end(at, buffer_.size());
  for (std::size_t stop = next_long_end(at + 1); stop < end; stop += long_line)
    if (ends_long_line(stop)) return stop;
  return end;
}

std::size_t Window::begin_after(std::size_t end) const {
  if (end >= buffer_.size() || !ends_line(buffer_[end])) return end;
  const bool is_pair = buffer_[end] == '\r' && end + 1 < buffer_.size() && buffer_[end + 1] == '\n';
  return end + (is_pair ? 2 : 1);
}

i64 Window::number_after(std::size_t begin, i64 number) const {
  return begin > 0 && buffer_[begin - 1] == '\n' ? number + 1 : number;
}

/// Prefers the last line end. Only a block without any falls back to the cut of a long line.
std::optional<std::size_t> Window::cut(std::size_t begin, std::size_t end) const {
  for (std::size_t i = end; i > begin; --i) {
    const char c = buffer_[i - 1];
    if (c == '\n' || (c == '\r' && (i == buffer_.size() || buffer_[i] != '\n'))) return i;
  }
  std::optional<std::size_t> found;
  for (std::size_t stop = next_long_end(begin + 1); stop <= end; stop += long_line)
    if (ends_long_line(stop)) found = stop;
  return found;
}

bool Window::clean_around(std::size_t at) const {
  constexpr std::size_t bytes_before = 16, bytes_after = 120;  // bytes; labels of up to nine words are shorter
  if (lines().clean()) return true;
  const auto [begin, end] = bounds_around(at);  // bytes of the next line do not affect this one
  const std::size_t from = std::max(begin, at - std::min(at, bytes_before));
  return is_clean(buffer_.substr(from, std::min(end, at + bytes_after) - from));
}

Line Window::line_without_prefix(std::pair<std::size_t, std::size_t> bounds, std::size_t at, i64 number) const {
  Line line;
  std::tie(line.begin, line.end) = bounds;
  line.number = number - removed_breaks(line.begin, at);
  line.last = line.number + removed_breaks(line.begin, line.end);
  line.text = buffer_.substr(line.begin, line.end - line.begin);
  if (!lines().clean() && !is_clean(line.text)) line.text = cleaned_.emplace_back(clean_line(line.text));
  return line;
}

Line Window::line_around(std::size_t offset, i64 number, std::size_t most) const {
  Line line = line_without_prefix(bounds_around(offset, most), offset, number);
  line.prefix = peel_prefix(line.text);
  return line;
}

std::optional<Line> Window::next(const Line& line) const {
  std::optional<Line> found = next_without_prefix(line);
  if (found) found->prefix = peel_prefix(found->text);
  return found;
}

std::optional<Line> Window::previous(const Line& line) const {
  std::optional<Line> found = previous_without_prefix(line);
  if (found) found->prefix = peel_prefix(found->text);
  return found;
}

std::optional<Line> Window::next_without_prefix(const Line& line) const {
  const std::size_t at = begin_after(line.end);
  if (at == line.end || at >= buffer_.size()) return std::nullopt;
  return line_without_prefix(bounds_around(at), at, number_after(at, line.last));
}

std::optional<Line> Window::previous_without_prefix(const Line& line) const {
  std::size_t at = line.begin;
  if (at == 0 || !ends_line(buffer_[at - 1])) return std::nullopt;
  --at;
  const i64 number = buffer_[at] == '\n' ? line.number - 1 : line.number;
  if (at > 0 && buffer_[at] == '\n' && buffer_[at - 1] == '\r') --at;
  return line_without_prefix(bounds_around(at), at, number);
}

bool Cursor::same_stream(const Line& other) const {
  const auto& a = line_->prefix;
  const auto& b = other.prefix;
  if (a.rank && b.rank && a.rank != b.rank) return false;
  return !a.pid || !b.pid || a.pid == b.pid;
}

/// However large the blocks are, a line sees no more of its neighbours than the margin of a block contains.
bool Cursor::is_within_reach(const Line& other) const {
  return other.begin < line_->begin ? line_->begin - other.begin <= Window::margin
                                    : other.end - std::min(other.end, line_->end) <= Window::margin;
}

void Cursor::walk(LineStep step, int most, const std::function<bool(const Line&)>& visit) const {
  if (budget_ != nullptr) most = budget_->granted(most);
  int walked = 0;
  std::optional<Line> at = (window_->*step)(*line_);
  for (int seen = 0; at && is_within_reach(*at) && seen < most && walked < 8 * most;
       ++walked, at = (window_->*step)(*at)) {
    if (!same_stream(*at)) continue;
    ++seen;
    if (!visit(*at)) break;
  }
  if (budget_ != nullptr) budget_->spend(walked);
}

void Cursor::forward(int most, const std::function<bool(const Line&)>& visit) const {
  walk(&Window::next, most, visit);
}

void Cursor::forward_all(int most, const std::function<bool(const Line&)>& visit) const {
  if (budget_ != nullptr) most = budget_->granted(most);
  int walked = 0;
  for (std::optional<Line> at = window_->next(*line_); at && is_within_reach(*at) && walked < most;
       at = window_->next(*at)) {
    ++walked;
    if (!visit(*at)) break;
  }
  if (budget_ != nullptr) budget_->spend(walked);
}

void Cursor::backward(int most, const std::function<bool(const Line&)>& visit) const {
  walk(&Window::previous, most, visit);
}

void Cursor::backward_texts(int most, const std::function<bool(std::string_view)>& visit) const {
  const bool tagged = line_->prefix.rank || line_->prefix.pid;
  walk(tagged ? &Window::previous : &Window::previous_without_prefix, most,
       [&visit](const Line& line) { return visit(line.text); });
}

std::string_view Cursor::surroundings() const {
  const std::string_view buffer = window_->buffer();
  const std::size_t begin = line_->begin > Window::margin ? line_->begin - Window::margin : 0;
  return buffer.substr(begin, line_->end + Window::margin - begin);
}

std::string_view Cursor::surroundings_below() const {
  return window_->buffer().substr(std::min(line_->end, window_->buffer().size()), Window::margin);
}

Joined Cursor::joined(int back, int ahead) const {
  std::vector<Line> lines;
  const auto keep = [&](const Line& l) {
    if (l.body().find_first_not_of(" \t") == std::string_view::npos) return false;
    lines.push_back(l);
    return true;
  };
  backward(back, keep);
  std::reverse(lines.begin(), lines.end());
  lines.push_back(*line_);
  forward(ahead, keep);
  Joined out;
  for (const Line& l : lines) {
    const std::size_t begin = out.text.size();
    out.starts.push_back({begin, l.begin, l.number});
    out.text += l.body();
    out.text.erase(
        std::remove_if(out.text.begin() + static_cast<std::ptrdiff_t>(begin), out.text.end(), is_blank_or_line_end),
        out.text.end());
  }
  return out;
}

}  // namespace oomdoctor
