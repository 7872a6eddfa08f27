#include "text/json_player.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "base/parse_whole.h"

namespace oomdoctor {
namespace {

// Bounds of an answer, far above what Prometheus prints: bytes of a string or a number, of all labels of a series, and
// brackets around a value.
constexpr std::size_t max_text = 512, max_labels = 1900, max_depth = 64;

/// Milliseconds since 1970, from seconds.
std::string milliseconds(const std::string& seconds) {
  const auto value = parse_whole<double>(seconds);
  return value && std::abs(*value) < 1e12 ? std::to_string(std::llround(*value * 1000)) : "";
}

}  // namespace

JsonPlayer::Played JsonPlayer::kind_of(std::string_view head) {
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == head.npos) return Played::none;
  const auto has = [&](std::string_view key) { return head.find(key) != head.npos; };
  const auto has_any = [&](std::initializer_list<std::string_view> keys) {
    return std::any_of(keys.begin(), keys.end(), has);
  };
  // A list of samples: objects with a time and memory.
  if (head[begin] == '[') {
    const std::size_t record = head.find_first_not_of(" \t\r\n", begin + 1);
    constexpr std::size_t front = 1000;  // bytes with the first keys of the first record
    head = head.substr(0, begin + front);
    const bool samples = record < head.size() && head[record] == '{' &&
                         has_any({"\"time\"", "\"ts\"", "timestamp\"", "\"elapsed", "\"date\"", "\"datetime\""}) &&
                         has_any({"mem", "vram", "rss", "ram_", "_ram"});
    return samples ? Played::records : Played::none;
  }
  if (head[begin] != '{') return Played::none;
  if (has("\"resultType\"") && (has("\"matrix\"") || has("\"vector\""))) return Played::query_answer;
  return has("\"log_history\"") ? Played::records : Played::none;
}

void JsonPlayer::feed(std::string_view raw, std::string& out) {
  for (const char c : raw) kind_ == Played::records ? break_lines(c, out) : take(c, out);
}

/// Within a record, an object in an array, line breaks and the indentation after them are dropped, and between records
/// everything.
void JsonPlayer::break_lines(char c, std::string& out) {
  if (in_string_) {
    in_string_ = escaped_ || c != '"';
    escaped_ = !escaped_ && c == '\\';
    out.push_back(c);
    return;
  }
  if (between_ && (is_space(c) || c == ',')) return;
  if (c == '{' || c == '[') {
    const bool begins = c == '{' && record_ == 0 && open_.ends_with('[');
    if (open_.size() < max_depth) open_.push_back(c);
    if (begins) record_ = open_.size();
    if (begins && !between_) out.push_back('\n');
  }
  between_ = false;
  if (record_ > 0 && (c == '\n' || c == '\r')) {
    after_break_ = true;
    return;
  }
  if (record_ > 0 && after_break_ && is_space(c)) return;
  after_break_ = false;
  in_string_ = c == '"';
  out.push_back(c);
  if ((c != '}' && c != ']') || open_.empty()) return;
  if (open_.size() == record_) {
    record_ = 0;
    between_ = true;
    out.push_back('\n');
  }
  open_.pop_back();
}

void JsonPlayer::take(char c, std::string& out) {
  if (in_string_) {
    const bool ends = !escaped_ && c == '"';
    escaped_ = !escaped_ && c == '\\';
    if (!ends && text_.size() < max_text) text_.push_back(c);
    if (ends) end_text();
    in_string_ = !ends;
    return;
  }
  if (in_scalar_ && (is_space(c) || c == ',' || c == ']' || c == '}')) {
    in_scalar_ = false;
    end_text();
  }
  if (c == '"') {
    in_string_ = true;
    text_.clear();
  } else if (c == '{' || c == '[') {
    open(c);
  } else if (c == '}' || c == ']') {
    close(out);
  } else if (c == ',') {
    expects_key_ = open_.ends_with('{');
  } else if (c != ':' && !is_space(c)) {
    if (!in_scalar_) text_.clear();
    in_scalar_ = true;
    if (text_.size() < max_text) text_.push_back(c);
  }
}

/// A string or a number has ended.
void JsonPlayer::end_text() {
  if (expects_key_) {
    key_ = text_;
    expects_key_ = false;
  } else if (labels_at_ > 0) {
    add_label();
  } else if (open_.ends_with('[')) {
    (time_.empty() ? time_ : value_) = text_;
  }
}

void JsonPlayer::open(char c) {
  if (open_.size() < max_depth) open_.push_back(c);
  expects_key_ = c == '{';
  time_.clear();
  value_.clear();
  if (c != '{' || key_ != "metric") return;
  labels_at_ = open_.size();
  name_.clear();
  labels_.clear();
  overlong_ = false;
}

void JsonPlayer::close(std::string& out) {
  if (labels_at_ == open_.size()) labels_at_ = 0;
  if (open_.ends_with('[') && !value_.empty() && (key_ == "values" || key_ == "value")) write_sample(out);
  time_.clear();
  value_.clear();
  if (!open_.empty()) open_.pop_back();
}

void JsonPlayer::add_label() {
  if (key_ == "__name__") {
    name_ = text_;
    return;
  }
  const std::string label = key_ + "=\"" + text_ + '"';
  overlong_ |= labels_.size() + label.size() > max_labels;
  if (!overlong_) labels_.append(labels_.empty() ? "" : ",").append(label);
}

void JsonPlayer::write_sample(std::string& out) const {
  const std::string time = milliseconds(time_);
  if (time.empty() || overlong_) return;
  out.append(name_);
  if (!labels_.empty()) out.append("{").append(labels_).append("}");
  out.append(" ").append(value_).append(" ").append(time).append("\n");
}

}  // namespace oomdoctor
