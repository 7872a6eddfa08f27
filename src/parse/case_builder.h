// The fold over one input: takes what parsers say, in its order, and keeps what has context: the current step of each
// stream, which reports are the same failure, whether the program went on. Its memory is bounded however long the input
// is. What several inputs say together is the business of joined_case.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model/case.h"
#include "parse/parser.h"

namespace oomdoctor {

class CaseBuilder : public Sink {
 public:
  explicit CaseBuilder(Case& out) : case_(out) {}

  /// All that the sink is told next comes from this place.
  void begin_emit(const Cursor& cursor, std::string_view reader, const Evidence& evidence);
  /// Concludes what needs the end of the input: which failures were handled.
  void finish();

  i64 lines_claimed_through() const { return claimed_through_; }

  void at(const Where& where) override;
  void oom(Oom oom) override;
  void reading(const Reading& reading, std::optional<double> step, std::optional<double> time) override;
  void step(const Step& step) override;
  void setting(std::string_view name, std::string_view value) override;
  void exit(const Exit& exit) override;
  void remark(std::string_view id, std::optional<double> number) override;
  void claim_through(i64 line) override { claimed_through_ = line; }

 private:
  /// One rank's (or one untagged process's) part of the log.
  struct Stream {
    std::optional<i64> step;
    i64 step_line = 0;
    i64 advances = 0;  ///< how often the step went forward
    std::optional<double> epoch;
  };
  /// What finish() needs to know of an incident beside the incident itself.
  struct Trail {
    std::string stream;
    i64 advances = 0;  ///< of the stream, when it failed
    int run = 0;
    i64 line = 0;
  };
  struct SeriesState {
    std::size_t index = 0;
    std::optional<double> t0;
    double last_time = 0;
  };

  Stream& stream();
  std::string stream_key() const;
  bool same_failure(const Incident& old, const Trail& trail, const Oom& now) const;
  /// Joins a report of a death to the incident that it belongs to, if there is one.
  bool join_death(const Oom& now);
  void add_occurrence(std::size_t index, const Evidence& evidence);
  Event event_here() const;

  Case& case_;
  const Cursor* cursor_ = nullptr;
  Evidence evidence_;
  Where where_;
  i64 claimed_through_ = 0;
  std::map<std::string, Stream> streams_;
  std::map<std::string, SeriesState> series_;
  std::optional<double> last_time_;  ///< of the last line that prints one
  std::vector<Trail> trails_;
  struct Sign {
    i64 line;
    std::string stream;
    int run;
    std::string id;
    Evidence evidence;
  };
  std::vector<Sign> signs_;  ///< handled/…, run/completed and run/went_on, to be joined with incidents
  int run_ = 0;  ///< how often the job was seen to end or to resume: progress behind that is another process's
  std::map<std::string, std::pair<i64, Evidence>>
      last_advance_;  ///< stream of a run → advances and the line of the latest
  static std::string run_key(const std::string& stream, int run);
};

}  // namespace oomdoctor
