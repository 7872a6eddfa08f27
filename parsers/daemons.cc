// Daemons that kill before the kernel's OOM killer acts, earlyoom and systemd-oomd, and systemd's messages about a
// killed unit.
//
// earlyoom also prints its thresholds and the memory state every second. Only "sending SIG… to process" is a kill. Both
// daemons watch the whole machine, so the victim's memory is not the memory in use. systemd-oomd also lists candidates.
// Only "Killed" or, since version 258, "Marked … for killing" is a kill. systemd-oomd prints bytes.
#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/bytes.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::daemons {
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

}  // namespace

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

/// The first program is the largest.
void windows(const Match& m, EventSink& sink) {
  sink.setting("system", "Windows");
  sink.setting("low_commit", fmt::format("{} with {}", m[1], bytes_text(leading_integer(m[3]))));
}

}  // namespace oomdoctor::parsers::daemons
