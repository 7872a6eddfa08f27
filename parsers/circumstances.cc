// Facts about the machine and the job around a failure: the job's memory request, the limit or threshold that applied,
// the free memory at the start, the size of the weights, the progress of loading. None of these lines is a failure, but
// they decide how a nearby failure is explained.
//
// One row is one statement: the words, the position of its value, and the name of its setting (the fact settings.NAME,
// src/facts/fact_specs.cc). The last printed value wins.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/bytes.h"
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::circumstances {

/// A cgroup by its path, and its systemd unit.
void group(const Match& m, EventSink& sink) {
  sink.setting("memory_group", m[1]);
  const std::string_view unit = m[1].substr(m[1].rfind('/') + 1);
  for (const std::string_view kind : {".slice", ".scope", ".service"})
    if (unit.ends_with(kind)) sink.setting("memory_unit", unit);
}

void group_under_pressure(const Match& m, EventSink& sink) {
  group(m, sink);
  if (m.has(3)) sink.setting("memory_pressure", std::string(m[3]) + " in " + std::string(m[2]));
  if (!m.has(4)) return;
  const auto size = [&](std::size_t group) { return bytes_text(leading_integer(m[group])); };
  sink.setting("use_at_kill", fmt::format("{} of {} of RAM and {} of {} of swap were in use, each more than {}",
                                          size(4), size(5), size(6), size(7), m[8]));
}

/// The limit on mappings is on the line, or alone on the next one. "48211 /proc/7012/maps" may be some lines away.
void map_limit(const Match& m, EventSink& sink) {
  constexpr int reach = 6;
  if (m.has(1)) sink.setting("max_map_count", m[1]);
  bool next = !m.has(1);
  const auto read = [&](const Line& line) {
    const std::string_view text = trimmed(line.body()), number = text.substr(0, text.find(' '));
    if (std::exchange(next, false) && only_digits(text)) sink.setting("max_map_count", text);
    if (only_digits(number) && text.substr(number.size()).starts_with(" /proc/") && text.ends_with("/maps"))
      sink.cite(line), sink.setting("mappings", number), sink.cite(m.cursor.line());
    return true;
  };
  m.cursor.forward(reach, read);
  m.cursor.backward(reach, read);
}

/// The highest of the pauses nearby counts: a worker is paused again and again.
void paused(const Match& m, EventSink& sink) {
  constexpr int max_lines = 400;
  static constexpr std::string_view label = "Worker is at ";
  const i64 share = leading_integer(m[1]);
  bool higher = false;
  m.cursor.backward(max_lines, [&](const Line& line) {
    const std::size_t at = line.text.find(label);
    higher = at != line.text.npos && line.text.find("Pausing worker") != line.text.npos &&
             leading_integer(line.text.substr(at + label.size())) > share;
    return !higher;
  });
  if (!higher) sink.setting("worker_paused", m[1]);
}

/// "MEMORY LEAK PRESENT!", and below it what the program keeps: "Stored 812 loss tensors in memory!".
void claimed_leak(const Match& m, EventSink& sink) {
  constexpr int max_lines = 3;  // from the claim to what is kept
  sink.remark("text/leak_claimed");
  m.cursor.forward(max_lines, [&](const Line& line) {
    static constexpr std::string_view end = "tensors";
    const std::string_view text = line.body();
    const std::size_t at = text.find("tensors in memory"), first = text.find_first_of("0123456789");
    if (at == text.npos || first > at || lower(text.substr(0, first)).find("stored") == std::string::npos) return true;
    sink.cite(line);
    sink.setting("kept_tensors", text.substr(first, at + end.size() - first));
    sink.cite(m.cursor.line());
    return false;
  });
}

void no_segments(const Match&, EventSink& sink) { sink.setting("segments_unsupported", "true"); }

/// Paddle takes 0.92 by default, which is not a cap.
void fraction(const Match& m, EventSink& sink) {
  constexpr i64 usual = 9;  // tenths
  const std::size_t point = m[1].find('.');
  if (m[1].starts_with('1') || leading_integer(m[1].substr(point + 1, 1)) >= usual) return;
  sink.setting("memory_fraction", m[1]);
}

/// "training_12/Adam/…": Keras numbers the models that one graph holds, from the second on.
void graph_models(const Match& m, EventSink& sink) {
  sink.setting("graph_models", std::to_string(leading_integer(m[1]) + 1));
}

void negative_profile(const Match& m, EventSink& sink) {
  sink.setting("profiled_tokens", m[1]);
  if (!is_program_text(m.cursor.line().body())) sink.remark("pool/no_tokens");
}

void windows(const Match&, EventSink& sink) { sink.setting("system", "Windows"); }

void macos(const Match&, EventSink& sink) { sink.setting("system", "macOS"); }

void sleep(const Match& m, EventSink& sink) {
  sink.setting("sleep_freed", m[1]);
  sink.setting("sleep_kept", m[2]);
}

void survives_load(const Match&, EventSink& sink) {
  sink.remark("for/weights");
  sink.remark("run/survives");
}

void machine_swap(const Match& m, EventSink& sink) {
  sink.setting("machine_swap", m[1] == "0" ? "no" : std::to_string(leading_integer(m[1]) / 1024) + " MiB of");
}

/// The kernel counts pages of 4 KiB, the page size of x86.
void machine_memory(const Match& m, EventSink& sink) {
  sink.setting("machine_memory", std::to_string(leading_integer(m[1]) * 4) + " KiB");
}

void amdgpu_memory(const Match& m, EventSink& sink) {
  sink.setting(m[2] == "GTT" ? "gtt_memory" : "vram_memory", std::string(m[1]) + " MiB");
}

/// "45 of 51" shards.
void shards(const Match& m, EventSink& sink) {
  sink.setting("shards_loaded", m[1]);
  sink.setting("shards", m[2]);
}

/// The limit that the compiler tried to reach, and the size that it achieved.
void remat_floor(const Match& m, EventSink& sink) {
  sink.setting("remat_limit", m[1]);
  sink.setting("remat_floor", m[2]);
}

/// may_match: before the name of the script, the line calls a Python by its version.
bool follows_versioned_python(std::string_view block, std::size_t at) {
  constexpr std::size_t reach = 1000;  // bytes: six variables, the path of the interpreter and that of the script
  static constexpr std::string_view python = "python";
  std::string_view before = block.substr(at - std::min(at, reach), std::min(at, reach));
  before.remove_prefix(before.find_last_of("\r\n") + 1);
  for (std::size_t word = before.find(python); word != before.npos; word = before.find(python, word + 1)) {
    const std::string_view version = before.substr(word + python.size());
    const std::size_t end = version.find_first_not_of("0123456789.");
    if (end != version.npos && end > 0 && version[end] == ' ') return true;
  }
  return false;
}

void script(const Match& m, EventSink& sink) { sink.setting("script", m[1]); }

void container(const Match&, EventSink& sink) { sink.setting("container", "container"); }

/// A TPU runtime's "27.50M" is MiB.
void largest_free(const Match& m, EventSink& sink) { sink.setting("largest_free", std::string(m[1]) + "iB"); }

/// The GPU's capacity and free memory at the start, as TensorFlow prints them.
void tensorflow_device(const Match& m, EventSink& sink) {
  sink.setting("capacity", m[1]);
  if (m.has(2)) sink.setting("free_at_start", m[2]);
}

/// What TensorFlow's pool got of each GPU.
void tensorflow_given(const Match& m, EventSink& sink) {
  const std::string size = std::string(m[2]) + " MB";
  if (leading_integer(m[1]) == 0) return sink.setting("given_at_start", size);
  sink.setting("given_at_start/" + std::string(m[1]), size);
}

void smaller_batch_failed(const Match&, EventSink& sink) { sink.setting("smaller_batch_failed", "true"); }

}  // namespace oomdoctor::parsers::circumstances
