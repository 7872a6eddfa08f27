#include "text/collector_form.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/parse_whole.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

constexpr std::size_t deciding_lines = 2000;  ///< of the beginning
constexpr std::size_t min_lines = 3;          ///< fewer may have the same start by chance
constexpr std::size_t min_indented = 8;       ///< a part of a document is indented as well
constexpr std::size_t longest_label = 200;    ///< the names of a pod and a container have 63 characters each
constexpr std::size_t longest_json = std::size_t{1} << 16;  ///< Docker cuts messages at 16 KiB
/// Digits of a second's fraction: a collector prints 7 or 9, some of them without the zeros at the end. Loggers of
/// programs print up to 6.
constexpr std::size_t min_digits = 7;

/// Programs whose lines in a journal have forms of their own, with their name.
constexpr std::array<std::string_view, 10> reporters{"kernel", "systemd",    "systemd-oomd", "earlyoom", "kubelet",
                                                     "docker", "containerd", "slurm",        "ollama",   "oomd"};

/// A date and a clock as collectors print them: "2026-03-04T05:06:07.123Z", with any fraction and zone.
struct CollectorTime {
  double seconds = 0;
  std::size_t length = 0, digits = 0;  ///< of the text; of the fraction
};

std::optional<CollectorTime> read_collector_time(std::string_view text) {
  constexpr std::size_t clock_at = 11;
  if (text.size() <= clock_at || text[clock_at - 1] != 'T') return std::nullopt;
  const auto stamp = read_time(text);
  if (!stamp || !stamp->has_date) return std::nullopt;
  CollectorTime time{stamp->seconds, stamp->length, 0};
  const std::size_t point = text.substr(0, time.length).find('.');
  for (std::size_t i = point; point != text.npos && i + 1 < text.size() && is_digit(text[i + 1]); ++i) ++time.digits;
  // read_time() leaves the zone: "+01:00", "+0100".
  if (time.length < text.size() && (text[time.length] == '+' || text[time.length] == '-'))
    time.length = std::min(text.find_first_not_of("0123456789:", time.length + 1), text.size());
  return time;
}

/// The text after `length` bytes and a blank; nullopt if another character follows.
std::optional<std::string_view> behind(std::string_view text, std::size_t length) {
  if (length < text.size() && text[length] != ' ') return std::nullopt;
  return text.substr(std::min(length + 1, text.size()));
}

/// The tags of launchers before the lines of a rank: of torch's exceptions, of torchrun with --tee, of srun -l.
struct RankTag {
  std::string_view open, close;
};
constexpr std::array<RankTag, 3> rank_tags{{{"[rank", "]: "}, {"[default", "]:"}, {"", ": "}}};

/// The rank of "[rank3]: ", "[default3]:" or "3: "; nullopt for other labels.
std::optional<int> rank_of_label(std::string_view label) {
  for (const auto& [open, close] : rank_tags) {
    if (!label.starts_with(open) || label.size() < open.size() + close.size() || !label.ends_with(close)) continue;
    const std::string_view digits = label.substr(open.size(), label.size() - open.size() - close.size());
    const std::size_t first = open.empty() ? std::min(digits.find_first_not_of(' '), digits.size()) : 0;
    const auto rank = parse_whole<int>(digits.substr(first));
    if (rank && *rank >= 0) return rank;
  }
  return std::nullopt;
}

/// "[pod/trainer-0/main] ", "trainer-1  | ", "[rank3]: ", "[default3]:", "3: ", "> "; "" if the line begins with none.
std::string_view find_label(std::string_view line) {
  constexpr std::size_t longest_rank = 20;
  for (const RankTag& tag : rank_tags)
    if (const std::size_t close = line.substr(0, longest_rank).find(tag.close); close != line.npos)
      if (const std::string_view label = line.substr(0, close + tag.close.size()); rank_of_label(label)) return label;
  if (line.starts_with("[pod/")) {
    const std::size_t close = line.substr(0, longest_label).find("] ");
    return close == line.npos ? std::string_view() : line.substr(0, close + 2);
  }
  if (line.starts_with("> ")) return line.substr(0, 2);
  std::size_t name = 0;
  bool dashed = false;
  while (name < std::min(line.size(), longest_label) && (is_dashed_name_char(line[name]) || line[name] == '.'))
    dashed |= line[name++] == '-';
  const std::size_t bar = line.find_first_not_of(' ', name);
  const bool named = dashed && name > 0 && bar != line.npos && bar > name && line.substr(bar).starts_with("| ");
  return named ? line.substr(0, bar + 2) : std::string_view();
}

/// The blanks that all lines begin with.
std::string_view find_indentation(const std::vector<std::string_view>& lines) {
  std::string_view shared = lines.front().substr(0, std::min(lines.front().find_first_not_of(" \t"), longest_label));
  for (const std::string_view line : lines) {
    const auto [end, other] = std::mismatch(shared.begin(), shared.end(), line.begin(), line.end());
    shared = shared.substr(0, static_cast<std::size_t>(end - shared.begin()));
  }
  return shared;
}

