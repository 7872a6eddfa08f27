// The kernel's OOM killer, in dmesg, the journal or a console.
//
// mm/oom_kill.c prints a block: "invoked oom-killer", tables of memory and tasks, "oom-kill:constraint=…", then one
// "Killed process" line per victim. Only that line contains the victim's numbers. If it was cut off, the other lines
// report the kill instead. The kernel's "kB" are KiB. The caller in "invoked oom-killer" is not the victim.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::kernel {
namespace {

constexpr double max_block_seconds = 120;  ///< seconds from "invoked oom-killer" to the kill, even over a slow console
constexpr int max_lines_to_victim = 8;     ///< lines from the summary to "Killed process"; other messages come between
constexpr int max_block_lines = 1000;      ///< lines; the task table in the middle of a block has one row per process

/// "2048512", "2,048,512": KiB. nullopt where commas do not separate thousands: a console or a person broke the number.
std::optional<Bytes> parse_kibibytes(std::string_view text) {
  constexpr std::size_t group = 4;  // a comma and three digits
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool due = (text.size() - i) % group == 0 && i > 0;
    if ((text[i] == ',') != (due && text.find(',') != text.npos)) return std::nullopt;
    if (text[i] != ',') digits += text[i];
  }
  return Bytes{leading_integer(digits) * KiB, 0};
}

/// Parses the limit in "memory: usage 4194304kB, limit 4194304kB, failcnt 81". The kernel prints this line only for a
/// cgroup, above the victim.
std::optional<Bytes> parse_limit(std::string_view text) {
  static constexpr std::string_view label = "limit ";
  const std::size_t limit = text.find(label);
  if (limit == text.npos || text.find("kB", limit) == text.npos) return std::nullopt;
  const i64 count = leading_integer(text.substr(limit + label.size()));
  return count > 0 && count < i64{1} << 50 ? std::optional(Bytes{count * KiB, 0}) : std::nullopt;
}

/// The limit of the cgroup in the block above the kill; nullopt if the whole host was full.
std::optional<Bytes> find_group_limit(const Cursor& cursor) {
  std::optional<Bytes> out;
  cursor.backward(max_block_lines, [&](const Line& line) {
    if (line.text.find("invoked oom-killer") != line.text.npos) return false;
    const std::size_t at = line.text.find("memory: usage ");
    if (at == line.text.npos) return true;
    out = parse_limit(std::string_view(line.text).substr(at));
    return !out;
  });
  return out;
}

/// The number of bytes after `label`, as a word of its own: "file 428433408" on a line, or "cache:4KB" between others.
std::optional<i64> counter_after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == text.npos || (at > 0 && text[at - 1] != ' ') || at + label.size() >= text.size()) return std::nullopt;
  const std::string_view number = text.substr(at + label.size());
  if (!is_digit(number.front())) return std::nullopt;
  const std::size_t digits = number.find_first_not_of("0123456789");
  return leading_integer(number) * (digits != number.npos && number.substr(digits).starts_with("KB") ? KiB : 1);
}

/// The pages of files in the cgroup's counters above the kill. The kernel counts shared memory among them, which
/// belongs to the processes.
std::optional<Bytes> find_page_cache(const Cursor& cursor) {
  std::optional<i64> files, shared;
  cursor.backward(max_block_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    const bool first = text.find("Memory cgroup stats for") != text.npos;
    for (const std::string_view label : {"file ", "cache:"})
      if (const auto count = counter_after(text, label)) files = count;
    for (const std::string_view label : {"shmem ", "shmem:"})
      if (const auto count = counter_after(text, label)) shared = count;
    return !first && text.find("invoked oom-killer") == text.npos;
  });
  if (!files || !shared || *files <= *shared) return std::nullopt;
  return Bytes{*files - *shared, 0};
}

