// fields() lists the content of a case once, and both directions follow that list, so what one writes the other reads.
// Empty fields are left out.
#include "report/partial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/natural_order.h"
#include "oomdoctor/version.h"
#include "report/redact.h"
#include "report/utf8.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;  // for writing: keeps the order, so that the same case gives the same bytes
using Read = nlohmann::json;          // for reading: foreign input may have any order and many names

constexpr const char* version_field = "oomdoctor_partial";
// Limits for foreign input, far above what a scan produces.
constexpr std::size_t max_frames = 1 << 16, max_others = 1 << 16;  ///< per failure
constexpr std::size_t max_items = 1 << 13;                         ///< remarks, their ids, parsers, notes
constexpr double max_value = 1e15, max_x = 1e19;                   ///< of a series; a scan leaves larger ones out
constexpr i64 max_lines = i64{1} << 40;                            ///< of one log
constexpr int deepest = 16;                                        ///< a case has half this nesting depth

/// The reason why a line is no part. A caller adds the location.
struct Broken {
  std::string why;
};

// --- both directions ---------------------------------------------------------------------------------------------

template <class Archive>
void fields(Archive& a, Bytes& of) {
  a("count", of.count);
  a("slack", of.slack);
}

template <class Archive>
void fields(Archive& a, Evidence& of) {
  a("line", of.span.first_line);
  a("end_line", of.span.last_line);
  a("column", of.span.column);
  a("end_column", of.span.end_column);
  a("reader", of.reader);
  a("excerpt", of.excerpt);
  a("lead", of.lead);
}

template <class Archive>
void fields(Archive& a, Origin& of) {
  a("rank", of.rank);
  a("device", of.device);
  a("pid", of.pid);
  a("host", of.host);
}

template <class Archive>
void fields(Archive& a, When& of) {
  a("order", of.order);
  a("time", of.time);
  a("step", of.step);
  a("epoch", of.epoch);
}

template <class Archive>
void fields(Archive& a, OtherProcess& of) {
  a("pid", of.pid);
  a("used", of.used);
}

template <class Archive>
void fields(Archive& a, Frame& of) {
  a("file", of.file);
  a("line", of.line);
  a("function", of.function);
  a("code", of.code);
  a("library", of.library);
}

template <class Archive>
void fields(Archive& a, Oom& of) {
  a("kind", of.kind);
  a("agent", of.agent);
  a("framework", of.framework);
  a("message_format", of.message_format);
  a("request", of.request);
  a("capacity", of.capacity);
  a("free", of.free);
  a("process", of.process);
  a("allocated", of.allocated);
  a("reserved", of.reserved);
  a("unallocated", of.unallocated);
  a("private_pools", of.private_pools);
  a("limit", of.limit);
  a("others", of.others, max_others);
  a("caught", of.caught);
  a("beyond_exabyte", of.beyond_exabyte);
  a("sizes_not_available", of.sizes_not_available);
  a("printed_advice", of.printed_advice);
  a("process_name", of.process_name);
  a("frames", of.frames, max_frames);
}

template <class Archive>
void fields(Archive& a, RunPlace& of) {
  a("number", of.number);
  a("first_line", of.first_line);
  a("progress_lines", of.progress_lines);
  a("first_step", of.first_step);
}

template <class Archive>
void fields(Archive& a, Incident& of) {
  a("oom", of.oom);
  a("at", of.evidence);
  a("where", of.origin);
  a("when", of.when);
  a("occurrences", of.occurrences, ScanLimits::occurrences);
  a("more_occurrences", of.more_occurrences);
  a("handled", of.handled);
  a("handled_by", of.handled_by);
  a("run", of.run);
}

/// A bucket with a single value takes three numbers, others eight. A restart adds `true`.
template <class Archive>
void fields(Archive& a, Series& of) {
  a("metric", of.metric);
  a("kind", of.kind);
  a("where", of.origin);
  a("label", of.label);
  a("phase", of.phase);
  a("unit", of.unit);
  a("ambiguous_unit", of.ambiguous_unit);
  a("quantum", of.quantum);
  a("capacity", of.capacity);
  a("has_steps", of.has_steps);
  a("has_times", of.has_times);
  a("first", of.first_evidence);
  a("last", of.last_evidence);
  a("n", of.n);
  a("first_x", of.first_x);
  a("last_x", of.last_x);
  a("first_value", of.first_value);
  a("last_value", of.last_value);
  a("max_value", of.max_value);
  a("min_value", of.min_value);
  a("max_x", of.max_x);
  a("falls", of.falls);
  a("plateaus", of.plateaus);
  a("interval", of.interval);
  a.buckets("buckets", of);
}