/// A line of a journal: "Mar 04 05:06:07 node7 train.sh[4242]: MESSAGE", or with a date of ISO 8601.
struct JournalLine {
  double seconds = 0;
  std::string_view writer;  ///< "node7 train.sh"; empty without a process id
  i64 pid = 0;
  std::string_view message;
};

std::optional<JournalLine> read_journal_line(std::string_view line) {
  JournalLine out;
  std::size_t at = 0;
  if (const auto time = read_collector_time(line)) {
    out.seconds = time->seconds;
    at = time->length;
  } else if (const auto clock = read_yearless_time(line)) {
    out.seconds = clock->seconds;
    at = clock->length;
  } else {
    return std::nullopt;
  }
  const auto rest = behind(line, at);
  if (!rest) return std::nullopt;
  const std::size_t colon = rest->substr(0, longest_label).find(": "), host = rest->find(' ');
  if (host >= colon || colon == rest->npos) return std::nullopt;
  const std::string_view writer = rest->substr(0, colon);
  const std::size_t bracket = writer.find('[');
  if (writer.find(' ', host + 1) != writer.npos) return std::nullopt;
  if (writer.ends_with(']') && bracket != writer.npos) {
    out.writer = writer.substr(0, bracket);
    out.pid = leading_integer(writer.substr(bracket + 1));  // 0 if there is none
  }
  out.message = rest->substr(colon + 2);
  return out;
}

/// The writer of more than half of the lines, if all are of a journal and it has no forms of its own; else "".
std::string_view find_writer(const std::vector<std::string_view>& lines) {
  std::map<std::string_view, std::size_t> counts;
  for (const std::string_view line : lines) {
    const auto entry = read_journal_line(line);
    if (!entry) return {};
    ++counts[entry->writer];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->first.empty() || 2 * most->second <= lines.size()) return {};
  const std::string_view program = most->first.substr(most->first.find(' ') + 1);
  const bool reports = std::any_of(reporters.begin(), reporters.end(),
                                   [&](std::string_view reporter) { return program.starts_with(reporter); });
  return reports ? std::string_view() : most->first;
}

/// The keys of a message in the JSON of Docker, journald, Google Cloud and AWS, each with the key of its time and a
/// key that shows the collector: programs write messages as JSON as well.
struct JsonKeys {
  const char *message, *time, *sign;
};
constexpr std::array<JsonKeys, 4> json_keys{{{"log", "time", "stream"},
                                             {"MESSAGE", "__REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP"},
                                             {"textPayload", "timestamp", "logName"},
                                             {"message", "timestamp", "ingestionTime"}}};

/// Seconds since 1970 of a number in seconds, milliseconds or microseconds.
double unix_seconds(double number) {
  constexpr double latest = 1e11;  // in seconds, the year 5138
  while (number > latest) number /= 1000;
  return number;
}

/// A value of a field: a text, or the digits of a number.
struct JsonField {
  std::string key, value;
  bool is_text = false;
};

/// The texts and numbers of one object. Objects and arrays inside are skipped. No value of the library is built: its
/// values allocate when they are destroyed.
class JsonFields : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t number) override { return add(std::to_string(number), false); }
  bool number_float(number_float_t, const string_t& digits) override { return add(digits, false); }
  bool string(string_t& text) override { return add(std::move(text), true); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return ++depth_ > 0; }
  bool start_array(std::size_t) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool key(string_t& name) override {
    if (depth_ == 1) key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  JsonField* find(std::string_view key) {
    const auto same =
        std::find_if(fields_.rbegin(), fields_.rend(), [&](const JsonField& of) { return of.key == key; });
    return same == fields_.rend() ? nullptr : &*same;
  }

 private:
  bool add(std::string value, bool is_text) {
    if (depth_ == 1) fields_.push_back({key_, std::move(value), is_text});
    return true;
  }

  int depth_ = 0;
  std::string key_;
  std::vector<JsonField> fields_;
};

/// Seconds of a date of ISO 8601, or of a number since 1970, which may be a text.
std::optional<double> json_time(const JsonField& field) {
  if (const auto time = field.is_text ? read_collector_time(field.value) : std::nullopt) return time->seconds;
  const auto number = parse_whole<double>(field.value);
  return number && *number >= 0 && *number <= 1e18 ? std::optional(unix_seconds(*number)) : std::nullopt;
}

std::optional<CollectedLine> read_json_line(std::string_view line, std::string& room) {
  if (!line.starts_with('{') || line.size() > longest_json) return std::nullopt;
  JsonFields fields;
  if (!nlohmann::json::sax_parse(line, &fields)) return std::nullopt;
  for (const JsonKeys& keys : json_keys) {
    JsonField *message = fields.find(keys.message), *time = fields.find(keys.time);
    if (message == nullptr || !message->is_text || fields.find(keys.sign) == nullptr) continue;
    CollectedLine out;
    if (time != nullptr) out.time = json_time(*time);
    room = std::move(message->value);
    const bool of_docker = &keys == &json_keys.front();
    out.goes_on = of_docker && !room.ends_with('\n');
    while (room.ends_with('\n')) room.pop_back();
    out.text = room;
    return out;
  }
  return std::nullopt;
}

