// Out-of-memory failures in the words of unknown programs: matches of lexicon.txt where no exact form took the line.
//
// The lexicon decides whether the program reports its own failure, which memory it means and what the sizes are. If the
// line leaves the kind of memory open, the surrounding lines decide.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/ascii.h"
#include "read/context.h"
#include "read/lexicon.h"
#include "read/parser.h"
#include "read/statement.h"

namespace oomdoctor::parsers::statements {
namespace {

/// Guesses the kind of memory from the surrounding lines.
OomKind guess_kind(const Cursor& cursor) {
  const bool device = is_near(cursor, 25, 6,
                              {"cuda", "CUDA", "GPU", "gpu", "hip", "HIP", "device", "VRAM", "Vulkan", "vulkan", "XPU",
                               "NPU", "TPU", "MPS", "torch", "tensor"});
  return device ? OomKind::device : OomKind::host;
}

/// True for the reason that Kubernetes gives for the end of a container, whatever prints it.
bool names_reason(std::string_view line) { return line.find("OOMKilled") != line.npos; }

/// True if the program or its job used more than it may: no request was refused. "Memory limit exceeded (8Gi)" prints
/// the limit only.
bool is_over_limit(const Statement& statement, std::string_view line) {
  if (statement.killed || statement.asked || !statement.limit) return false;
  if (statement.used) return statement.used->count >= statement.limit->count;
  return !statement.free && lower(line).find("limit exceeded") != std::string::npos;
}

/// True if a program compared its need with a limit of its own, without a request to the system.
bool is_above_own_limit(const Statement& statement) {
  return !statement.killed && statement.asked && statement.limit && statement.asked->count > statement.limit->count;
}

/// Guesses who refused the memory or killed the process, from the words of the line.
Agent guess_agent(const Statement& statement, OomKind kind, std::string_view line) {
  if (kind == OomKind::pool) return Agent::serving;
  if (kind == OomKind::device) return Agent::driver;
  if (is_over_limit(statement, line)) return Agent::scheduler;
  if (!statement.killed) return Agent::cpu_allocator;
  if (line.find("cgroup") != line.npos || line.find("container") != line.npos) return Agent::cgroup;
  if (line.find("pod") != line.npos || line.find("Evicted") != line.npos || names_reason(line))
    return Agent::kubernetes;
  return Agent::daemon;
}

/// True for the code of Level Zero and SYCL that names host memory. It answers a call on the GPU, and comes also where
/// a model is larger than the memory of the GPU.
bool is_code_of_gpu_call(std::string_view line) {
  constexpr std::string_view code = "_ERROR_OUT_OF_HOST_MEMORY";
  for (const std::string_view prefix : {"PI", "UR_RESULT", "ZE_RESULT"})
    if (line.find(std::string(prefix).append(code)) != line.npos) return true;
  return false;
}

/// What the class "OutOfMemoryError" means on its own. Python prints PyTorch's, whose memory is the GPU's: Python's own
/// class is MemoryError. Classes of Java, Julia and Ray have the same name, and mean the host's.
enum class NamedClass { none, of_pytorch, of_somebody };
NamedClass find_class(const Cursor& cursor) {
  constexpr int back = 25, ahead = 12;
  static constexpr std::string_view name = "OutOfMemoryError";
  static constexpr std::array<std::string_view, 7> others{"java", "Java", "\tat ", "ray.", "(raylet)", "park", "JVM"};
  static constexpr std::array<std::string_view, 5> python{"Traceback (most recent call last)", ".py\", line ",
                                                          "Cell In[", "ipykernel", "<ipython-input"};
  const std::string_view line = cursor.line().text;
  const std::size_t at = line.find(name);
  if (at == line.npos) return NamedClass::none;
  const std::string_view before = line.substr(0, at), after = line.substr(at + name.size());
  if (before.ends_with("torch.") || before.ends_with("torch.cuda.")) return NamedClass::of_pytorch;
  const bool part = !before.empty() && (is_word_char(before.back()) || before.back() == '.');
  if (part || after.starts_with('(') || is_near(cursor, back, ahead, others)) return NamedClass::none;
  return is_near(cursor, ahead, ahead, python) ? NamedClass::of_pytorch : NamedClass::of_somebody;
}

/// True if the memory was for a serving engine's cache: "not enough GPU memory for the KV cache".
bool is_for_cache(std::string_view line) {
  constexpr std::array<std::string_view, 5> words{"for the kv cache", "for kv cache", "for the kv-cache",
                                                  "for its kv cache", "for the key-value cache"};
  const std::string text = lower(line);
  return std::any_of(words.begin(), words.end(), [&](auto word) { return text.find(word) != text.npos; });
}

/// True if the memory was for a part of a model, which may be on a GPU or not.
bool is_for_model(std::string_view line) {
  constexpr std::array<std::string_view, 5> words{" model", " weights", " cache", " checkpoint", " request"};
  return std::any_of(words.begin(), words.end(), [&](auto word) { return line.find(word) != line.npos; });
}

/// True for a refused mlock. It keeps pages from being swapped, and programs warn and go on without it.
bool locks_pages(std::string_view line) {
  constexpr std::array<std::string_view, 6> words{"mlock",       "MemLock",         "ocking page",
                                                  "lock memory", "lock JVM Memory", "lock the memory"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return line.find(word) != line.npos; });
}

}  // namespace