template <class Archive>
void fields(Archive& a, KnownSetting& of) {
  a("value", of.value);
  a("at", of.evidence);
  a("before", of.before);
  a("before_line", of.before_line);
}

template <class Archive>
void fields(Archive& a, Exit& of) {
  a("code", of.code);
  a("signal", of.signal);
}

template <class Archive>
void fields(Archive& a, Remark& of) {
  a("id", of.id);
  a("number", of.number);
}

template <class Archive>
void fields(Archive& a, Event& of) {
  a("at", of.evidence);
  a("where", of.origin);
  a("when", of.when);
  a.what(of);
}

template <class Archive>
void fields(Archive& a, Input& of) {
  a("kind", of.kind);
  a("bytes", of.bytes);
  a("lines", of.lines);
  a("compression", of.compression);
  a("truncated", of.truncated);
  a("unreadable", of.unreadable);
}

template <class Archive>
void fields(Archive& a, Note& of) {
  a("severity", of.severity);
  a("text", of.text);
  a("at", of.at);
}

template <class Archive>
void fields(Archive& a, Coverage& of) {
  a("lines", of.lines);
  a("claimed", of.claimed);
  a("by_parser", of.by_parser, max_items);
}

template <class Archive>
void fields(Archive& a, ScanResult& of) {
  a("input", of.inputs.front());
  a("incidents", of.incidents, ScanLimits::incidents);
  a("more_incidents", of.more_incidents);
  a("later_runs", of.later_runs, ScanLimits::runs);
  a("series", of.series, ScanLimits::series);
  a("more_series", of.more_series);
  a("settings", of.settings, ScanLimits::settings);
  a("remarks", of.remarks, max_items);
  a("remark_counts", of.remark_counts, max_items);
  a("first_step", of.first_step);
  a("last_step", of.last_step);
  a("progress_lines", of.progress_lines);
  a("last_progress", of.last_progress);
  a("first_time", of.period.first);
  a("last_time", of.period.last);
  a("impossible_values", of.impossible_values);
  a("first_impossible", of.first_impossible);
  a("coverage", of.coverage);
  a("notes", of.notes, max_items);
  a("more_notes", of.more_notes);
}

// --- the names of closed sets ------------------------------------------------------------------------------------

std::string_view name_of(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}
std::string_view name_of(auto value) { return to_string(value); }

template <class Enum>
constexpr Enum last_of() {
  if constexpr (std::is_same_v<Enum, OomKind>)
    return last_oom_kind;
  else if constexpr (std::is_same_v<Enum, Agent>)
    return last_agent;
  else if constexpr (std::is_same_v<Enum, Metric>)
    return last_metric;
  else if constexpr (std::is_same_v<Enum, SeriesKind>)
    return last_series_kind;
  else
    return Severity::error;
}

template <class Enum>
Enum enum_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(last_of<Enum>()); ++i)
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  throw Broken{fmt::format("'{}' is not known", name)};
}

// --- writing -----------------------------------------------------------------------------------------------------

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char next = first_character(text);
    if (!next.good) return false;
    text.remove_prefix(next.size);
  }
  return true;
}

/// JSON strings are Unicode. Other bytes become the characters with the same numbers, in an object that marks them as
/// bytes.
Json text_of(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string characters;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) characters += static_cast<char>(0xC0 | byte >> 6);
    characters += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte);
  }
  return {{"bytes", characters}};
}

class PartWriter {
 public:
  template <class T, class... Limit>
  void operator()(const char* name, const T& value, Limit...) {
    Json written = json_of(value);
    if (!is_nothing(written)) out_[name] = std::move(written);
  }