/// The lines with text that are whole.
std::vector<std::string_view> lines_of(std::string_view head) {
  std::vector<std::string_view> lines;
  for (std::size_t end; (end = head.find('\n')) != head.npos && lines.size() < deciding_lines;
       head.remove_prefix(end + 1))
    if (const std::string_view line = head.substr(0, end); line.find_first_not_of(" \t\r") != line.npos)
      lines.push_back(line);
  return lines;
}

}  // namespace

CollectorForm::CollectorForm(std::string label, StampForm stamp)
    : label_(std::move(label)), stamp_(stamp), rank_(rank_of_label(label_)) {}

std::optional<CollectorForm> CollectorForm::find(std::string_view head) {
  const std::vector<std::string_view> lines = lines_of(head);
  if (lines.size() < min_lines) return std::nullopt;
  std::string room;
  const auto fits = [&](const CollectorForm& form) {
    return std::all_of(lines.begin(), lines.end(),
                       [&](std::string_view line) { return form.peel(line, room).has_value(); });
  };
  std::string_view label = find_label(lines.front());
  if (label.empty() && lines.size() >= min_indented) label = find_indentation(lines);
  for (const StampForm stamp : {StampForm::marked, StampForm::bracketed, StampForm::precise, StampForm::json}) {
    CollectorForm form(std::string(label), stamp);
    if (!fits(form)) continue;
    const auto is_exact = [&](std::string_view line) {
      const auto time = read_collector_time(line.substr(std::min(label.size(), line.size())));
      return time && time->digits >= min_digits;
    };
    const auto exact = std::count_if(lines.begin(), lines.end(), is_exact);
    if (stamp != StampForm::precise || 2 * static_cast<std::size_t>(exact) > lines.size()) return form;
  }
  if (const std::string_view writer = find_writer(lines); !writer.empty())
    return CollectorForm(std::string(writer), StampForm::journal);
  // Lines of a journal have a writer after the time, which their own readers need.
  const CollectorForm yearless({}, StampForm::yearless);
  const auto in_journal = std::count_if(lines.begin(), lines.end(),
                                        [](std::string_view line) { return read_journal_line(line).has_value(); });
  if (2 * static_cast<std::size_t>(in_journal) < lines.size() && fits(yearless)) return yearless;
  CollectorForm form(std::string(label), StampForm::none);
  return !label.empty() && fits(form) ? std::optional(std::move(form)) : std::nullopt;
}

CollectedLine CollectorForm::read(std::string_view line, std::string& room) const {
  return peel(line, room).value_or(CollectedLine{line, std::nullopt});
}

std::optional<CollectedLine> CollectorForm::peel(std::string_view line, std::string& room) const {
  if (stamp_ == StampForm::journal) {
    const auto entry = read_journal_line(line);
    if (!entry || entry->writer != label_) return std::nullopt;
    return CollectedLine{entry->message, entry->seconds, entry->pid};
  }
  if (stamp_ == StampForm::yearless) {
    const auto time = read_yearless_time(line);
    const auto message = time ? behind(line, time->length) : std::nullopt;
    return message ? std::optional(CollectedLine{*message, time->seconds}) : std::nullopt;
  }
  // Of an empty message, editors remove the blank at the end.
  const std::string_view kept = std::string_view(label_).substr(0, label_.find_last_not_of(" \t") + 1);
  if (!line.starts_with(label_) && (kept.empty() || trimmed(line) != kept)) return std::nullopt;
  const std::string_view rest = line.substr(std::min(label_.size(), line.size()));
  if (stamp_ == StampForm::none) return CollectedLine{rest, std::nullopt};
  if (stamp_ == StampForm::json) return read_json_line(rest, room);
  const bool bracketed = stamp_ == StampForm::bracketed;
  if (bracketed && !rest.starts_with('[')) return std::nullopt;
  const auto time = read_collector_time(rest.substr(bracketed ? 1 : 0));
  if (!time || (bracketed && !rest.substr(time->length + 1).starts_with(']'))) return std::nullopt;
  const auto message = behind(rest, time->length + (bracketed ? 2 : 0));
  if (!message) return std::nullopt;
  CollectedLine out{*message, time->seconds};
  if (stamp_ == StampForm::marked) {  // "stdout F ", "stderr P ", GitLab's "01O ", "01E+"
    const std::size_t end = std::min(message->find(' '), message->size());
    const std::string_view mark = message->substr(0, end);
    if (mark == "stdout" || mark == "stderr") {
      const std::string_view tag = message->substr(std::min(end + 1, message->size()), 2);
      if (tag != "F " && tag != "P " && tag != "F" && tag != "P") return std::nullopt;
      out.goes_on = tag.starts_with('P');
      out.text.remove_prefix(end + 1 + tag.size());
    } else if (mark.size() >= 3 && is_digit(mark[0]) && (mark[2] == 'O' || mark[2] == 'E')) {
      out.text.remove_prefix(std::min<std::size_t>(4, message->size()));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace oomdoctor
