// A failure in words: its title, its circumstances, its decisive numbers, and the names in its memory breakdown. The
// words may quote the log; the caller escapes them for its output.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "facts/facts.h"
#include "model/event.h"
#include "oomdoctor/report.h"
#include "report/words.h"

namespace oomdoctor {

/// The failure that the verdict is about; null if it is about none. Points into the report.
const ReportIncident* verdict_incident(const Report& report);
/// The failures that are not a consequence of an earlier one.
std::vector<const ReportIncident*> root_incidents(const Report& report);
/// Of such failures, the one that the verdict is about, else the last one. There must be one.
const ReportIncident& shown_incident(const Report& report, const std::vector<const ReportIncident*>& roots);

/// How often the log prints the message again. What only an allocator's counter shows is not printed.
std::int64_t printed_again(const ReportIncident& of);

std::string moment_words(const ReportIncident& of);  ///< for example "at step 1000, in the backward pass"; may be ""
std::string incident_title(
    const ReportIncident& of);  ///< for example "GPU 0 ran out of memory at step 1000, in the backward pass"
std::string incident_circumstances(
    const ReportIncident& of);  ///< for example "rank 3, host gpu-01, pid 4712"; may be ""

/// The decisive numbers of a failure, for example "1.50 GiB requested, 1.06 GiB of 23.69 GiB free".
struct DecisiveNumbers {
  std::string text;                      ///< "" if the log prints none
  std::vector<std::int64_t> sizes = {};  ///< in bytes, those in the text
};
DecisiveNumbers decisive_numbers(const Oom& oom, const Facts& facts);

/// What else is known of the memory that was short: what the job requested, its limit, what was in use, and the
/// machine; "" if `numbers` say all of it.
std::string known_memory(const Oom& oom, const Facts& facts, const DecisiveNumbers& numbers);

/// The failures that follow `of`: "the same on 3 other ranks, at a.log:7, …", "2 further failures, at …". Each
/// names at most `most` locations. May be empty.
std::vector<std::string> following_words(const Report& report, const ReportIncident& of, std::size_t most);

/// The frame that shows the place of a failure: the user's own, else the library's that asked for the memory. Nothing
/// if that only runs what any program has compiled or recorded, as JAX's executables and the engine of the backward
/// pass.
std::optional<ReportFrame> shown_place(const ReportIncident& of);

/// The line of code of a frame, with "…" if its statement goes on: a traceback prints only the first line of it.
/// "train.py:88"; the file alone if the line is unknown.
std::string place_words(const ReportFrame& frame, std::string_view file);
std::string code_words(const ReportFrame& frame);

/// The memory that ran out: "GPU 0", "the host", …
std::string memory_name(const ReportIncident& of);

/// The owner of the capacity: "GPU 0", "the limit". short_share_label() shortens a label: "cache" for "PyTorch cache
/// (unused)".
std::string account_name(const ReportIncident& of);
std::string short_share_label(const std::string& label);
/// For example "Where the 23.69 GiB of GPU 0 were when the program requested 1.50 GiB more"; the incident must have an
/// account.
std::string account_title(const ReportIncident& of);
/// The numbers of its shares, and of the unexplained rest as the last one.
SharesText shares_text(const ReportAccount& account);
/// The account in one line, for example "GPU 0, 79.15 GiB: tensors 78.27 (99%) | cache 0.17 | free 0.15".
std::string account_words(const ReportIncident& of);
/// The label of the unexplained rest. A rest within the rounding of the printed sizes is called rounding, not hidden
/// memory.
std::string unexplained_label(const ReportAccount& account);

}  // namespace oomdoctor