  /// For an optional value, zero differs from absent.
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (!value) return;
    Json written = json_of(*value);
    out_[name] = written.is_null() ? Json(0.0) : std::move(written);
  }

  void buckets(const char* name, const Series& series) {
    Json rows = Json::array();
    for (const Bucket& b : series.buckets()) {
      const bool single = b.n == 1 && b.y == b.low && b.y == b.high && b.x == b.x_low && b.x == b.x_high;
      Json row =
          single ? Json::array({b.x, b.t, b.y}) : Json::array({b.x, b.t, b.y, b.n, b.low, b.high, b.x_low, b.x_high});
      if (b.restart) row.push_back(true);
      rows.push_back(std::move(row));
    }
    if (!rows.empty()) out_[name] = std::move(rows);
  }

  void what(const Event& event) {
    if (const auto* exit = std::get_if<Exit>(&event.what))
      out_["exit"] = json_of(*exit);
    else if (const auto* remark = std::get_if<Remark>(&event.what))
      out_["remark"] = json_of(*remark);
  }

  Json take() { return std::move(out_); }

 private:
  static bool is_nothing(const Json& v) {
    return v.is_null() || (v.is_structured() && v.empty()) ||
           (v.is_string() && v.get_ref<const std::string&>().empty()) || (v.is_boolean() && !v.get<bool>()) ||
           (v.is_number_integer() && v.get<i64>() == 0);
  }

  template <class T>
  static Json json_of(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      return text_of(value);
    } else if constexpr (std::is_same_v<T, double>) {
      if (value == 0 && !std::signbit(value)) return nullptr;
      return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (std::is_enum_v<T>) {
      return name_of(value);
    } else {
      PartWriter inner;
      fields(inner, const_cast<T&>(value));  // NOLINT: one list of fields serves both directions; this one only reads
      Json object = std::move(inner.out_);
      return object.is_null() ? Json::object() : object;
    }
  }

  template <class T>
  static Json json_of(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(json_of(value));
    return array;
  }

  /// Names come from logs, too. They are written as pairs, because text that is not UTF-8 cannot be a key.
  template <class T, class Order>
  static Json json_of(const std::map<std::string, T, Order>& values) {
    Json array = Json::array();
    for (const auto& [name, value] : values) array.push_back(Json::array({text_of(name), json_of(value)}));
    return array;
  }

  Json out_;
};

// --- without secrets ---------------------------------------------------------------------------------------------

class SecretRemover {
 public:
  template <class T, class... Limit>
  void operator()(const char*, T& value, Limit...) {
    clean(value);
  }
  void buckets(const char*, Series&) {}
  void what(Event&) {}  // it has only ids of parsers

 private:
  static void clean(std::string& text) { text = without_secrets(text); }
  static void clean(Evidence& of) {
    remove_secrets(of.lead, of.excerpt, of.span.column, of.span.end_column);
    of.lead.clear();
  }
  template <class T>
  static void clean(std::optional<T>& value) {
    if (value) clean(*value);
  }
  template <class T>
  static void clean(std::vector<T>& values) {
    for (T& value : values) clean(value);
  }
  template <class T, class Order>
  static void clean(std::map<std::string, T, Order>& values) {
    for (auto& [name, value] : values) clean(value);
  }
  template <class T>
  static void clean(T& value) {
    if constexpr (!std::is_arithmetic_v<T> && !std::is_enum_v<T>) {
      SecretRemover inner;
      fields(inner, value);
    }
  }
};

// --- reading -----------------------------------------------------------------------------------------------------

bool within(double most, std::initializer_list<double> values) {
  return std::all_of(values.begin(), values.end(), [most](double v) { return std::abs(v) <= most; });
}

std::string bytes_of(const std::string& characters) {
  std::string bytes;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const auto byte = static_cast<unsigned char>(characters[i]);
    if (byte < 0x80)
      bytes += characters[i];
    else if ((byte == 0xC2 || byte == 0xC3) && i + 1 < characters.size())
      bytes += static_cast<char>((byte & 3) << 6 | (static_cast<unsigned char>(characters[++i]) & 0x3F));
    else
      throw Broken{"its bytes are no bytes"};
  }
  return bytes;
}

class Reader {
 public:
  explicit Reader(const Read& in) : in_(in) {
    if (!in.is_object()) throw Broken{"there is no object where one must be"};
  }

  template <class T>
  void operator()(const char* name, T& value) {
    read_named(name, [&](const Read& from) { read(from, value); });
  }
  template <class T>
  void operator()(const char* name, T& values, std::size_t most) {
    read_named(name, [&](const Read& from) {
      if (!from.is_array()) throw Broken{"it is no list"};
      if (from.size() > most) throw Broken{fmt::format("it has more than {} items", most)};
      read_items(from, values);
    });
  }

