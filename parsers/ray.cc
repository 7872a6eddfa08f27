// Ray's memory monitor, which kills a task when its node runs low on memory, and Ray's object store.
//
// One message contains three different amounts: the memory of the task, the memory in use on its node, and the total of
// the node. The threshold is a share of the node's total. All "GB" are GiB. The job may continue, because Ray retries a
// task.
#include <fmt/format.h>

#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::ray {
namespace {

Oom ray_failure() {
  Oom oom = host_oom(Agent::scheduler, "ray");
  oom.traits = {OomTrait::whole_node};
  return oom;
}

/// Sets the node's total and free memory from "28.50GB / 30.00GB".
void set_node(Oom& oom, std::optional<Bytes> used, std::optional<Bytes> whole) {
  oom.capacity = whole;
  if (used && whole && used->count <= whole->count) oom.free = *whole - *used;
}

/// The process, or the processes of one command, that use the most memory of a node.
struct LargestUser {
  std::string words;  ///< empty if there is no table
  i64 pid = 0;        ///< 0 if several rows have the same command
  std::string size;   ///< "26.84 GB"
  Line rows = {};     ///< from its first row to its last one
};

/// Reads the table below the message, "PID MEM(GB) COMMAND" or "PID MEM COMMAND". It is sorted, so the first row is the
/// largest. Counts the rows with the same command: "6 of ray::Actor.step, 88.20 GB in all, 19.41 GB at most".
LargestUser find_largest_user(const Cursor& cursor) {
  constexpr int table_lines = 40;
  constexpr std::size_t max_name_length = 80;
  std::string name, size;
  i64 pid = 0;
  int count = 0;
  double sum = 0;
  bool head = false;
  Line rows;
  cursor.forward(table_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (!head) {
      head = text.find("MEM(GB)") != text.npos || text.find("PID\tMEM\tCOMMAND") != text.npos;
      return true;
    }
    // Test runners print "E " before each line of an exception.
    const std::string_view row = trimmed(text.starts_with("E ") ? text.substr(2) : text);
    const std::size_t first = row.find_first_of("\t "), second = row.find_first_not_of("\t ", first);
    const std::size_t third = second == row.npos ? row.npos : row.find_first_of("\t ", second);
    if (leading_integer(row) <= 0 || third == row.npos) return false;
    const std::string_view command = trimmed(row.substr(third)).substr(0, max_name_length);
    if (name.empty()) {
      name = std::string(command);
      pid = leading_integer(row);
      size = std::string(row.substr(second, third - second));
      if (size.ends_with("GB")) size.resize(size.size() - 2);
    }
    if (command != name) return true;
    if (++count == 1) rows = line;
    rows.last = line.last;
    std::size_t at = second;
    if (const auto gigabytes = read_number(row, at)) sum += gigabytes->value;
    return true;
  });
  if (name.empty()) return {};
  const bool several = count > 1;
  size += " GB";
  if (!several) return {name + ", " + size, pid, size, rows};
  return {fmt::format("{} of {}, {:.2f} GB in all, {} at most", count, name, sum, size), 0, size, rows};
}

/// Emits the largest user, and its size if it is another process than the killed one.
void emit_largest_user(const Cursor& cursor, i64 killed, EventSink& sink) {
  const LargestUser user = find_largest_user(cursor);
  if (user.words.empty()) return;
  sink.cite(user.rows);
  sink.setting("largest_user", user.words);
  sink.cite(cursor.line());
  if (user.pid <= 0 || killed <= 0 || user.pid == killed) return;
  sink.setting("largest_other", user.size.substr(0, user.size.size() - 2) + "GiB");
  sink.setting("largest_other_pid", std::to_string(user.pid));
}

}  // namespace

namespace {

/// Parses "where the task (…, name=f, pid=1, memory used=9.01GB) was running was 28.50GB / 30.00GB (0.95)".
void emit_kill(const Match& m, std::string_view text, EventSink& sink) {
  constexpr std::size_t max_name_length = 64;
  Oom oom = ray_failure();
  oom.process = size_after(text, "memoryused=");
  if (const auto name = between(text, "name=", ",pid="); name.size() <= max_name_length)
    oom.process_name = std::string(name.substr(0, name.find_last_not_of(',') + 1));
  const std::string_view node = between(text, "wasrunningwas", "(");
  if (const std::size_t slash = node.find('/'); slash != node.npos)
    set_node(oom, read_size(node.substr(0, slash)), read_size(node.substr(slash + 1)));
  const auto pid = leading_integer(between(text, "pid=", ","));
  emit_largest_user(m.cursor, pid, sink);
  if (pid > 0) {
    Origin where;
    where.pid = pid;
    sink.at(where);
  }
  sink.oom(std::move(oom));
}

}  // namespace

constexpr std::string_view node_label = "Memory on the node";

void killed(const Match& m, EventSink& sink) {
  std::string text(m.after().substr(0, 1200));
  // Early versions print an empty line between the two sentences.
  if (const auto below = find_after(m.cursor, 3, node_label); below && text.find("wasrunningwas") == text.npos)
    text = dense(below->body());
  emit_kill(m, text, sink);
}

void killed_on_node(const Match& m, EventSink& sink) {
  if (find_before(m.cursor, 3, "running low on memory") ||
      m.cursor.line().body().find("running low on memory") != std::string_view::npos)
    return;
  emit_kill(m, dense(m.cursor.line().body()).substr(0, 1200), sink);
}

/// The form before 2.0: "(61.02 / 64.0 GB)".
void old_monitor(const Match& m, EventSink& sink) {
  Oom oom = ray_failure();
  set_node(oom, read_bytes(m[1], "GB"), read_bytes(m[2], "GB"));
  emit_largest_user(m.cursor, 0, sink);
  sink.oom(std::move(oom));
}

void raylet(const Match& m, EventSink& sink) {
  Oom oom = ray_failure();
  set_node(oom, read_size(m[1]), read_size(m[2]));
  oom.process_name = std::string(m[3]);
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::ray