/// The software that created a cgroup, recognised by the cgroup's path. A container's scope is below its pod's slice
/// and a step's cgroup below its daemon's, so the order matters.
struct CgroupManager {
  std::string_view mark, name;
};
constexpr CgroupManager managers[] = {{"kubepods", "kubernetes"}, {"/docker/", "docker"}, {"docker-", "docker"},
                                      {"slurm", "slurm"},         {"/pbs", "pbs"},        {"htcondor", "htcondor"},
                                      {"/lsf/", "lsf"},           {"yarn", "yarn"},       {"user.slice", "systemd"},
                                      {"system.slice", "systemd"}};

void emit_manager(std::string_view path, EventSink& sink) {
  for (const CgroupManager& manager : managers)
    if (path.find(manager.mark) != path.npos) return sink.setting("memory_manager", manager.name);
}

/// True if only the memory nodes that the process may use were full, not the whole host.
bool on_some_nodes(const Cursor& cursor) {
  const auto summary = find_before(cursor, 12, "oom-kill:constraint=");
  return summary && (summary->text.find("CONSTRAINT_CPUSET") != summary->text.npos ||
                     summary->text.find("CONSTRAINT_MEMORY_POLICY") != summary->text.npos);
}

/// What a line of the OOM killer's block shows: true if a cgroup's limit was reached, false if the whole machine was
/// full, nullopt if it may be either. The names with "__alloc" and "mem_cgroup" are functions of the call trace.
std::optional<bool> scope_in(std::string_view line) {
  static constexpr std::array<std::string_view, 3> of_group{"mem_cgroup_oom", "mem_cgroup_out_of_memory",
                                                            "Memory cgroup stats for"};
  static constexpr std::array<std::string_view, 3> of_host{"Mem-Info:", "__alloc_pages_slowpath",
                                                           "__alloc_pages_may_oom"};
  const auto contains = [&](std::string_view word) { return line.find(word) != line.npos; };
  if (std::any_of(of_group.begin(), of_group.end(), contains)) return true;
  return std::any_of(of_host.begin(), of_host.end(), contains) ? std::optional(false) : std::nullopt;
}

/// Whether the kill enforced a cgroup's limit, or the whole machine was full. If the message is cut off, the lines
/// above decide; nullopt without them.
std::optional<bool> is_group_kill(const Match& m) {
  if (m.before().ends_with("Memorycgroupoutofmemory:") || m.before().ends_with("limitexceeded:")) return true;
  if (m.before().ends_with("Outofmemory:")) return false;
  constexpr int near = 12;  // lines
  if (is_near(m.cursor, near, 0, {"CONSTRAINT_MEMCG", "Memory cgroup out of memory", "killed as a result of limit of"}))
    return true;
  if (is_near(m.cursor, near, 0, {"CONSTRAINT_", "Out of memory"})) return false;
  std::optional<bool> scope;
  m.cursor.backward(max_block_lines, [&](const Line& line) {
    scope = scope_in(line.text);
    return !scope && line.text.find("invoked oom-killer") == line.text.npos;
  });
  return scope;
}

void set_some_nodes(Oom& oom) {
  oom.message_format = "oom-killer-nodes";
  oom.traits = {OomTrait::some_nodes};
}

void emit_victim(EventSink& sink, Agent agent, std::string_view pid, std::string_view name, Oom oom = {}) {
  oom.kind = OomKind::host;
  oom.agent = agent;
  if (oom.message_format.empty()) oom.message_format = "oom-killer";
  oom.process_name = std::string(name);
  Origin where;
  where.pid = leading_integer(pid);
  sink.at(where);
  sink.oom(std::move(oom));
}

/// Anonymous and shared memory of the victim. The kernel drops file pages before it kills, so they do not count.
std::optional<Bytes> non_file_memory(const Match& m) {
  const auto own = parse_kibibytes(m[3]), shared = m.has(5) ? parse_kibibytes(m[5]) : Bytes{};
  return own && shared ? std::optional(*own + *shared) : std::nullopt;
}

