#include "serialize/survey_lines.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>
#include <nlohmann/json.hpp>

#include "report/survey_fields.h"
#include "serialize/part_files.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

using AnyJson = nlohmann::json;

constexpr std::size_t longest_line = 1 << 20;  ///< a job has about two kilobytes
constexpr std::string_view line_begin = R"({"oomdoctor_survey":)";

/// The reason why a line is none of a job.
struct NoJob {
  std::string why;
};

/// Seconds since 1970 of "2025-03-04T09:32:10".
std::optional<double> parse_iso_time(const std::string& iso) {
  if (iso.empty()) return std::nullopt;
  const auto time = read_time(iso);
  if (!time || !time->has_date || time->length != iso.size()) throw NoJob{"a time is none"};
  return time->seconds;
}

/// Reads the fields of one struct. The dates are texts in the line: parse_iso_time() has them.
class LineReader : public FieldVisitor {
 public:
  explicit LineReader(const AnyJson& in) : in_(in) {
    if (!in.is_object()) throw NoJob{"there is no object where one must be"};
  }

  template <class T>
  void operator()(const char* name, T& value, const FieldSpec& spec = {}) {
    const auto found = in_.find(name);
    if (found == in_.end() || found->is_null()) return;
    try {
      read(*found, value);
      check(value, spec);
    } catch (const NoJob& broken) {
      throw NoJob{fmt::format("{}: {}", name, broken.why)};
    } catch (const AnyJson::exception&) {
      throw NoJob{fmt::format("{}: it is of another kind", name)};
    }
  }

 private:
  /// A job's numbers are summed up: no sum of as many lines as there may be overflows.
  static constexpr double number_limit = 1e13;

  template <class T>
  static void check(const T& value, const FieldSpec& spec) {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const auto number = static_cast<double>(value);
      const double most = spec.maximum ? *spec.maximum : number_limit;
      if (number < spec.minimum.value_or(0) || number > most) throw NoJob{"it is out of range"};
    } else if constexpr (is_optional<T>) {
      if (value) check(*value, spec);
    }
  }

  static void read(const AnyJson& from, std::string& value) { value = from.get<std::string>(); }
  static void read(const AnyJson& from, bool& value) { value = from.get<bool>(); }
  static void read(const AnyJson& from, double& value) {
    value = from.get<double>();
    if (!std::isfinite(value)) throw NoJob{"it is not a number"};
  }
  static void read(const AnyJson& from, std::int64_t& value) {
    if (!from.is_number_integer()) throw NoJob{"it is not a whole number"};
    const bool huge = from.is_number_unsigned() && from.get<std::uint64_t>() > std::uint64_t{1} << 62;
    value = huge ? std::int64_t{1} << 62 : from.get<std::int64_t>();
  }
  static void read(const AnyJson& from, Outcome& value) {
    const auto name = from.get<std::string>();
    for (const Outcome known : {Outcome::unrecognised, Outcome::no_oom, Outcome::ended_otherwise, Outcome::handled_oom,
                                Outcome::at_risk, Outcome::possible_oom, Outcome::oom})
      if (to_string(known) == name) return void(value = known);
    throw NoJob{"it is not known"};
  }
  static void read(const AnyJson& from, SurveyFix& value) {
    LineReader inner(from);
    fields(inner, value);
  }
  template <class T>
  static void read(const AnyJson& from, std::optional<T>& value) {
    read(from, value.emplace());
  }
  template <class T>
  static void read(const AnyJson& from, std::vector<T>& values) {
    if (!from.is_array()) throw NoJob{"it is not a list"};
    values.reserve(from.size());
    for (const AnyJson& item : from) read(item, values.emplace_back());
  }

  const AnyJson& in_;
};

SurveyJob read_line(const std::string& line) {
  const AnyJson in = AnyJson::parse(line, nullptr, false);
  if (!in.is_object() || in.value("oomdoctor_survey", AnyJson()) != survey_schema_version)
    throw NoJob{fmt::format("it is not a line of a job of version {}", survey_schema_version)};
  SurveyJob job;
  LineReader reader(in);
  fields(reader, job);
  std::string failed_at, ended_at, file_time;
  reader("failed_at", failed_at);
  reader("ended_at", ended_at);
  job.failed_at = parse_iso_time(failed_at);
  job.ended_at = parse_iso_time(ended_at);
  reader("file_time", file_time);
  job.file_time = parse_iso_time(file_time);
  if (job.path.empty() || job.logs < 1) throw NoJob{"it names no log"};
  return job;
}

}  // namespace

bool holds_survey_lines(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream in(path, std::ios::binary);
  std::string text(line_begin.size(), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return static_cast<std::size_t>(in.gcount()) == text.size() && text == line_begin;
}

void read_survey_lines(const std::string& path, const std::function<void(SurveyJob)>& take,
                       const std::function<void(const std::string&)>& left_out) {
  std::ifstream in = open_lines(path);
  std::string line;
  for (std::size_t number = 1; in; ++number) {
    line.clear();
    bool ended = false, too_long = false;
    for (int c; !ended && (c = in.rdbuf()->sbumpc()) != std::ifstream::traits_type::eof();) {
      ended = c == '\n';
      too_long = too_long || line.size() > longest_line;
      if (!ended && !too_long) line += static_cast<char>(c);
    }
    if (!ended) in.setstate(std::ios::eofbit | std::ios::failbit);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    try {
      if (too_long) throw NoJob{"it is longer than a line of a job"};
      take(read_line(line));
    } catch (const NoJob& broken) {
      left_out(fmt::format("{}:{}: {}", path, number, broken.why));
    }
  }
}

}  // namespace oomdoctor
