// Rows of samples in a CSV file of bounded size. When there are too many, every second one goes, so the recent ones lie
// closest together. The row with the largest value of each key stays.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace oomdoctor {

class BoundedRows {
 public:
  /// Creates the file with the first row. At most `max_rows` rows are kept.
  BoundedRows(std::string path, std::string header, std::size_t max_rows);

  /// Appends a row, without its line end. `key` names the sampled thing (a GPU), `level` is the value whose peak matters. If the file cannot be written, the row is lost.
  void add(std::string_view row, std::string_view key, double level);

 private:
  struct Row {
    std::string text;
    std::size_t key = 0;
    double level = 0;
  };
  void thin();

  std::string path_, header_;
  std::size_t max_rows_;
  Descriptor file_{-1};
  std::vector<Row> rows_;
  std::map<std::string, std::size_t, std::less<>> keys_;
};

}  // namespace oomdoctor