/// A row of the kernel's task table. `pages` are resident pages.
struct Task {
  i64 pid = 0, pages = 0;
};

/// Parses "[ 5740]     0  5740      257        1 …": pid, user, thread group, mapped pages, resident pages.
std::optional<Task> parse_task(std::string_view text) {
  for (std::size_t open = text.find('['); open != text.npos; open = text.find('[', open + 1)) {
    const std::size_t close = text.find(']', open);
    if (close == text.npos) return std::nullopt;
    const std::string_view pid = trimmed(text.substr(open + 1, close - open - 1));
    if (pid.empty() || !only_digits(pid)) continue;
    std::string_view rest = trimmed(text.substr(close + 1));
    for (int i = 0; i < 3; ++i) rest = trimmed(rest.substr(std::min(rest.size(), rest.find(' '))));
    const i64 pages = leading_integer(rest);
    return pages >= 0 && pages < i64{1} << 40 ? std::optional(Task{leading_integer(pid), pages}) : std::nullopt;
  }
  return std::nullopt;
}

/// The victim's resident memory by its row in the task table above, for a record without its own numbers. Pages of 4
/// KiB, the size on x86.
std::optional<Bytes> victim_in_table(const Cursor& cursor, i64 victim) {
  std::optional<Bytes> out;
  cursor.backward(max_block_lines, [&](const Line& line) {
    if (line.text.find("total_vm") != line.text.npos || line.text.find("invoked oom-killer") != line.text.npos)
      return false;
    const auto task = parse_task(line.text);
    if (task && task->pid == victim && task->pages > 0) out = Bytes{task->pages * 4 * KiB, 0};
    return !out;
  });
  return out;
}

/// The largest other processes in the task table above the victim. The victim's own row shows the page size, because
/// its bytes are known. Every process that uses a shared page counts it. If the rows add up to more than the limit, the
/// numbers are unreliable and the result is empty.
std::vector<OtherProcess> find_other_processes(const Cursor& cursor, i64 victim, i64 victim_bytes, i64 limit) {
  constexpr std::size_t max_others = 4;
  constexpr i64 min_share_divisor = 50;  ///< a process counts only above 1/50 of the limit
  std::vector<Task> tasks;
  bool whole = false;
  cursor.backward(max_block_lines, [&](const Line& line) {
    whole = line.text.find("total_vm") != line.text.npos;
    if (whole || line.text.find("invoked oom-killer") != line.text.npos) return false;
    if (const auto task = parse_task(line.text)) tasks.push_back(*task);
    return true;
  });
  const auto own = std::find_if(tasks.begin(), tasks.end(), [&](const Task& task) { return task.pid == victim; });
  if (!whole || own == tasks.end() || own->pages <= 0) return {};
  i64 page = 4 * KiB;
  while (page < 64 * KiB && page * own->pages * 3 / 2 < victim_bytes) page *= 2;
  i64 sum = 0;
  std::vector<OtherProcess> others;
  for (const Task& task : tasks) {
    sum = saturated_sum(sum, task.pages * page);
    if (task.pid != victim && task.pages * page > limit / min_share_divisor)
      others.push_back({task.pid, {task.pages * page, 0}});
  }
  if (sum > limit) return {};
  std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.used.count > b.used.count; });
  if (others.size() > max_others) others.resize(max_others);
  return others;
}

/// The time of the line: its prefix, or "[81234.101200]", the seconds since the machine started.
std::optional<double> parse_time(const Line& line) {
  if (line.prefix.time) return line.prefix.time;
  const std::size_t open = line.text.find('[');
  if (open == line.text.npos) return std::nullopt;
  const i64 seconds = leading_integer(trimmed(line.text.substr(open + 1)));
  return seconds > 0 ? std::optional(static_cast<double>(seconds)) : std::nullopt;
}

}  // namespace

