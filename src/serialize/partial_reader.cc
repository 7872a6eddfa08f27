// Reads a part by the list of its fields. A part may come from anywhere: each value has limits, far above what a scan
// produces, and the message of a refusal names the field.
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
#include <vector>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "serialize/partial.h"
#include "serialize/partial_fields.h"

namespace oomdoctor {
namespace {

using AnyJson = nlohmann::json;  // accepts any order and many names

constexpr double value_limit = 1e15, x_limit = 1e19;  ///< of a series; a scan leaves larger ones out
constexpr i64 line_limit = i64{1} << 40;              ///< of one log
constexpr int depth_limit = 16;                       ///< a case has half this nesting depth

/// The reason why a line is not a part. A caller adds the location.
struct Broken {
  std::string why;
};

template <class Enum>
Enum enum_named(std::string_view name) {
  if (const auto value = from_string<Enum>(name)) return *value;
  throw Broken{fmt::format("'{}' is not known", name)};
}

bool within(double most, std::initializer_list<double> values) {
  return std::all_of(values.begin(), values.end(), [most](double v) { return std::abs(v) <= most; });
}

std::string decode_bytes(const std::string& characters) {
  std::string bytes;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const auto byte = static_cast<unsigned char>(characters[i]);
    if (byte < 0x80)
      bytes += characters[i];
    else if ((byte == 0xC2 || byte == 0xC3) && i + 1 < characters.size())
      bytes += static_cast<char>((byte & 3) << 6 | (static_cast<unsigned char>(characters[++i]) & 0x3F));
    else
      throw Broken{"its bytes are not bytes"};
  }
  return bytes;
}

template <class T>
inline constexpr bool is_list = !Text<T> && requires(T value) {
  value.size();
};
template <class T>
inline constexpr bool is_list<std::optional<T>> = is_list<T>;

/// Reads the fields of one struct. A list of items needs a limit in its specification.
class PartReader : public FieldVisitor {
 public:
  explicit PartReader(const AnyJson& in) : in_(in) {
    if (!in.is_object()) throw Broken{"there is no object where one must be"};
  }

  template <class T>
  void operator()(const char* name, T& value, const FieldSpec& spec = {}) {
    read_named(name, [&](const AnyJson& from) {
      if constexpr (is_list<T>) check_list(from, spec.max_items.value_or(0));
      read(from, value);
    });
  }

  void buckets(const char* name, Series& series) {
    std::vector<Bucket> buckets;
    read_named(name, [&](const AnyJson& from) {
      if (!from.is_array() || from.size() > Series::max_buckets) throw Broken{"it is not a list of values"};
      for (const AnyJson& row : from) buckets.push_back(read_bucket(row));
    });
    i64 values = 0;
    for (const Bucket& b : buckets) {
      const bool fits =
          std::isfinite(b.t) && within(x_limit, {b.x, b.x_low, b.x_high}) && within(value_limit, {b.y, b.low, b.high});
      if (!fits || b.n < 1 || b.n > series.n - values) throw Broken{"buckets: they do not add up"};
      values += b.n;
    }
    const bool figures = within(x_limit, {series.first_x, series.last_x, series.max_x, series.interval}) &&
                         within(value_limit, {series.first_value, series.last_value, series.max_value, series.min_value,
                                              series.quantum, series.capacity}) &&
                         series.quantum >= 0 && series.capacity >= 0;
    if (series.n < 0 || !figures) throw Broken{"n: the figures are none of a series"};
    series.restore(std::move(buckets));
  }

  void exit_or_remark(Event& event) {
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

  static void check_list(const AnyJson& from, std::size_t max_items) {
    if (!from.is_array()) throw Broken{"it is not a list"};
    if (from.size() > max_items) throw Broken{fmt::format("it has more than {} items", max_items)};
  }

  static Bucket read_bucket(const AnyJson& row) {
    if (!row.is_array()) throw Broken{"a value is not a list of numbers"};
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
  static void read(const AnyJson& from, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!from.is_boolean()) throw Broken{"it is neither true nor false"};
      value = from.get<bool>();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (!from.is_number_unsigned()) throw Broken{"it is neither an address nor a size"};
      value = from.get<std::uint64_t>();
    } else if constexpr (std::is_integral_v<T>) {
      const bool huge = from.is_number_unsigned() &&
                        from.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<i64>::max());
      if (!from.is_number_integer() || huge) throw Broken{"it is not a whole number"};
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
        throw Broken{"it is not a number"};
    } else if constexpr (std::is_enum_v<T>) {
      if (!from.is_string()) throw Broken{"it is not a name"};
      value = enum_named<T>(from.get_ref<const std::string&>());
    } else {
      PartReader inner(from);
      fields(inner, value);
      if constexpr (std::is_same_v<T, Bytes>)
        if (value.count == std::numeric_limits<i64>::min() || value.slack < 0) throw Broken{"it is not a size"};
    }
  }

