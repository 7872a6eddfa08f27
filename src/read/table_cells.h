// The cells of tables that programs write: separated by commas, semicolons, tabs, bars or blanks, with or without
// quotes. And the content of a cell: a time in any spelling, or no value.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

/// nvidia-smi has about 200 fields; wide tables of trackers have a column for each run.
inline constexpr std::size_t max_table_columns = 512;

/// What separates the cells of this line; ' ' for runs of blanks. nullopt if nothing does.
std::optional<char> find_separator(std::string_view line);

/// The separator of lines that are JSON objects, whose keys are the names of the columns.
inline constexpr char json_object = '{';

/// The key and the text of a value of a JSON object.
struct ObjectField {
  std::string_view key, value;
  std::size_t parent = 0;  ///< the number of the field before whose key this one is in, from 1; 0 at the top
};

/// Reads a line that is one JSON object. The values of objects in it follow their key, which has an empty value; an
/// array is one value. False if the line is anything else, or has more than `most` fields.
bool split_json_object(std::string_view line, std::vector<ObjectField>& fields, std::size_t most = max_table_columns);

/// The keys of a record, by which the values of other records are found.
class ObjectKeys {
 public:
  /// Of a line that is one JSON object; of any other, none.
  explicit ObjectKeys(std::string_view record);
  /// Sets one cell for each key. The keys may come in another order, between others; a missing one has an empty cell.
  /// False if the line is not one JSON object.
  bool find_values(std::string_view line, std::vector<std::string_view>& cells);
  /// True if the latest line has the key.
  bool found(std::size_t key) const { return found_[key]; }

 private:
  struct ObjectKey {
    std::string name;
    std::size_t parent = 0;  ///< the number of the key whose object it is in, from 1; 0 at the top
  };
  std::vector<ObjectKey> keys_;
  std::vector<bool> found_;
  std::vector<ObjectField> fields_;
  std::vector<std::size_t> numbers_;  ///< of the fields of the latest line among the keys, from 1; 0 for other fields
};

/// Splits a line into its cells, untrimmed. A separator within quotes separates nothing. At most `most` + 1 cells.
void split_table_line(std::string_view line, char separator, std::vector<std::string_view>& cells,
                      std::size_t most = max_table_columns);

/// The cell without surrounding blanks, quotes and NULs.
std::string_view trimmed_cell(std::string_view cell);

/// True for a cell without a value: "[N/A]", "N/A", "-", "[Not Supported]", "Unknown Error", or empty.
bool is_absent(std::string_view cell);

/// The time of a whole cell: a date with a clock in any order of day, month and year, a clock alone, or seconds,
/// milliseconds, … since 1970. In seconds since 1970, or since midnight without a date.
std::optional<double> read_cell_time(std::string_view cell);

/// True if the dates in these cells of a column begin with the day: the rows follow each other, or no month has that
/// number.
bool begin_with_day(std::span<const std::string_view> cells);

/// "31-12-2025 10:00:00" with the month before the day; other text as it is.
std::string with_month_first(std::string_view cell);

/// Parses "2025-02-01" in a separate column, with the clock in the next column. Seconds from 1970 to midnight of that
/// day.
std::optional<double> read_cell_day(std::string_view cell);

}  // namespace oomdoctor
