// Refused allocations of host memory: PyTorch's CPU allocator, numpy, Python, C++ and others.
//
// Unlike a kill, a refusal answers one request and usually contains its size. RAPIDS throws "std::bad_alloc" for device
// memory too; other_gpu reads those forms. "cannot allocate memory in static TLS block" is a problem of the dynamic
// loader, not of memory.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::host_allocation {
namespace {

Oom allocation_failure(std::string_view format, std::string_view framework = "") {
  return host_oom(Agent::cpu_allocator, format, framework);
}

void emit(const Match& m, EventSink& sink, Oom oom) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.oom(std::move(oom));
}

/// The size in "runtime.largeAlloc(0x2c0e4000, …)", which Go's stack shows for a block of more than 32 KiB.
std::optional<Bytes> find_large_allocation(const Cursor& cursor) {
  constexpr int stack_lines = 24;
  const auto line = find_after(cursor, stack_lines, "largeAlloc(0x");
  if (!line) return std::nullopt;
  const std::string_view text = line->text;
  const std::size_t at = text.find("largeAlloc(0x") + std::string_view("largeAlloc(0x").size();
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), bytes, 16);
  constexpr std::uint64_t most = std::uint64_t{1} << 47;  // the address space
  if (error != std::errc() || bytes == 0 || bytes > most) return std::nullopt;
  return Bytes{static_cast<i64>(bytes), 0};
}

/// Go's stack of the goroutine that ran: "net/http.(*conn).serve(0xc0001a2000)", with "/src/server.go:1995 +0x612" on
/// the next line. The runtime's own functions are not a place of the program.
std::vector<Frame> read_go_stack(const Cursor& cursor) {
  constexpr int max_lines = 80;
  std::vector<Frame> frames;  // innermost first
  bool running = false;
  cursor.forward(max_lines, [&](const Line& line) {
    std::string_view text = trimmed(line.text);
    if (const std::size_t tag = text.find("]: "); tag != text.npos) text = trimmed(text.substr(tag + 3));  // of syslog
    if (text.starts_with("goroutine ")) {
      if (running) return false;
      running = text.find("[running]") != text.npos;
      return true;
    }
    if (!running) return true;
    const std::size_t place = text.find(".go:"), call = text.rfind('(');
    if (place != text.npos && text.starts_with('/')) {
      if (!frames.empty() && frames.back().line == 0) {
        frames.back().file = std::string(text.substr(0, place + 3));
        frames.back().line = leading_integer(text.substr(place + 4));
      }
      return true;
    }
    if (call == text.npos || call == 0 || text.starts_with("created by ")) return !text.empty();
    const std::size_t slash = text.substr(0, call).rfind('/');
    Frame frame;
    frame.file = std::string(text.substr(0, text.find('.', slash == text.npos ? 0 : slash)));  // the package
    frame.function =
        std::string(text.substr(slash == text.npos ? 0 : slash + 1, call - (slash == text.npos ? 0 : slash + 1)));
    frame.library = text.starts_with("runtime.");
    frames.push_back(std::move(frame));
    return true;
  });
  std::reverse(frames.begin(), frames.end());
  while (!frames.empty() && frames.back().library) frames.pop_back();
  return frames;
}

/// The bytes of an array of shape "(4900, 4900)" and type "float64"; nullopt for a type whose name has no width, and
/// for an overflow.
std::optional<Bytes> array_size(std::string_view shape, std::string_view type) {
  const std::size_t digits = type.find_first_of("0123456789");
  i64 size = type == "bool" ? 1 : digits == type.npos ? 0 : leading_integer(type.substr(digits)) / 8;
  if (size <= 0) return std::nullopt;
  while (!shape.empty()) {
    shape.remove_prefix(std::min(shape.find_first_of("0123456789"), shape.size()));
    if (shape.empty()) break;
    const i64 extent = leading_integer(shape);
    if (extent <= 0 || size > std::numeric_limits<i64>::max() / extent) return std::nullopt;
    size *= extent;
    shape.remove_prefix(std::min(shape.find_first_not_of("0123456789"), shape.size()));
  }
  return Bytes{size, 0};
}

}  // namespace