void killed(const Match& m, EventSink& sink) {
  Oom oom;
  const i64 pid = leading_integer(m[1]);
  oom.process = non_file_memory(m);
  const auto files = m.has(4) ? parse_kibibytes(m[4]) : Bytes{};
  if (!oom.process) oom.process = victim_in_table(m.cursor, pid);
  const auto scope = is_group_kill(m);
  const bool of_group = scope.value_or(false);
  if (!of_group && on_some_nodes(m.cursor)) set_some_nodes(oom);
  if (!scope) oom.message_format = "oom-killer-cut", oom.traits.push_back(OomTrait::some_limit);
  if (of_group) oom.limit = find_group_limit(m.cursor);
  if (oom.limit) oom.page_cache = find_page_cache(m.cursor);
  if (oom.limit && oom.process && files)  // the table counts file pages as well
    oom.others = find_other_processes(m.cursor, pid, (*oom.process + *files).count, oom.limit->count);
  emit_victim(sink, of_group ? Agent::cgroup : Agent::kernel, m[1], m[2], std::move(oom));
}

/// Kernels up to 4.x announce the victim on a separate line, and then kill it or one of its children.
void announced(const Match& m, EventSink& sink) {
  bool killed = false;
  m.cursor.forward(max_lines_to_victim, [&](const Line& line) {
    killed = line.text.find("Killed process") != line.text.npos && line.text.find("anon-rss:") != line.text.npos;
    return !killed && line.text.find("Kill process") == line.text.npos;
  });
  if (killed) return;
  const bool of_group = m.has(1) && !m[1].empty();
  Oom oom;
  if (of_group) oom.limit = find_group_limit(m.cursor);
  emit_victim(sink, of_group ? Agent::cgroup : Agent::kernel, m[2], m[3], std::move(oom));
}

/// The form for a truncated line without the victim's numbers.
void killed_short(const Match& m, EventSink& sink) {
  Oom oom;
  if (on_some_nodes(m.cursor)) set_some_nodes(oom);
  if (m[1].starts_with("Memory")) oom.limit = find_group_limit(m.cursor);
  emit_victim(sink, m[1].starts_with("Memory") ? Agent::cgroup : Agent::kernel, m[2], m[3], std::move(oom));
}

void summary(const Match& m, EventSink& sink) {
  static constexpr std::string_view label = "oom_memcg=";
  Oom oom;
  if (m[1] == "CPUSET" || m[1] == "MEMORY") set_some_nodes(oom);
  if (const std::size_t at = m[0].find(label); at != std::string_view::npos) {
    const std::string_view path = m[0].substr(at + label.size());
    emit_manager(path.substr(0, path.find(',')), sink);
  }
  // Next to the victim's own line, this one adds nothing.
  if (!is_near(m.cursor, 0, max_lines_to_victim, {"illed process", "Kill process"})) {
    oom.process = victim_in_table(m.cursor, leading_integer(m[3]));
    if (m[1] == "MEMCG") oom.limit = find_group_limit(m.cursor);
  }
  emit_victim(sink, m[1] == "MEMCG" ? Agent::cgroup : Agent::kernel, m[3], m[2], std::move(oom));
}

/// Kernels up to 4.x name the cgroup on separate lines. The counters on them belong to the cgroup, not to a process.
void group(const Match& m, EventSink& sink) { emit_manager(m[1], sink); }

/// Only the OOM killer prints these counters. If the record lacks both the call and the victim, they are the only
/// evidence of the kill.
void group_counters(const Match& m, EventSink& sink) {
  group(m, sink);
  if (is_near(m.cursor, max_block_lines, max_block_lines,
              {"invoked oom-killer", "Killed process", "Kill process", "oom-kill:constraint="}))
    return;
  Oom oom = host_oom(Agent::cgroup, "oom-killer-invoked");
  oom.limit = find_group_limit(m.cursor);
  if (oom.limit) sink.oom(std::move(oom));
}

void reaped(const Match& m, EventSink& sink) { emit_victim(sink, Agent::kernel, m[1], m[2]); }

