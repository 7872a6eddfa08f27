// Rows whose meaning does not depend on the rows before them. A function reads each row, and its events are recorded
// until emit().
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "read/parser.h"

namespace oomdoctor {

class RecordedRows final : public Rows, private EventSink {
 public:
  /// Reads one row and reports its events to `sink`; returns false if the line is not a row.
  using RowReader = bool (*)(std::string_view line, const Layout& layout, EventSink& sink);

  RecordedRows(RowReader row, const Layout& layout) : row_(row), layout_(layout) {}

  bool read(std::string_view line, RowsRead wanted) override;
  void emit(std::size_t i, std::any& memory, EventSink& sink) override;

 private:
  struct RecordedReading {
    Reading reading;
    std::optional<double> step, time;
  };
  using Said = std::variant<Origin, RecordedReading, Step, Setting, LostEvidence>;

  void at(const Origin& where) override { said_.emplace_back(where); }
  void reading(const Reading& reading, std::optional<double> step, std::optional<double> time) override {
    said_.emplace_back(RecordedReading{reading, step, time});
  }
  void step(const Step& step) override { said_.emplace_back(step); }
  void setting(std::string_view name, std::string_view value) override {
    said_.emplace_back(Setting{std::string(name), std::string(value)});
  }
  void lost(LostEvidence evidence) override { said_.emplace_back(std::move(evidence)); }
  // Rows of tables have no such events.
  void oom(Oom) override {}
  void exit(const Exit&) override {}
  void remark(std::string_view, std::optional<double>) override {}
  void claim_through(i64) override {}
  void cite(const Line&) override {}

  RowReader row_;
  const Layout& layout_;
  std::vector<Said> said_;
  std::vector<std::size_t> ends_;  ///< for each row, the end of its events in `said_`
};

/// Makes such rows; for Table::rows.
template <RecordedRows::RowReader row>
std::unique_ptr<Rows> recorded_rows(const Layout& layout) {
  return std::make_unique<RecordedRows>(row, layout);
}

}  // namespace oomdoctor
