// What a log collector put around each line of a program: a time, the name of a pod or service, a JSON object.
//
//   2026-03-04T05:06:07.1234567Z MESSAGE               CI runners, docker logs -t, kubectl logs --timestamps
//   2026-03-04T05:06:07.123456789Z stdout F MESSAGE    files of a container runtime; P: the line goes on in the next
//   2026-03-04T05:06:07.123456Z 01O MESSAGE            GitLab
//   [2026-03-04T05:06:07.123Z] MESSAGE                 Jenkins
//   [pod/trainer-0/main] MESSAGE                       kubectl logs --prefix; a time may follow
//   trainer-1  | MESSAGE                               docker compose logs; a time may follow
//   Mar 04 05:06:07 node7 train.sh[4242]: MESSAGE      journalctl, syslog
//   Mar 04 05:06:07 MESSAGE                            ts
//   {"log":"MESSAGE\n","stream":"stdout","time":"…"}   files of Docker; journald and cloud services have other keys
//   [rank0]: MESSAGE, [default0]:MESSAGE, 0: MESSAGE   torchrun, srun -l: of one rank alone
//   > MESSAGE, or blanks                               a quotation, an indented block
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"

namespace oomdoctor {

/// A line without what the collector added.
struct CollectedLine {
  std::string_view text;
  std::optional<double> time;   ///< seconds since 1970, or since midnight if no date is printed
  std::optional<i64> pid = {};  ///< of the writer
  bool goes_on = false;         ///< the next line continues this one
};

/// The form that the lines of a text share.
class CollectorForm {
 public:
  /// The form that the lines of `head` have, the beginning of a text; nullopt if too few or not all of them have one.
  /// The tags of loggers are none, nor those of launchers in a log of several ranks: see peel_prefix().
  static std::optional<CollectorForm> find(std::string_view head);

  /// Reads a line, which ended at '\n'. Without the form, it stays as it is. The result points into `line` or `room`.
  CollectedLine read(std::string_view line, std::string& room) const;
  /// The rank that all lines name.
  std::optional<int> rank() const { return rank_; }

 private:
  enum class StampForm { none, precise, marked, bracketed, yearless, journal, json };

  CollectorForm(std::string label, StampForm stamp);

  std::optional<CollectedLine> peel(std::string_view line, std::string& room) const;

  std::string label_;        ///< the same on each line; may be empty. Of a journal, the host and the program
  StampForm stamp_;          ///< what follows
  std::optional<int> rank_;  ///< that the label names
};

}  // namespace oomdoctor