/// Reports the failure only if the block was cut off before its victim. A victim after the next "invoked oom-killer"
/// belongs to that call. A victim more than max_block_seconds later belongs to another call as well.
void invoked(const Match& m, EventSink& sink) {
  const auto begin = parse_time(m.cursor.line());
  bool named = false;
  std::optional<bool> scope;
  std::optional<Bytes> limit;
  m.cursor.forward(max_block_lines, [&](const Line& line) {
    if (!scope) scope = scope_in(line.text);
    if (const std::size_t at = line.text.find("memory: usage "); at != line.text.npos && !limit)
      limit = parse_limit(std::string_view(line.text).substr(at));
    const auto now = line.text.find("illed process") == line.text.npos ? std::nullopt : parse_time(line);
    if (begin && now && *now - *begin > max_block_seconds) return false;
    for (const std::string_view word : {"Killed process", "oom-kill:constraint=", "Kill process"})
      named |= line.text.find(word) != line.text.npos;
    return !named && line.text.find("invoked oom-killer") == line.text.npos;
  });
  if (named) return;
  const bool of_group = scope.value_or(limit.has_value());
  Oom oom = host_oom(of_group ? Agent::cgroup : Agent::kernel, "oom-killer-invoked");
  if (of_group) oom.limit = limit;
  if (!scope && !of_group) oom.message_format = "oom-killer-called", oom.traits = {OomTrait::some_limit};
  sink.oom(std::move(oom));
}

/// Counters of a cgroup ("memory.events"), which users print when they look for the reason of a death.
void group_events(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 2, 0, {"oom "}) || !is_near(m.cursor, 4, 0, {"max ", "high "})) return;
  sink.oom(host_oom(Agent::cgroup, "memory.events"));
}

/// A hard limit of macOS or iOS ends the process. The system only reports a soft one.
void apple_limit(const Match& m, EventSink& sink) {
  if (!m.has(3)) return;
  Oom oom = host_oom(Agent::kernel, "apple-limit");
  oom.limit = Bytes{leading_integer(m[3]) * MiB, 0};
  oom.process_name = std::string(m[1]);
  if (m.has(2)) {
    Origin where;
    where.pid = leading_integer(m[2]);
    sink.at(where);
  }
  sink.oom(std::move(oom));
}

/// A process in a report of jetsam. Ended daemons and idle programs start again and lose nothing.
void jetsam_report(const Match& m, EventSink& sink) {
  constexpr int max_lines = 40;  // an entry has one line for each value
  int depth = 0;
  bool idle = false;
  std::string name;
  const auto read = [&](const Line& line) {
    const std::string_view text = line.text;
    idle |= text.find("\"idle\"") != text.npos || text.find("\"daemon\"") != text.npos;
    constexpr std::string_view label = "\"name\"";
    const std::size_t at = text.find(label);
    if (at == text.npos) return;
    const std::size_t open = text.find('"', at + label.size());
    const std::size_t close = open == text.npos ? text.npos : text.find('"', open + 1);
    if (close != text.npos) name = std::string(text.substr(open + 1, close - open - 1));
  };
  // The entry starts and ends at a brace of its own; there are others around its values.
  const auto is_inside = [&](const Line& line, char opens, char closes) {
    const std::string_view text = line.text;
    if (text.find(opens) != text.npos) ++depth;
    if (text.find(closes) != text.npos) --depth;
    return depth >= 0;
  };
  m.cursor.backward(max_lines, [&](const Line& line) {
    if (!is_inside(line, '}', '{')) return false;
    read(line);
    return true;
  });
  depth = 0;
  m.cursor.forward(max_lines, [&](const Line& line) {
    if (!is_inside(line, '{', '}')) return false;
    read(line);
    return true;
  });
  if (idle) return;
  Oom oom = host_oom(Agent::kernel, m[1] == "per-process-limit" ? "apple-limit" : "jetsam");
  oom.process_name = name;
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::kernel
