// Failures for want of memory in the words of programs that nobody here knows: what lexicon.txt finds where no exact
// form took the line.
//
// The lexicon decides whether a program speaks of itself, which memory it means and what its sizes are. What it leaves
// open about the memory, the lines around tell.
#include <vector>

#include "parse/context.h"
#include "parse/lexicon.h"
#include "parse/parser.h"
#include "parse/statement.h"

namespace oomdoctor::parsers {
namespace {

/// The memory that the lines around speak of.
OomKind kind_nearby(const Cursor& cursor) {
  const bool device = is_near(cursor, 25, 6,
                              {"cuda", "CUDA", "GPU", "gpu", "hip", "HIP", "device", "VRAM", "Vulkan", "vulkan", "XPU",
                               "NPU", "TPU", "torch", "tensor"});
  return device ? OomKind::device : OomKind::host;
}

Agent agent_of(const Statement& statement, OomKind kind, std::string_view line) {
  if (kind == OomKind::pool) return Agent::serving;
  if (kind == OomKind::device) return Agent::driver;
  if (!statement.killed) return Agent::cpu_allocator;
  if (line.find("cgroup") != line.npos || line.find("container") != line.npos) return Agent::cgroup;
  if (line.find("pod") != line.npos || line.find("Evicted") != line.npos) return Agent::kubernetes;
  return Agent::daemon;
}

void emit(const Match& m, EventSink& sink) {
  const std::string_view line = m.cursor.line().text;
  const Statement statement = read_statement(m.cursor);
  if (statement.voice == Voice::other) return;
  // The head of a notebook's traceback, whose end says more.
  if (line.find("Traceback (most recent call last)") != line.npos &&
      is_near(m.cursor, 0, 300, {"Error: ", "rror:", "out of memory"}))
    return;
  // The name of an exception ends a traceback, or stands in a list of names.
  const bool listed =
      statement.bare && !is_near(m.cursor, 6, 0, {"File \"", "Traceback", "line ", "rror:", " at ", "what()"});
  if (statement.voice == Voice::unclear || listed) {
    sink.remark("failure/unclear");
    return;
  }
  const OomKind kind = statement.kind.value_or(kind_nearby(m.cursor));
  Oom oom;
  oom.kind = kind;
  oom.agent = agent_of(statement, kind, line);
  oom.message_format = "general";
  oom.request = statement.asked;
  oom.free = statement.free;
  oom.process = statement.used;
  oom.allocated = statement.allocated;
  oom.reserved = statement.reserved;
  oom.unallocated = statement.unallocated;
  oom.capacity = statement.total;
  oom.limit = statement.limit;
  oom.caught = statement.handled;
  Origin where;
  where.device = statement.device;
  where.pid = statement.pid;
  sink.at(where);
  sink.oom(std::move(oom));
}

bool takes(std::string_view line) { return read_statement(line).voice != Voice::other; }

/// A word of memory near the anchor, on its line: most lines with "exceed" or "out of" have none.
bool names_memory(std::string_view block, std::size_t at) {
  constexpr std::size_t reach = 160;
  static constexpr std::string_view words[] = {"mem",      "alloc", "oom", "ram", "hbm",     "swap", "heap",
                                               "resource", "mmap",  "rss", "shm", "byte",    "kib",  "mib",
                                               "gib",      "kb",    "mb",  "gb",  "reserve", "fit",  "vm"};
  const auto low = [&](std::size_t i) {
    const char c = block[i];
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  };
  std::size_t begin = at, end = at;
  while (begin > 0 && at - begin < reach && block[begin - 1] != '\n') --begin;
  while (end < block.size() && end - at < reach && block[end] != '\n') ++end;
  for (std::size_t i = begin; i < end; ++i)
    for (const std::string_view word : words) {
      if (low(i) != word[0] || end - i < word.size()) continue;
      std::size_t k = 1;
      while (k < word.size() && low(i + k) == word[k]) ++k;
      if (k == word.size()) return true;
    }
  return false;
}

std::span<const Pattern> patterns() {
  static const auto& anchors =
      *new std::vector<std::string_view>(failure_lexicon().anchors().begin(), failure_lexicon().anchors().end());
  static const Pattern pattern{
      .name = "statements/failure",
      .anchor = anchors.front(),
      .more_anchors = anchors,
      .example =
          "render: error: ran out of memory, cannot reserve 2.1 GB for the frame buffer, only 812 MB of 8 GB left",
      .emit = emit,
      .fallback = true,
      .fold_case = true,
      .accepts = takes,
      .quick_reject = names_memory};
  return {&pattern, 1};
}

}  // namespace

extern const Parser statements;
const Parser statements{.name = "statements",
                        .title = "Failures in the words of any program",
                        .source = "many programs",
                        .patterns = patterns()};

}  // namespace oomdoctor::parsers
