// The values in the files of trackers, which text/record_player.h plays as lines. The names of the values say what they
// are, as the names of a table's columns do. A value without a unit in its name counts only if it is a number of bytes
// for any GPU or host.
#include <cmath>
#include <string>
#include <vector>

#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/table_columns.h"

namespace oomdoctor::parsers::scalars {
namespace {

constexpr double min_bytes = 1e7;  ///< no memory over time is less, in bytes, or that many of a larger unit

/// MLflow divides by 10^6.
constexpr std::string_view megabytes = "_megabytes";

/// The column with this name.
TableColumn column_of(std::string name) {
  if (name.ends_with(megabytes)) name.replace(name.size() - megabytes.size(), megabytes.size(), " (MB)");
  const std::vector<std::string> names{"step", std::move(name)};
  return read_columns(names, {}).back();
}

int count_decimals(std::string_view number) {
  const std::size_t point = number.find('.');
  return point == number.npos ? 0 : static_cast<int>(number.size() - point - 1);
}

}  // namespace

void value(const Match& m, EventSink& sink) {
  std::optional<double> step, time;
  if (m.has(1)) time = leading_number(m[1]);
  if (m.has(2) && !m[2].starts_with('-')) step = leading_number(m[2]);
  if (step) sink.step({whole_number(*step), {}, {}});
  if (m[3].starts_with('-')) return;
  const std::string name(m[4]);
  const TableColumn column = column_of(name);
  if (column.role != ColumnRole::amount) return;
  const double number = leading_number(m[3]);
  const bool mlflow = name.ends_with(megabytes);
  const double unit = mlflow ? 1e6 : column.unit > 0 ? column.unit : number >= min_bytes ? 1 : 0;
  if (unit == 0) return;
  Origin where;
  where.device = column.device;
  sink.at(where);
  Reading r = column.reading;
  r.value = number * unit;
  r.quantum = std::max(column.share ? 0.0 : 1.0, unit / std::pow(10.0, count_decimals(m[3])));
  if (r.unit.empty()) r.unit = "bytes";
  r.ambiguous_unit &= !mlflow;
  r.label = name;
  sink.reading(r, step, step ? std::nullopt : time);
}

}  // namespace oomdoctor::parsers::scalars