  void buckets(const char* name, Series& series) {
    std::vector<Bucket> buckets;
    read_named(name, [&](const Read& from) {
      if (!from.is_array() || from.size() > Series::max_buckets) throw Broken{"it is no list of values"};
      for (const Read& row : from) buckets.push_back(bucket_of(row));
    });
    i64 values = 0;
    for (const Bucket& b : buckets) {
      const bool fits =
          std::isfinite(b.t) && within(max_x, {b.x, b.x_low, b.x_high}) && within(max_value, {b.y, b.low, b.high});
      if (!fits || b.n < 1 || b.n > series.n - values) throw Broken{"buckets: they do not add up"};
      values += b.n;
    }
    const bool figures = within(max_x, {series.first_x, series.last_x, series.max_x, series.interval}) &&
                         within(max_value, {series.first_value, series.last_value, series.max_value, series.min_value,
                                            series.quantum, series.capacity}) &&
                         series.quantum >= 0 && series.capacity >= 0;
    if (series.n < 0 || !figures) throw Broken{"n: the figures are none of a series"};
    series.restore(std::move(buckets));
  }

  void what(Event& event) {
    Exit exit;
    Remark remark;
    if (in_.contains("exit")) {
      (*this)("exit", exit);
      event.what = exit;
    } else {
      (*this)("remark", remark);
      event.what = remark;
    }
  }

 private:
  template <class Visit>
  void read_named(const char* name, Visit visit) {
    const auto found = in_.find(name);
    if (found == in_.end()) return;
    try {
      visit(*found);
    } catch (const Broken& broken) {
      const bool inside = broken.why.find(": ") != std::string::npos;
      throw Broken{fmt::format("{}{}{}", name, inside ? "." : ": ", broken.why)};
    }
  }

  static Bucket bucket_of(const Read& row) {
    if (!row.is_array()) throw Broken{"a value is no list of numbers"};
    Bucket b;
    std::size_t numbers = row.size();
    if (numbers > 0 && row[numbers - 1].is_boolean()) read(row[--numbers], b.restart);
    if (numbers != 3 && numbers != 8) throw Broken{"a value has 3 or 8 numbers"};
    read(row[0], b.x);
    read(row[1], b.t);
    read(row[2], b.y);
    b.n = 1, b.low = b.high = b.y, b.x_low = b.x_high = b.x;
    if (numbers == 3) return b;
    read(row[3], b.n);
    read(row[4], b.low);
    read(row[5], b.high);
    read(row[6], b.x_low);
    read(row[7], b.x_high);
    return b;
  }

  template <class T>
  static void read(const Read& from, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!from.is_boolean()) throw Broken{"it is neither true nor false"};
      value = from.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      const bool huge = from.is_number_unsigned() &&
                        from.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<i64>::max());
      if (!from.is_number_integer() || huge) throw Broken{"it is no whole number"};
      const i64 number = from.get<i64>();
      value = static_cast<T>(number);
      if (static_cast<i64>(value) != number) throw Broken{"the number is too large"};
    } else if constexpr (std::is_same_v<T, double>) {
      if (from.is_string() && from == "nan")
        value = std::nan("");
      else if (from.is_string() && (from == "inf" || from == "-inf"))
        value = from == "inf" ? HUGE_VAL : -HUGE_VAL;
      else if (from.is_number())
        value = from.get<double>();
      else
        throw Broken{"it is no number"};
    } else if constexpr (std::is_enum_v<T>) {
      if (!from.is_string()) throw Broken{"it is no name"};
      value = enum_named<T>(from.get_ref<const std::string&>());
    } else {
      Reader inner(from);
      fields(inner, value);
      if constexpr (std::is_same_v<T, Bytes>)
        if (value.count == std::numeric_limits<i64>::min() || value.slack < 0) throw Broken{"it is no size"};
    }
  }

  static void read(const Read& from, std::string& value) {
    if (from.is_string()) {
      value = from.get<std::string>();
      return;
    }
    if (!from.is_object() || from.size() != 1 || !from.contains("bytes") || !from["bytes"].is_string())
      throw Broken{"it is no text"};
    value = bytes_of(from["bytes"].get_ref<const std::string&>());
  }

  template <class T>
  static void read(const Read& from, std::optional<T>& value) {
    read(from, value.emplace());
  }

  template <class T>
  static void read_items(const Read& from, std::vector<T>& values) {
    values.reserve(from.size());
    for (const Read& item : from) read(item, values.emplace_back());
  }

  template <class T, class Order>
  static void read_items(const Read& from, std::map<std::string, T, Order>& values) {
    for (const Read& item : from) {
      if (!item.is_array() || item.size() != 2) throw Broken{"an item is no pair"};
      std::string name;
      read(item[0], name);
      read(item[1], values[name]);
    }
  }

  const Read& in_;
};

