// Rows of samples in a CSV file of bounded size. When there are too many, every second one goes, so the recent ones lie
// closest together. The row with the largest value of each key stays.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "run/run_folder.h"

namespace oomdoctor {

class BoundedRows {
 public:
  /// Creates the file with the first row. At most `max_rows` rows are kept.
  BoundedRows(const RunFolder& folder, std::string name, std::string header, std::size_t max_rows);

  /// Appends a row, without its line end. `key` names the sampled thing (a GPU), `level` is the value whose peak
  /// matters.
  void add(std::string_view row, std::string_view key, double level);

  /// After the last add(): if a write failed, writes all rows anew. The disk may have room again. False if it has not.
  bool rescue();
  int error() const { return error_; }  ///< errno of the first write that failed; 0 if none did
  /// The whole text, if the file does not have all of it.
  std::optional<std::string> text() const;

 private:
  struct Row {
    std::string text;
    std::size_t key = 0;
    double level = 0;
  };
  void thin();
  void write(std::string_view text);
  bool write_anew();
  std::string all() const;

  const RunFolder& folder_;
  std::string name_, header_;
  std::size_t max_rows_;
  Descriptor file_{-1};
  int error_ = 0;
  std::vector<Row> rows_;
  std::map<std::string, std::size_t, std::less<>> keys_;
};

}  // namespace oomdoctor
