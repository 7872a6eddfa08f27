// Daemons that kill before the kernel's OOM killer acts, earlyoom and systemd-oomd, and systemd's messages about a
// killed unit.
//
// earlyoom also prints its thresholds and the memory state every second. Only "sending SIG… to process" is a kill. Both
// daemons watch the whole machine, so the victim's memory is not the memory in use. systemd-oomd also lists candidates.
// Only "Killed" or, since version 258, "Marked … for killing" is a kill. systemd-oomd prints bytes.
#include <algorithm>

#include "base/ascii.h"
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

Oom daemon_failure(std::string_view format) { return host_oom(Agent::daemon, format); }

/// Sets the machine's free memory and total from the last state above the kill, "mem avail:  2051 of 20537 MiB (
/// 9.99%)". Without such a line it sets only the total, from "mem total:" at the daemon's start.
void set_machine(const Cursor& cursor, Oom& oom) {
  static constexpr i64 max_mebibytes = i64{1} << 40;
  static constexpr std::string_view available = "mem avail:", of = " of ", total = "mem total:";
  const auto mebibytes = [](std::string_view text) {
    return Bytes{std::clamp<i64>(leading_integer(trimmed(text)), 0, max_mebibytes) * MiB, MiB / 2};
  };
  if (const auto line = find_before(cursor, 4, available)) {
    const std::string_view text = line->text.substr(line->text.find(available) + available.size());
    if (const std::size_t at = text.find(of); at != text.npos) {
      oom.free = mebibytes(text);
      oom.capacity = mebibytes(text.substr(at + of.size()));
    }
  } else if (const auto start = find_before(cursor, 400, total)) {
    oom.capacity = mebibytes(start->text.substr(start->text.find(total) + total.size()));
  }
  if (oom.capacity && oom.capacity->count == 0) oom.capacity.reset(), oom.free.reset();
}

void earlyoom(const Match& m, EventSink& sink) {
  Oom oom = daemon_failure("earlyoom");
  set_machine(m.cursor, oom);
  oom.process_name = std::string(m[2]);
  oom.process = Bytes{leading_integer(m[3]) * MiB, MiB / 2};
  Origin where;
  where.pid = leading_integer(m[1]);
  sink.at(where);
  sink.oom(std::move(oom));
}

/// Finds the usage of the killed cgroup in the list of candidates above: "Current Memory Usage: 21.6G" below the
/// group's "Path: ".
std::optional<Bytes> candidate_usage(const Cursor& cursor, std::string_view group) {
  constexpr int list_lines = 120;
  static constexpr std::string_view label = "Current Memory Usage: ", path = "Path: ";
  std::optional<Bytes> usage, found;
  cursor.backward(list_lines, [&](const Line& line) {
    const std::string_view text = line.text;
    // The scan goes upwards, so a group's usage comes before its path.
    if (const std::size_t at = text.find(label); at != text.npos) {
      std::string size(trimmed(text.substr(at + label.size())));
      if (!size.empty() && size.back() != 'B') size += "iB";
      usage = read_size(size);
    }
    const std::size_t at = text.find(path);
    if (at == text.npos) return true;
    if (trimmed(text.substr(at + path.size())) == group) found = usage;
    return !found;
  });
  return found;
}

void systemd_oomd(const Match& m, EventSink& sink) {
  Oom oom = daemon_failure("systemd-oomd");
  if (m.has(1)) {
    oom.process = candidate_usage(m.cursor, m[1]);
    oom.process_name = std::string(m[1].substr(m[1].rfind('/') + 1));
  }
  if (m.has(2)) {
    const i64 used = leading_integer(m[2]), total = leading_integer(m[3]);
    oom.capacity = Bytes{total, 0};
    if (used <= total) oom.free = Bytes{total - used, 0};
  }
  sink.oom(std::move(oom));
}

void unit(const Match&, EventSink& sink) {
  Oom oom = daemon_failure("systemd");
  oom.agent = Agent::kernel;
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "daemons/earlyoom",
         .anchor = "to process",
         .second_anchor = "VmRSS",
         .regex =
             R"~(sendingSIG(?:TERM|KILL)toprocess(\d{1,10})(?:uid\d{1,10})?"([^"\r\n]{1,64})":(?:oom_score|badness)\d{1,5},VmRSS(\d{1,10})MiB)~",
         .captures = 3,
         .reach = Reach::message,
         .example = "earlyoom[231]: sending SIGTERM to process 7378 uid 1000 \"python\": oom_score 156, VmRSS 4962 MiB",
         .emit = earlyoom,
         .source = "earlyoom: kill.c"}),
    checked(
        {.name = "daemons/systemd_oomd",
         .anchor = "due to memory",
         .regex =
             R"((?=(?:Killed|Marked) (/[\w./@\\:\-]{1,300}))(?:Killed /[\w./@\\:\-]{1,300}|Marked /[\w./@\\:\-]{1,300} for killing) )"
             R"(due to memory (?:pressure for|used \((\d{1,18})\) / total \((\d{1,18})\)))",
         .captures = 3,
         .example = "systemd-oomd[611]: Killed /user.slice/user-1000.slice/session-4.scope due to memory pressure "
                    "for /user.slice being "
                    "85.12% > 50.00% for > 20s with reclaim activity",
         .emit = systemd_oomd,
         .source = "systemd: src/oom/oomd-manager.c"}),
    checked({.name = "daemons/systemd_oomd_unit",
             .anchor = "systemd-oomd killed",
             .regex = R"(: systemd-oomd killed \d{1,6} process\(es\) in this unit)",
             .example = "systemd[1]: session-4.scope: systemd-oomd killed 12 process(es) in this unit.",
             .emit = systemd_oomd}),
    checked(
        {.name = "daemons/systemd_unit",
         .anchor = "OOM killer",
         .second_anchor = "oom-kill'",
         .regex = R"((?:: A process of this unit has been killed by the OOM killer|: Failed with result 'oom-kill'))",
         .example = "systemd[1]: train.service: A process of this unit has been killed by the OOM killer.",
         .emit = unit}),
};

}  // namespace

extern const Parser daemons;
const Parser daemons{
    .name = "daemons", .title = "Out-of-memory daemons", .source = "systemd: src/core/unit.c", .patterns = patterns};

}  // namespace oomdoctor::parsers