/// A runtime of Go. The line with the block that it wanted, if there is one, is the report; the fatal error follows.
void go(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  if (!m.has(1) && find_before(m.cursor, 2, "-byte block")) return;
  Oom oom = allocation_failure("go");
  oom.framework = "go";
  if (m.has(1)) oom.request = Bytes{leading_integer(m[1]), 0};
  if (m.has(2)) oom.process = Bytes{leading_integer(m[2]), 0};
  if (!m.has(1)) oom.request = find_large_allocation(m.cursor);
  oom.frames = read_go_stack(m.cursor);
  // The tag of syslog, "dockerd[412]: ", names the program.
  const std::string_view tag = m.before();
  const std::size_t open = tag.rfind('['), blank = tag.rfind(' ', open);
  if (tag.ends_with("]: ") && open != tag.npos) {
    oom.process_name =
        std::string(tag.substr(blank == tag.npos ? 0 : blank + 1, open - (blank == tag.npos ? 0 : blank + 1)));
    Origin where;
    where.pid = leading_integer(tag.substr(open + 1));
    sink.at(where);
  }
  sink.oom(std::move(oom));
}

/// Reads the limit from the start of the output: "* Target maximum memory (GB)       4".
void quantum_package(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("program-limit", "quantum-package");
  oom.traits = {OomTrait::heap, OomTrait::planned};
  const std::string_view size = m[1];
  oom.request = read_bytes(size.substr(0, size.find('G')), "GiB");
  static constexpr std::string_view label = "Target maximum memory (GB)";
  if (const auto line = find_before(m.cursor, 200, label); line && line->text.find(label) != line->text.npos)
    oom.limit = read_bytes(trimmed(line->text.substr(line->text.find(label) + label.size())), "GiB");
  sink.oom(std::move(oom));
}

/// Below the message: "Possible cause 1: not enough RAM. Check if you have enough RAM 32492657569 bytes".
void star(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("bad-alloc", "star");
  static constexpr std::string_view label = "enough RAM ";
  if (const auto line = find_after(m.cursor, 2, label)) {
    const std::size_t number = line->text.find_first_of("0123456789", line->text.find(label));
    if (number != line->text.npos) oom.request = Bytes{leading_integer(std::string_view(line->text).substr(number)), 0};
  }
  emit(m, sink, std::move(oom));
}

/// The statistics of the process follow: "rss: current: 268352106496, peak: 268299816960".
void mimalloc(const Match& m, EventSink& sink) {
  constexpr int statistics_lines = 8;
  Oom oom = allocation_failure("mimalloc");
  oom.request = Bytes{leading_integer(m[1]), 0};
  static constexpr std::string_view label = "rss: current: ";
  if (const auto line = find_after(m.cursor, statistics_lines, label))
    oom.process = Bytes{leading_integer(std::string_view(line->text).substr(line->text.find(label) + label.size())), 0};
  emit(m, sink, std::move(oom));
}

/// Each process prints how much more it needs. The limit is one for all, so the largest amount counts.
void orca(const Match& m, EventSink& sink) {
  constexpr int lines_of_all = 500;
  constexpr std::string_view label = "MaxCore - by at least (";
  double most = leading_number(m[1]);
  const auto read = [&](const Line& line) {
    const std::size_t at = line.text.find(label);
    if (at != line.text.npos)
      most = std::max(most, leading_number(trimmed(std::string_view(line.text).substr(at + label.size()))));
    return true;
  };
  m.cursor.backward(lines_of_all, read);
  m.cursor.forward(lines_of_all, read);
  Oom oom = allocation_failure("program-limit", "orca");
  oom.traits = {OomTrait::heap, OomTrait::planned};
  sink.setting("memory_missing", fmt::format("{:.1f} MB", most));
  sink.oom(std::move(oom));
}

/// "memory,4000,m" of the input is the limit.
void molpro(const Match& m, EventSink& sink) {
  constexpr double bytes_of_word = 8;
  Oom oom = allocation_failure("program-limit", "molpro");
  oom.traits = {OomTrait::heap, OomTrait::planned};
  const auto words = [](std::string_view count, double unit) {
    return Bytes{static_cast<i64>(leading_number(count) * unit * bytes_of_word), 0};
  };
  const bool stage = m.has(2) && m[2] == "Mwords";
  oom.request = words(m[1], stage ? 1e6 : 1);
  if (m.has(2) && !stage) oom.limit = words(m[2], 1);
  const i64 missing = oom.request->count - (oom.limit ? oom.limit->count : 0);
  if (!stage) sink.setting("memory_missing", fmt::format("{} bytes", missing));
  sink.oom(std::move(oom));
}