void emit(const Match& m, EventSink& sink) {
  const std::string_view line = m.cursor.line().text;
  if (line.find('\0') != line.npos) return;  // the strings of a program's file
  if (locks_pages(line)) return;
  const Statement statement = read_statement(m.cursor);
  if (statement.voice == Voice::other) return;
  // This line is the start of a traceback in a notebook. Its end contains more.
  if (line.find("Traceback (most recent call last)") != line.npos &&
      is_near(m.cursor, 0, 300, {"Error: ", "rror:", "out of memory"}))
    return;
  // A bare exception name is either the end of a traceback or an entry in a list of names. Only the former is a
  // failure.
  const bool listed =
      statement.bare && !is_near(m.cursor, 6, 0, {"File \"", "Traceback", "line ", "rror:", " at ", "what()"});
  if (statement.voice == Voice::unclear || listed) {
    sink.remark("failure/unclear");
    return;
  }
  // Processes write over each other: "java.lang.OutOfMemoryErrorError occurred during initialization of VM".
  if (line.find("java.lang.OutOfMemoryErrorE") != line.npos && is_near(m.cursor, 3, 6, {"native thread"})) return;
  const bool of_gpu_call = is_code_of_gpu_call(line);
  const NamedClass named = statement.kind.value_or(OomKind::host) == OomKind::host && !statement.killed
                               ? find_class(m.cursor)
                               : NamedClass::none;
  const OomKind kind =
      of_gpu_call || named != NamedClass::none ? OomKind::device : statement.kind.value_or(guess_kind(m.cursor));
  const bool of_driver = kind == OomKind::device || line.find("pinned") != line.npos;
  if (of_driver && !statement.killed && follows_device_fault(m.cursor)) return;
  Oom oom;
  oom.kind = kind;
  oom.agent = guess_agent(statement, kind, line);
  oom.message_format = "general";
  if (statement.killed && names_reason(line)) oom.message_format = "oomkilled";
  if (statement.killed && oom.agent == Agent::daemon) oom.message_format = "general-killed";
  if (kind == OomKind::host && is_over_limit(statement, line)) oom.message_format = "general-limit";
  oom.traits = {OomTrait::prose};
  if (kind == OomKind::host && statement.guessed && !names_reason(line)) {
    oom.agent = Agent::signal;
    oom.message_format = "ended-perhaps";
    oom.traits = {OomTrait::prose, OomTrait::suspected, statement.killed ? OomTrait::sigkill : OomTrait::vanished};
  }
  if (kind == OomKind::host && is_above_own_limit(statement)) {
    oom.message_format = "program-limit";
    oom.traits.push_back(OomTrait::heap);
  }
  if (of_gpu_call) {
    oom.message_format = "driver-host-code";
    oom.traits.push_back(OomTrait::either_memory);
  }
  if (named == NamedClass::of_pytorch)
    oom.agent = Agent::cuda_allocator, oom.framework = "pytorch", oom.message_format = "torch-class";
  if (named == NamedClass::of_somebody && guess_kind(m.cursor) == OomKind::host) {
    oom.message_format = "class-either";
    oom.traits.push_back(OomTrait::either_memory);
  }
  const bool unnamed = !statement.kind && kind == OomKind::host && !statement.killed && !statement.asked;
  if (unnamed && oom.message_format == "general" && is_for_model(line)) {
    oom.message_format = "class-either";
    oom.traits.push_back(OomTrait::either_memory);
  }
  oom.request = statement.asked;
  oom.free = statement.free;
  const bool of_machine = statement.of_machine && kind == OomKind::host && statement.used && statement.total;
  if (of_machine && !oom.free)
    oom.free = *statement.total - *statement.used;
  else if (!of_machine)
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
  if (kind == OomKind::device && is_for_cache(line)) sink.remark("for/kv_cache");
  sink.oom(std::move(oom));
}

bool is_statement(std::string_view line) { return read_statement(line).voice != Voice::other; }

/// may_match: true if a word of memory is near the anchor on the same line. Most lines with "exceed" or "out of"
/// have none.
bool names_memory(std::string_view block, std::size_t at) {
  constexpr std::size_t reach = 160;
  static constexpr std::array words = std::to_array<std::string_view>(
      {"mem", "alloc", "oom", "ram", "hbm", "swap", "heap",    "resource", "mmap", "rss",   "shm",    "byte",
       "kib", "mib",   "gib", "kb",  "mb",  "gb",   "reserve", "fit",      "vm",   "moire", "peicher"});
  static constexpr auto starting = [] {  // by letter, the words that it begins: bit i for words[i]
    std::array<std::uint32_t, 128> by_letter{};
    for (std::size_t i = 0; i < words.size(); ++i) by_letter[static_cast<std::size_t>(words[i][0])] |= 1u << i;
    return by_letter;
  }();
  const auto lower_at = [&](std::size_t i) { return lower(block[i]); };
  std::size_t begin = at, end = at;
  if (static_cast<unsigned char>(block[at]) >= 0x80) return true;  // a phrase of another language names memory itself
  while (begin > 0 && at - begin < reach && !ends_line(block[begin - 1])) --begin;
  while (end < block.size() && end - at < reach && !ends_line(block[end])) ++end;
  for (std::size_t i = begin; i < end; ++i)
    for (std::uint32_t left = starting[static_cast<unsigned char>(lower_at(i)) % starting.size()]; left != 0;
         left &= left - 1) {
      const std::string_view word = words[static_cast<std::size_t>(std::countr_zero(left))];
      if (end - i < word.size()) continue;
      std::size_t k = 0;
      while (k < word.size() && lower_at(i + k) == word[k]) ++k;
      if (k == word.size()) return true;
    }
  return false;
}

}  // namespace oomdoctor::parsers::statements
