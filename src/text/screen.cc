#include "text/screen.h"

#include <algorithm>
#include <charconv>

namespace oomdoctor {
namespace {

// Limits: no terminal is larger, and a damaged capture must not fill the memory.
constexpr std::size_t max_rows = 300, max_columns = 1000;
constexpr std::size_t max_parameters = 64;
/// A refresh is a hundredth of its screen. Input that shows far more than it sends is not a capture, and must not fill
/// the disk.
constexpr std::size_t max_shown = 1 << 20, max_shown_share = 256;

/// The `i`-th parameter of a sequence, limited to a screen's columns; `otherwise` if it is missing or invalid.
std::size_t parameter(std::string_view text, std::size_t i, std::size_t otherwise) {
  for (; i > 0; --i) {
    const std::size_t next = text.find(';');
    if (next == text.npos) return otherwise;
    text.remove_prefix(next + 1);
  }
  std::size_t value = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  if (error == std::errc::result_out_of_range) return max_columns;
  return error == std::errc{} ? std::min(value, max_columns) : otherwise;
}

}  // namespace

bool ScreenPlayer::wanted(std::string_view head) {
  constexpr std::string_view mark = "\x1b[2JEvery ", older = "\x1b[JEvery ";
  return head.find(mark) != head.npos || head.find(older) != head.npos;
}

void ScreenPlayer::feed(std::string_view raw, std::string& out) {
  fed_ += raw.size();
  for (const char c : raw) take(c, out);
}

void ScreenPlayer::finish(std::string& out) {
  if (full_screen_) show(out);
}

// A state machine over single bytes, because feed() may split a sequence anywhere.
void ScreenPlayer::take(char c, std::string& out) {
  switch (state_) {
    case EscapeState::text:
      if (c == '\x1b')
        state_ = EscapeState::escape;
      else if (!full_screen_)
        out.push_back(c);
      else if (static_cast<unsigned char>(c) < 0x20)
        control(c);
      else
        put(c);
      break;
    case EscapeState::escape:
      parameters_.clear();
      state_ = c == '['               ? EscapeState::sequence
               : c == ']'             ? EscapeState::title
               : c == '(' || c == ')' ? EscapeState::charset
                                      : EscapeState::text;
      break;
    case EscapeState::sequence:
      if (c >= 0x40 && c <= 0x7e) {
        state_ = EscapeState::text;
        sequence(parameters_, c, out);
      } else if (parameters_.size() < max_parameters) {
        parameters_.push_back(c);
      }
      break;
    case EscapeState::charset:
      state_ = EscapeState::text;
      break;
    case EscapeState::title:
      if (c == '\a' || c == '\\') state_ = EscapeState::text;
      break;
  }
}

void ScreenPlayer::control(char c) {
  if (c == '\r') column_ = 0;
  if (c == '\n') move(row_ + 1, column_);
  if (c == '\b' && column_ > 0) --column_;
  if (c == '\t') column_ = std::min(column_ / 8 * 8 + 8, max_columns - 1);
}

// UTF-8 continuation bytes join the previous cell.
void ScreenPlayer::put(char c) {
  if (rows_.size() <= row_) rows_.resize(row_ + 1);
  auto& row = rows_[row_];
  const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
  if (continues) {
    if (column_ > 0 && column_ <= row.size() && row[column_ - 1].size() < 4) row[column_ - 1].push_back(c);
    return;
  }
  if (row.size() <= column_) row.resize(column_ + 1, " ");
  row[column_].assign(1, c);
  changed_ = true;
  column_ = std::min(column_ + 1, max_columns - 1);
}

void ScreenPlayer::move(std::size_t row, std::size_t column) {
  row_ = std::min(row, max_rows - 1);
  column_ = std::min(column, max_columns - 1);
}

// Executes one control sequence, and ignores unknown ones. A new screen begins with a switch to the alternate screen,
// or with a clear from the top left corner.
void ScreenPlayer::sequence(std::string_view p, char final_byte, std::string& out) {
  const std::size_t n = std::max<std::size_t>(parameter(p, 0, 1), 1), m = std::max<std::size_t>(parameter(p, 1, 1), 1);
  if (!p.empty() && p[0] == '?') {
    const bool alternate = p == "?1049" || p == "?47";
    if (alternate && final_byte == 'l' && full_screen_) show(out);
    if (alternate) full_screen_ = final_byte == 'h', rows_.clear(), move(0, 0);
    return;
  }
  if (final_byte == 'J' && parameter(p, 0, 0) != 1 && row_ == 0 && column_ == 0) {
    full_screen_ = true;  // terminals without an alternate screen only clear the screen
    rows_.clear();
  }
  if (!full_screen_) return;
  auto* row = row_ < rows_.size() ? &rows_[row_] : nullptr;
  const std::size_t here = row != nullptr ? std::min(column_, row->size()) : 0;
  switch (final_byte) {
    case 'H':
    case 'f':
      // A refresh begins with the clock in the first row, and ends with the cursor in the last corner.
      if (n == 1 && rows_.size() > 1) show(out);
      move(n - 1, m - 1);
      break;
    case 'd':
      move(n - 1, column_);
      break;
    case 'G':
      move(row_, n - 1);
      break;
    case 'A':
      move(row_ - std::min(row_, n), column_);
      break;
    case 'B':
      move(row_ + n, column_);
      break;
    case 'C':
      move(row_, column_ + n);
      break;
    case 'D':
      move(row_, column_ - std::min(column_, n));
      break;
    case 'K':
      if (row != nullptr && parameter(p, 0, 0) == 0) row->resize(here), changed_ = true;
      if (row != nullptr && parameter(p, 0, 0) == 1)
        std::fill_n(row->begin(), std::min(column_ + 1, row->size()), " "), changed_ = true;
      if (row != nullptr && parameter(p, 0, 0) == 2) row->clear(), changed_ = true;
      break;
    case 'X':
      if (row != nullptr)
        std::fill_n(row->begin() + static_cast<std::ptrdiff_t>(here), std::min(n, row->size() - here), " "),
            changed_ = true;
      break;
    case 'P':
      if (row != nullptr)
        row->erase(row->begin() + static_cast<std::ptrdiff_t>(here),
                   row->begin() + static_cast<std::ptrdiff_t>(here + std::min(n, row->size() - here))),
            changed_ = true;
      break;
    case '@':
      if (row != nullptr && row->size() + n < max_columns)
        row->insert(row->begin() + static_cast<std::ptrdiff_t>(here), n, " "), changed_ = true;
      break;
    case 'b':
      if (row != nullptr && here > 0)
        for (std::size_t i = 0; i < n; ++i) {
          const std::string again = rows_[row_][here - 1];  // a copy, because put() may move the row
          for (const char c : again) put(c);
        }
      break;
    case 'J':
      if (parameter(p, 0, 0) != 1 && row_ < rows_.size()) {
        rows_[row_].resize(here);
        rows_.resize(row_ + 1);
        changed_ = true;
      }
      break;
    default:
      break;
  }
}

// Appends the screen if it changed since the last call, up to the limit on the total output.
void ScreenPlayer::show(std::string& out) {
  if (!changed_ || shown_ > max_shown + max_shown_share * fed_) return;
  changed_ = false;
  const std::size_t before = out.size();
  if (!out.empty() && out.back() != '\n') out.push_back('\n');
  for (const auto& row : rows_) {
    std::string line;
    for (const std::string& cell : row) line += cell;
    line.resize(line.find_last_not_of(' ') + 1);
    out += line;
    out.push_back('\n');
  }
  shown_ += out.size() - before;
}

}  // namespace oomdoctor