// --- a whole line ------------------------------------------------------------------------------------------------

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw Error(fmt::format("{}: this is no part of a case: {}", where, why), "",
              "parts are written by oomdoctor analyze --format partial; write this one again");
}

void check_version(i64 written, const std::string& where) {
  if (written == partial_version) return;
  throw Error(fmt::format("{}: it is of version {} of the partial format; this oomdoctor reads {}", where, written,
                          partial_version),
              "", "read the logs and join the parts with the same oomdoctor");
}

/// Lines of one file limit the order of events, and the number of claimed lines.
void check(const ScanResult& file) {
  const i64 lines = file.inputs.front().lines, claimed = file.coverage.claimed;
  if (lines < 0 || lines > max_lines || file.coverage.lines != lines || claimed < 0 || claimed > lines)
    throw Broken{"coverage: it is not of the lines of the file"};
  const auto fits = [](const auto& said) { return said.when.order >= 0 && said.when.order < max_lines; };
  if (!std::all_of(file.incidents.begin(), file.incidents.end(), fits) ||
      !std::all_of(file.remarks.begin(), file.remarks.end(), fits))
    throw Broken{"when.order: it is no line of a file"};
}

/// Reads the first fields of an object and stops after the last wanted one.
class HeadReader : public nlohmann::json_sax<Read> {
 public:
  std::optional<i64> version;
  std::optional<std::string> path, digest;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t number) override {
    if (depth_ == 1 && key_ == version_field) version = number;
    return value();
  }
  bool number_unsigned(number_unsigned_t number) override {
    if (depth_ == 1 && key_ == version_field) version = static_cast<i64>(number);
    return value();
  }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t& text) override {
    if (depth_ == 1 && key_ == "path") path = text;
    if (depth_ == 2 && outer_ == "path" && key_ == "bytes") path = bytes_of(text);
    if (depth_ == 1 && key_ == "digest") digest = text;
    return value();
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    outer_ = depth_ == 1 ? key_ : "";
    return ++depth_ > 0;
  }
  bool start_array(std::size_t) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_, value(); }
  bool end_array() override { return --depth_, value(); }
  bool key(string_t& name) override {
    key_ = depth_ <= 2 ? name : "";
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    problem = error.what();
    return false;
  }

  std::string problem;

 private:
  bool value() const { return !(version && path && digest); }

  int depth_ = 0;
  std::string key_, outer_;
};

}  // namespace

bool operator<(const PartId& a, const PartId& b) {
  if (a.path != b.path) return natural_less(a.path, b.path);
  return a.digest < b.digest;
}

void remove_secrets(ScanResult& file) {
  SecretRemover remover;
  fields(remover, file);
}

std::string partial_line(const PartId& id, const ScanResult& file) {
  Json line = {{version_field, partial_version}};
  line["path"] = text_of(id.path);
  line["digest"] = id.digest;
  line["tool"] = version;
  PartWriter writer;
  fields(writer, const_cast<ScanResult&>(file));  // NOLINT: read only
  line["case"] = writer.take();
  return line.dump();
}

PartId read_part_id(std::string_view line, const std::string& where) {
  HeadReader head;
  try {
    Read::sax_parse(line, &head);
  } catch (const Broken& broken) {
    refuse(where, broken.why);
  }
  if (head.version) check_version(*head.version, where);
  if (!head.version || !head.path || !head.digest) refuse(where, "it does not say of which log");
  return {*head.path, *head.digest};
}

ScanResult read_part(std::string_view line, const std::string& where) {
  ScanResult file;
  file.inputs.emplace_back();
  try {
    const Read json = Read::parse(line, [](int depth, Read::parse_event_t, Read&) {
      if (depth > deepest) throw Broken{"it is nested too deeply"};
      return true;
    });
    if (!json.is_object() || !json.contains(version_field) || !json[version_field].is_number_integer())
      throw Broken{"it does not say so"};
    check_version(json[version_field].get<i64>(), where);
    if (!json.contains("case")) throw Broken{"there is no case in it"};
    Reader head(json);
    head("case", file);
    head("path", file.inputs.front().path);
    check(file);
  } catch (const nlohmann::json::exception&) {
    refuse(where, "it is no whole line of JSON");
  } catch (const Broken& broken) {
    refuse(where, broken.why);
  }
  return file;
}

}  // namespace oomdoctor