/// MATLAB's "GB" has 2^30 bytes. Its older forms do not print the preference.
void matlab(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = allocation_failure("program-limit", "matlab");
  oom.traits = {OomTrait::heap, OomTrait::planned};
  const auto size = [](std::string_view text) {
    return read_bytes(trimmed(text.substr(0, text.size() - 2)), std::string(1, text[text.size() - 2]) + "iB");
  };
  oom.request = size(m[2]);
  if (m.has(3)) oom.limit = size(m[3]);
  sink.setting("array_shape", m[1]);
  sink.oom(std::move(oom));
}

/// The old forms print their amounts in bytes and without a unit.
void duckdb(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = m.has(4) ? allocation_failure("bad-alloc", "duckdb") : allocation_failure("program-limit", "duckdb");
  oom.request = read_size(m[1]);
  if (!m.has(4)) oom.traits = {OomTrait::heap};
  if (m.has(2)) {
    oom.process = read_size(m[2]);
    oom.limit = read_size(m[3]);
  }
  sink.oom(std::move(oom));
}

/// "not enough memory" is the wording of the build for Windows.
void torch(const Match& m, EventSink& sink) {
  if (m[1] == "notenoughmemory") sink.setting("system", "Windows");
  Oom oom = allocation_failure("torch-cpu", "pytorch");
  read_request(m[2], oom);
  sink.oom(std::move(oom));
}

void numpy(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("numpy");
  read_request(m[1], oom);
  if (m.has(2)) sink.setting("array_shape", m[2]);
  if (m.has(3)) sink.setting("array_type", m[3]);
  sink.oom(std::move(oom));
}

/// Before 1.17 the message has no size, but all that it follows from.
void numpy_shape(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = allocation_failure("numpy");
  oom.request = array_size(m[1], m[2]);
  sink.setting("array_shape", m[1]);
  sink.setting("array_type", m[2]);
  sink.oom(std::move(oom));
}

/// The name alone also occurs in lists and documentation. It is a failure only below a traceback. Paddle on Windows
/// raises MemoryError for a GPU too and names the GPU in its summary below.
void python(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 0, 14, {"Out of memory error on GPU"})) return;
  if (is_near(m.cursor, 4, 0, {"File \"", "Traceback (most", "--> "}))
    emit(m, sink, allocation_failure("memory-error"));
}

void emit_ggml(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("ggml", "llama.cpp");
  oom.request = read_bytes(m[1].substr(0, m[1].find_first_of(" M")), "MB");
  sink.oom(std::move(oom));
}
/// Windows: the commit limit (RAM and page file) is exhausted. Windows translates the words but not the number.
void emit_page_file(const Match& m, EventSink& sink) {
  sink.setting("system", "Windows");
  Oom oom = allocation_failure("winerror-1455");
  oom.traits = {OomTrait::windows};
  emit(m, sink, std::move(oom));
}

/// A process that Windows could not serve ends with the status of the refusal.
void windows_status(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.setting("system", "Windows");
  sink.oom(allocation_failure("winerror-1455"));
}

void page_file_words(const Match& m, EventSink& sink) {
  if (m[0].find("DLL load failed") != std::string_view::npos) return emit_page_file(m, sink);
  windows_status(m, sink);
}

void page_file_go(const Match& m, EventSink& sink) {
  sink.setting("system", "Windows");
  Oom oom = allocation_failure("winerror-1455");
  oom.request = Bytes{leading_integer(m[1]), 0};
  sink.oom(std::move(oom));
}

void r_limit(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = allocation_failure("program-limit", "r");
  oom.traits = {OomTrait::heap};
  if (m.has(1)) oom.limit = read_bytes(m[1], std::string(m[2]) + "iB");
  sink.oom(std::move(oom));
}

/// R for Windows (before 4.2) prints its own limit, memory.limit(), in the warnings below the error. Its "Mb" is 2^20
/// bytes.
void r_vector(const Match& m, EventSink& sink) {
  constexpr int max_warning_lines = 8;
  constexpr std::string_view label = "Reached total allocation of ";
  Oom oom = allocation_failure("r", "r");
  oom.request = read_bytes(m[1], std::string(m[2]) + "iB");
  m.cursor.forward(max_warning_lines, [&](const Line& line) {
    const std::size_t at = line.text.find(label);
    if (at == line.text.npos) return true;
    oom.limit = Bytes{leading_integer(std::string_view(line.text).substr(at + label.size())) * MiB, 0};
    sink.setting("system", "Windows");
    return false;
  });
  emit(m, sink, std::move(oom));
}

/// The frame of a traceback that ends with the kernel's refusal.
void signal_stack(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 0, 2, {"Error: [Errno 12]"})) sink.remark("limit/signal_stack");
}

}  // namespace oomdoctor::parsers::host_allocation