  static void read(const AnyJson& from, std::string& value) {
    if (from.is_string()) {
      value = from.get<std::string>();
      return;
    }
    if (!from.is_object() || from.size() != 1 || !from.contains("bytes") || !from["bytes"].is_string())
      throw Broken{"it is not text"};
    value = decode_bytes(from["bytes"].get_ref<const std::string&>());
  }

  template <class T>
  static void read(const AnyJson& from, std::optional<T>& value) {
    read(from, value.emplace());
  }

  template <class T>
  static void read(const AnyJson& from, std::vector<T>& values) {
    values.reserve(from.size());
    for (const AnyJson& item : from) read(item, values.emplace_back());
  }

  template <class T, class Order>
  static void read(const AnyJson& from, std::map<std::string, T, Order>& values) {
    for (const AnyJson& item : from) {
      if (!item.is_array() || item.size() != 2) throw Broken{"an item is not a pair"};
      std::string name;
      read(item[0], name);
      read(item[1], values[name]);
    }
  }

  const AnyJson& in_;
};

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw Error(fmt::format("{}: this is not a part of a case: {}", where, why), "",
              "parts are written by oomdoctor analyze --format partial; write this one again");
}

void check_version(i64 written, const std::string& where) {
  if (written == partial_version) return;
  throw Error(fmt::format("{}: it is of version {} of the partial format; this oomdoctor reads {}", where, written,
                          partial_version),
              "", "read the logs and join the parts with the same oomdoctor");
}

void check_snapshot(const MemorySnapshot& snapshot) {
  const ReportSnapshot& report = snapshot.report;
  if (snapshot.refused && (snapshot.refused->event < 0 || snapshot.refused->event >= line_limit))
    throw Broken{"snapshots.refused.event: it is not an event of a file"};
  const auto holds = [&](const KeptBlock& block) { return block.holder < report.holders.size(); };
  if (!std::all_of(snapshot.blocks.begin(), snapshot.blocks.end(), holds))
    throw Broken{"snapshots.blocks.holder: there is no such holder"};
  if (report.live_basis.empty()) throw Broken{"snapshots.report.live_basis: it is empty"};
  if (report.map && report.map->row_bytes < 1) throw Broken{"snapshots.map.row_bytes: it is not a length"};
}

/// Lines of one file limit the order of events, and the number of claimed lines.
void check(const ScanResult& file) {
  const i64 lines = file.inputs.front().lines, claimed = file.coverage.claimed;
  if (lines < 0 || lines > line_limit || file.coverage.lines != lines || claimed < 0 || claimed > lines)
    throw Broken{"coverage: it is not of the lines of the file"};
  const auto fits = [](const auto& said) { return said.when.order >= 0 && said.when.order < line_limit; };
  if (!std::all_of(file.incidents.begin(), file.incidents.end(), fits) ||
      !std::all_of(file.remarks.begin(), file.remarks.end(), fits))
    throw Broken{"when.order: it is not a line of a file"};
  std::for_each(file.snapshots.begin(), file.snapshots.end(), check_snapshot);
}

/// Reads the first fields of an object and stops after the last wanted one.
class HeadReader : public nlohmann::json_sax<AnyJson> {
 public:
  std::optional<i64> version, modified;
  std::optional<std::string> path, digest;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t number) override {
    if (depth_ == 1 && key_ == part_version_field) version = number;
    return value();
  }
  bool number_unsigned(number_unsigned_t number) override {
    constexpr number_unsigned_t last_time = 253402300799;  // of the year 9999
    if (depth_ == 1 && key_ == part_version_field) version = static_cast<i64>(number);
    if (depth_ == 1 && key_ == "modified" && number <= last_time) modified = static_cast<i64>(number);
    return value();
  }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t& text) override {
    if (depth_ == 1 && key_ == "path") path = text;
    if (depth_ == 2 && outer_ == "path" && key_ == "bytes") path = decode_bytes(text);
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

PartId read_part_id(std::string_view line, const std::string& where) {
  HeadReader head;
  try {
    AnyJson::sax_parse(line, &head);
  } catch (const Broken& broken) {
    refuse(where, broken.why);
  }
  if (head.version) check_version(*head.version, where);
  if (!head.version || !head.path || !head.digest) refuse(where, "it does not say of which log");
  return {*head.path, *head.digest, head.modified};
}

ScanResult read_part(std::string_view line, const std::string& where) {
  ScanResult file;
  file.inputs.emplace_back();
  try {
    const AnyJson json = AnyJson::parse(line, [](int depth, AnyJson::parse_event_t, AnyJson&) {
      if (depth > depth_limit) throw Broken{"it is nested too deeply"};
      return true;
    });
    if (!json.is_object() || !json.contains(part_version_field) || !json[part_version_field].is_number_integer())
      throw Broken{"it does not say so"};
    check_version(json[part_version_field].get<i64>(), where);
    if (!json.contains("case")) throw Broken{"there is no case in it"};
    PartReader head(json);
    head("case", file);
    head("path", file.inputs.front().path);
    check(file);
  } catch (const nlohmann::json::exception&) {
    refuse(where, "it is not a whole line of JSON");
  } catch (const Broken& broken) {
    refuse(where, broken.why);
  }
  return file;
}

}  // namespace oomdoctor
