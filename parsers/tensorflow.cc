// TensorFlow: its pool allocator (BFC), operations that could not allocate a tensor, and refusals of the driver below
// the pool.
//
// TensorFlow prints one failure in parts: the allocator's line with the size, a dump of thousands of lines with "Limit"
// and "InUse" near the end, and the operation's exception with the tensor's shape, at least twice. oomdoctor joins them
// later.
//
// "The caller indicates that this is not a failure" is true: TensorFlow only tried a faster algorithm. A refusal of the
// driver is a step of the pool's growth: the pool retries with nine tenths of the size. The refusal is final only if
// nothing follows it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/bytes.h"
#include "read/context.h"
#include "read/freeform.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::tensorflow {
namespace {

/// The maximum length of the allocator's dump.
constexpr int max_dump_lines = 6000;

Oom tf_failure(Agent agent, std::string_view format) {
  Oom oom;
  oom.agent = agent;
  oom.framework = "tensorflow";
  oom.message_format = std::string(format);
  return oom;
}

/// Derives device or host memory from the allocator's name. "GPU_0_bfc" is a GPU's pool. "gpu_host_bfc",
/// "cuda_host_bfc", "mklcpu" and "cpu" are host memory.
void set_memory_kind(std::string_view allocator, Oom& oom, Origin& where) {
  allocator = allocator.substr(0, allocator.find(')'));
  const bool device = allocator.starts_with("GPU_") && allocator.size() > 4 && is_digit(allocator[4]);
  if (device) where.device = static_cast<int>(leading_integer(allocator.substr(4)));
  if (device || allocator.find("pluggable") != allocator.npos) return;
  if (allocator.find("host") == allocator.npos && allocator.find("cpu") == allocator.npos) return;
  oom.kind = OomKind::host;
  oom.agent = Agent::cpu_allocator;
}

/// Parses a line such as "InUse:   7945689088". The dump ends with these lines, one value each. Pasted text may
/// emphasise them: "**Limit:".
std::optional<Bytes> parse_statistic(std::string_view text, std::string_view name) {
  std::string_view line = trimmed(text);
  if (line.starts_with("**")) line.remove_prefix(2);
  if (!line.starts_with(name)) return std::nullopt;
  const i64 count = leading_integer(trimmed(line.substr(name.size())));
  return count > 0 ? std::optional(Bytes{count, 0}) : std::nullopt;
}

/// The largest free chunk of the pool, which the dump lists: exactly under "Free at …", or as the sum of a bin with a
/// single free chunk. A log may lack a part of the list, but the summary of the bins shows it.
class FreeChunks {
 public:
  void read(std::string_view text) {
    static constexpr std::string_view free = "] Free ", bin = "Bin (", size = " of size ";
    if (const std::size_t at = text.find(free), label = text.find(size); at != text.npos && label != text.npos)
      largest_ = std::max(largest_, leading_integer(text.substr(label + size.size())));
    if (const std::size_t at = text.find(bin); at != text.npos) read_bin(text.substr(at + bin.size()));
  }

  /// `unused` is all that is free in the pool.
  std::optional<Bytes> largest(const std::optional<Bytes>& unused) const {
    if (largest_ > 0 && largest_ >= least_) return Bytes{largest_, 0};
    if (!single_) return std::nullopt;
    return unused && unused->count < single_->count ? unused : single_;
  }

 private:
  /// "268435456): Total Chunks: 14, Chunks in use: 13. 35.38GiB allocated for chunks. 35.02GiB in use in bin. …"; bins
  /// come in the order of their sizes.
  void read_bin(std::string_view text) {
    const auto count = [&](std::string_view label) {
      const std::size_t at = text.find(label);
      return at == text.npos ? 0 : leading_integer(text.substr(at + label.size()));
    };
    const auto sentence = [&](std::string_view end) -> std::optional<Bytes> {
      const std::size_t at = text.find(end), begin = at == text.npos ? at : text.rfind(". ", at);
      return begin == text.npos ? std::nullopt : read_size(text.substr(begin + 2));
    };
    const i64 free = count("Total Chunks: ") - count("Chunks in use: ");
    if (free <= 0) return;
    least_ = leading_integer(text);
    single_.reset();
    const auto all = sentence(" allocated for chunks"), used = sentence(" in use in bin.");
    if (free == 1 && all && used) single_ = *all - *used;
  }

  i64 largest_ = 0, least_ = 0;
  std::optional<Bytes> single_;
};

/// The summary of the pool's chunks in use, by their size: "356 Chunks of size 16777216 totalling 5.56GiB".
class UsedChunks {
 public:
  void read(const Line& line) {
    static constexpr std::string_view label = " Chunks of size ";
    const std::string_view text = line.text;
    const std::size_t at = text.find(label);
    if (at == text.npos || at == 0) return;
    const std::size_t blank = text.rfind(' ', at - 1);
    const i64 count = leading_integer(text.substr(blank == text.npos ? 0 : blank + 1));
    const i64 size = leading_integer(text.substr(at + label.size()));
    if (count <= 0 || size <= 0 || count > max_sum / size) return;
    sum_ = std::min(max_sum, sum_ + count * size);
    if (!largest_ || count * size > count_ * size_) count_ = count, size_ = size, largest_ = line;
  }

  /// The largest group, if it has a good part of all that is in use. Many chunks of the request's size are tensors of
  /// the same shape.
  void report(const Line& message, const std::optional<Bytes>& request, EventSink& sink) const {
    constexpr i64 least_part = 5, many = 32, slack = 50;
    if (!largest_ || count_ * size_ < sum_ / least_part) return;
    const bool alike = request && std::abs(size_ - request->count) <= request->slack + size_ / slack;
    sink.cite(*largest_);
    sink.setting("used_chunks",
                 fmt::format("{} of {}, together {}", count_, bytes_text(size_), bytes_text(count_ * size_)));
    if (alike && count_ >= many) sink.setting("chunks_like_request", std::to_string(count_ * size_));
    sink.cite(message);
  }

 private:
  static constexpr i64 max_sum = std::numeric_limits<i64>::max() / 4;
  i64 count_ = 0, size_ = 0, sum_ = 0;
  std::optional<Line> largest_;
};

/// Bytes per element; 0 for types of varying size.
i64 element_size(std::string_view type) {
  struct Width {
    std::string_view name;
    i64 bytes;
  };
  static constexpr std::array<Width, 15> widths{{{"float", 4},
                                                 {"double", 8},
                                                 {"half", 2},
                                                 {"bfloat16", 2},
                                                 {"int32", 4},
                                                 {"int64", 8},
                                                 {"int16", 2},
                                                 {"int8", 1},
                                                 {"uint8", 1},
                                                 {"uint16", 2},
                                                 {"uint32", 4},
                                                 {"uint64", 8},
                                                 {"bool", 1},
                                                 {"complex64", 8},
                                                 {"complex128", 16}}};
  for (const Width& w : widths)
    if (w.name == type) return w.bytes;
  return 0;
}

/// The bytes of a tensor, with "32,512,512" as shape. nullopt for an unknown type, an unknown dimension, or an
/// overflow.
std::optional<Bytes> tensor_size(std::string_view shape, std::string_view type) {
  i64 size = element_size(type);
  if (size == 0) return std::nullopt;
  while (!shape.empty()) {
    const i64 extent = leading_integer(shape);
    if (extent <= 0 || size > std::numeric_limits<i64>::max() / extent) return std::nullopt;
    size *= extent;
    const std::size_t comma = shape.find(',');
    shape = comma == shape.npos ? std::string_view{} : shape.substr(comma + 1);
  }
  return Bytes{size, 0};
}

/// The dimensions of "32,64,250,250".
std::vector<i64> parse_shape(std::string_view shape) {
  std::vector<i64> dimensions;
  while (!shape.empty()) {
    dimensions.push_back(leading_integer(shape));
    shape.remove_prefix(std::min(shape.find(',') + 1, shape.size()));
    if (shape.find(',') == shape.npos) break;
  }
  if (!shape.empty()) dimensions.push_back(leading_integer(shape));
  return dimensions;
}

/// "MaxInUse: …": the most that the pool ever had in use.
void read_most_in_use(const Line& line, EventSink& sink) {
  if (const auto most = parse_statistic(line.text, "MaxInUse:"))
    sink.cite(line), sink.setting("most_in_use", std::to_string(most->count));
}

/// The first dimension of a tensor of images or volumes is their number.
void set_images(const std::vector<i64>& shape, EventSink& sink) {
  if (shape.size() == 4 || shape.size() == 5) sink.setting("images", std::to_string(shape[0]));
}

/// Before 1.4 the shape has no allocator. It follows the dump of the allocator that refused, and the head of the dump
/// names it. If no dump is nearby above, the next one may belong to the failure.
void emit_shape(const Match& m, EventSink& sink, Oom oom) {
  static constexpr std::string_view label = "Allocator (";
  static constexpr int short_dump = 100, end_of_dump = 12;
  Origin where;
  auto dump = find_before(m.cursor, short_dump, label);
  if (!dump) dump = find_after(m.cursor, 3, label);
  if (dump) set_memory_kind(std::string_view(dump->text).substr(dump->text.find(label) + label.size()), oom, where);
  m.cursor.backward(end_of_dump, [&](const Line& line) {
    if (const auto used = parse_statistic(line.text, "InUse:")) oom.allocated = used;
    if (const auto limit = parse_statistic(line.text, "Limit:")) oom.limit = limit;
    read_most_in_use(line, sink);
    return !oom.limit;
  });
  sink.cite(m.cursor.line());
  sink.at(where);
  set_images(parse_shape(m[1]), sink);
  sink.oom(std::move(oom));
}

void device_memory(const Match& m, double now, double peak, double quantum, std::string_view unit, EventSink& sink) {
  const std::optional<double> step = read_freeform(m.text).step;
  Reading r;
  r.metric = Metric::allocated;
  r.value = now;
  r.quantum = quantum;
  r.unit = std::string(unit);
  r.ambiguous_unit = unit == "gb";
  r.label = "get_memory_info";
  sink.reading(r, step);
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::running_maximum;
  r.value = peak;
  sink.reading(r, step);
}

bool is_refusal(std::string_view text) {
  return text.find("bytes) from device: ") != text.npos || text.find("CUDA_ERROR_OUT_OF_MEMORY") != text.npos ||
         text.find("pinned host memory of size") != text.npos;
}

/// The bytes of a refusal: in parentheses on a GPU, after "size:" or "alloc" on the host.
i64 refused_bytes(std::string_view text) {
  for (const std::string_view label : {"failed to allocate ", "memory of size: ", "failed to alloc "}) {
    const std::size_t at = text.find(label);
    if (at == text.npos) continue;
    const std::size_t paren = label == "failed to allocate " ? text.find('(', at) : text.npos;
    return leading_integer(text.substr(paren == text.npos ? at + label.size() : paren + 1));
  }
  return 0;
}

/// A step as Keras, an estimator or a progress bar prints it.
bool prints_loss(std::string_view text) {
  static constexpr std::array<std::string_view, 3> losses{"loss: ", "loss = ", "loss="};
  return std::any_of(losses.begin(), losses.end(), [&](auto loss) { return text.find(loss) != text.npos; });
}

/// The event after a run of refusals: nothing, a failure of the pool, a message that the pool recovered or frees what
/// it does not use, further work, or steps among it.
enum class Next { nothing, failure, recovered, collected, work, steps };
Next find_next(const Cursor& cursor) {
  constexpr int max_lines = 64;  // of refusals and warnings: the pool prints some for each operation that it tries
  Next next = Next::nothing;
  cursor.forward(max_lines, [&](const Line& line) {
    const std::string_view text = line.text;
    if (next == Next::work) {
      if (prints_loss(text)) next = Next::steps;
      return next == Next::work;
    }
    if (is_refusal(text) || trimmed(text).empty()) return true;
    const bool failure =
        (text.find("ran out of memory trying to allocate") != text.npos && text.find("freed_by_count") == text.npos) ||
        text.find("OOM when allocating") != text.npos;
    const bool ends = text.find("Traceback (most") != text.npos || text.find("rror") != text.npos ||
                      text.find("Aborted") != text.npos || text.find("terminate called") != text.npos ||
                      text.find("Killed") != text.npos;
    const bool collected = text.find("Garbage collection: deallocate") != text.npos;
    const bool recovered = text.find("this is not a failure") != text.npos;
    next = failure             ? Next::failure
           : collected         ? Next::collected
           : recovered         ? Next::recovered
           : ends              ? Next::nothing
           : prints_loss(text) ? Next::steps
                               : Next::work;
    return next == Next::work;
  });
  return next;
}

/// Emits a refusal of the driver unless the pool reports the failure itself or recovers.
void emit_refusal(const Match& m, i64 bytes, EventSink& sink, Oom oom) {
  constexpr int max_retries = 64;
  bool first = true;  // the pool retries with smaller sizes; only the first refusal of a run counts
  m.cursor.backward(1, [&](const Line& line) {
    if (is_refusal(line.text)) first = bytes > refused_bytes(line.text);
    return false;
  });
  if (!first) return;
  i64 least = bytes, retries = 0;
  m.cursor.forward(max_retries, [&](const Line& line) {
    const i64 smaller = is_refusal(line.text) ? refused_bytes(line.text) : 0;
    if (smaller <= 0 || smaller >= least) return false;
    least = smaller;
    ++retries;
    return true;
  });
  const Next next = find_next(m.cursor);
  if (next == Next::collected) sink.remark("tensorflow/collected");
  if (next == Next::failure || next == Next::recovered || next == Next::collected) return;
  // Growth of the pool is refused at level "I", before 2.5 also at "E": then only steps that follow show that the
  // program could do without.
  if (retries > 0 && oom.agent == Agent::driver) sink.setting("pool_refused", fmt::format("{} bytes", least));
  oom.caught = next == Next::steps || (next == Next::work && m.cursor.line().text.find(": I ") != std::string::npos);
  if (bytes > 0) oom.request = Bytes{bytes, 0};
  sink.oom(std::move(oom));
}

/// The bytes of the arrays in the dump above that hold whole images, and the most images in one of them. Their size is
/// a multiple of an image of three colours at the resolution of the refused tensor, or of a larger one before its
/// pooling. They hold far more images than a step.
struct DataArrays {
  i64 bytes = 0, images = 0;
  std::optional<Line> line{};  ///< of the largest
};
DataArrays find_data_arrays(const Cursor& cursor, const std::vector<i64>& shape, i64 request) {
  constexpr i64 colours = 3, float_bytes = 4, most_pooling = 8, many_steps = 4, far_above = 4;
  static constexpr std::string_view label = " Chunks of size ";
  const i64 side = shape[2] == shape[3] ? shape[2] : shape[1] == shape[2] ? shape[1] : 0;
  DataArrays found;
  if (side < 2) return found;
  cursor.backward(max_dump_lines, [&](const Line& line) {
    const std::string_view text = line.text;
    const std::size_t at = text.find(label);
    if (at == text.npos) return text.find("Summary of in-use") == text.npos;
    const i64 size = leading_integer(text.substr(at + label.size()));
    const i64 count = leading_integer(text.substr(text.rfind(' ', at - 1) + 1));
    if (size < far_above * request) return true;
    for (i64 pooled = 1; pooled <= most_pooling; pooled *= 2) {
      const i64 image = side * pooled * side * pooled * colours * float_bytes;
      if (size % image != 0 || size / image < many_steps * shape[0]) continue;
      found.bytes += count * size;
      if (size / image > found.images) found.images = size / image, found.line = line;
      break;
    }
    return true;
  });
  return found;
}

}  // namespace

void allocator(const Match& m, EventSink& sink) {
  if (m.after().starts_with("withfreed_by_count") ||
      m.after().starts_with(".Thecallerindicatesthatthisisnotafailure"))  // up to 1.12
    return;
  static constexpr std::array<std::string_view, 2> pool_labels{"Total bytes in pool: ",
                                                               "total_region_allocated_bytes_: "};
  Oom oom = tf_failure(Agent::tf_bfc, "tf-bfc");
  Origin where;
  set_memory_kind(m[1], oom, where);
  read_request(m[2], oom);
  i64 last = 0;
  std::optional<Line> in_use;
  FreeChunks free;
  UsedChunks used_chunks;
  bool traced = false;
  int frames_apart = 0;
  constexpr int max_frames_apart = 4;  // lines of a chained traceback that are not of a frame
  bool exception = false;  // XLA's exception reports the same request in whole bytes, so only that exception is emitted
  // Takes the limit and the usage from the dump. The next report, an exception or a traceback ends the dump early.
  m.cursor.forward(max_dump_lines, [&](const Line& line) {
    const std::string_view text = line.text;
    if (text.find("ran out of memory trying to allocate") != text.npos && text.find("freed_by_count") == text.npos)
      return false;
    if (text.find("Out of memory while trying to allocate") != text.npos ||
        text.find("Out of memory allocating") != text.npos)
      exception = true;
    if (exception) return false;
    // XLA's exception may come with the traceback only.
    if (traced || text.starts_with("Traceback (most recent")) {
      const bool in_trace = !traced || text.empty() || text[0] == ' ' || ++frames_apart < max_frames_apart;
      traced = true;
      return in_trace;
    }
    if (text.find("bfc_allocator") != text.npos) last = line.number;
    if (const auto limit = parse_statistic(text, "Limit:")) oom.limit = limit;
    if (const auto used = parse_statistic(text, "InUse:")) oom.allocated = used, last = line.number, in_use = line;
    read_most_in_use(line, sink);
    free.read(text);
    used_chunks.read(line);
    for (const std::string_view label : pool_labels)
      if (const std::size_t pool = text.find(label); pool != text.npos)
        oom.reserved = Bytes{leading_integer(text.substr(pool + label.size())), 0};
    return !(oom.limit && parse_statistic(text, "MaxAllocSize:"));
  });
  if (exception) return;
  if (oom.reserved && oom.allocated && oom.reserved->count >= oom.allocated->count)
    oom.unallocated = *oom.reserved - *oom.allocated;
  oom.largest_free = free.largest(oom.unallocated);
  if (last > 0) sink.claim_through(last);
  if (oom.kind == OomKind::device) used_chunks.report(m.cursor.line(), oom.request, sink);
  if (in_use) sink.cite(*in_use);
  sink.at(where);
  sink.oom(std::move(oom));
}

/// The operation whose tensor was refused: "[Op:Conv2D]" after the message, or the node of the graph below it,
/// "[[{{node block_1/FusedBatchNorm}}]]", "[[node model_1/conv_2/convolution (defined at …".
std::string find_operation(const Cursor& cursor) {
  constexpr int max_distance = 3;
  constexpr std::size_t max_name = 120;
  static constexpr std::string_view eager = "[Op:", nodes[] = {"[[{{node ", "[[node ", "[[Node: "};
  const std::string_view own = cursor.line().text;
  if (const std::size_t at = own.find(eager); at != own.npos) {
    const std::string_view name = own.substr(at + eager.size());
    return std::string(name.substr(0, std::min(name.find(']'), max_name)));
  }
  const auto below = find_after(cursor, max_distance, "[[");
  if (!below) return "";
  const std::string_view text = below->text;
  for (const std::string_view label : nodes)
    if (const std::size_t at = text.find(label); at != text.npos) {
      const std::string_view name = text.substr(at + label.size());
      const std::size_t end = name.find_first_of(" }]=");
      return end == name.npos || end > max_name ? "" : std::string(name.substr(0, end));
    }
  return "";
}

void tensor(const Match& m, EventSink& sink) {
  Oom oom = tf_failure(Agent::tf_bfc, "tf-bfc");
  if (!m.has(2)) return emit_shape(m, sink, std::move(oom));
  Origin where;
  if (m.has(4)) set_memory_kind(m[4], oom, where);
  if (m[3].find("device:CPU") != std::string_view::npos && oom.agent == Agent::tf_bfc) {
    oom.kind = OomKind::host;
    oom.agent = Agent::cpu_allocator;
  }
  if (const std::size_t gpu = m[3].find("device:GPU:"); gpu != std::string_view::npos && oom.kind == OomKind::device)
    where.device = static_cast<int>(leading_integer(m[3].substr(gpu + 11)));
  oom.request = tensor_size(m[1], m[2]);
  sink.at(where);
  if (const std::string operation = find_operation(m.cursor); !operation.empty())
    sink.setting("refused_tensor", fmt::format("[{}] of {}", m[1], operation));
  if (m[2] == "double") sink.setting("double_tensor", "[" + std::string(m[1]) + "]");
  const auto shape = parse_shape(m[1]);
  set_images(shape, sink);
  if (shape.size() == 4 && oom.request)
    if (const DataArrays data = find_data_arrays(m.cursor, shape, oom.request->count); data.bytes > 0) {
      sink.cite(*data.line);
      sink.setting("data_arrays", std::to_string(data.bytes));
      sink.setting("data_images", std::to_string(data.images));
      sink.cite(m.cursor.line());
    }
  sink.oom(std::move(oom));
}

/// The exception of an eager operation. It contains neither size nor allocator, only the device in the function's name.
void operation(const Match& m, EventSink& sink) {
  Oom oom = tf_failure(Agent::tf_bfc, "tf-bfc");
  Origin where;
  if (m[1] == "GPU") {
    where.device = static_cast<int>(leading_integer(m[2]));
  } else if (m.has(1)) {
    oom.kind = OomKind::host;
    oom.agent = Agent::cpu_allocator;
  }
  sink.at(where);
  sink.oom(std::move(oom));
}

/// TF_GPU_ALLOCATOR=cuda_malloc_async: the driver's pool prints its free and total memory.
void malloc_async(const Match& m, EventSink& sink) {
  Oom oom = tf_failure(Agent::tf_bfc, "tf-malloc-async");
  // XLA's runtime in JAX has this allocator too. Its lines name files without their folders.
  const std::string_view own = m.cursor.line().text;
  if (own.find("_allocator.cc") != own.npos && own.find('/') == own.npos) oom.framework = "jax";
  Origin where;
  if (m.has(1)) where.device = static_cast<int>(leading_integer(m[1]));
  read_request(m[2], oom);
  const std::string_view rest = m.after().substr(0, 300);
  static constexpr std::string_view label = "Freememory/Totalmemory:";
  if (const std::size_t at = rest.find(label); at != rest.npos) {
    const std::string_view numbers = rest.substr(at + label.size());
    oom.free = read_size(numbers);
    if (const std::size_t slash = numbers.find('/'); slash != numbers.npos)
      oom.capacity = read_size(numbers.substr(slash + 1));
  }
  m.cursor.forward(6, [&](const Line& line) {
    if (const auto used = parse_statistic(line.text, "InUse:")) oom.allocated = used, sink.claim_through(line.number);
    return !oom.allocated;
  });
  sink.at(where);
  sink.oom(std::move(oom));
}

/// The printed dict of tf.config.experimental.get_memory_info: bytes of one device.
void memory_info(const Match& m, EventSink& sink) {
  device_memory(m, leading_number(m[1]), leading_number(m[2]), 1, "bytes", sink);
}

/// The same numbers, divided by a widely copied callback: it divides by 2^30.
void memory_details(const Match& m, EventSink& sink) {
  constexpr double gib = static_cast<double>(GiB);
  device_memory(m, leading_number(m[1]) * gib, leading_number(m[2]) * gib, gib / 1e4, "gb", sink);
}

void driver(const Match& m, EventSink& sink) {
  // The pool tried to grow for an algorithm that its caller can do without.
  if (is_near(m.cursor, 3, 0, {"caller indicates that this is not a failure"})) return;
  Oom oom = tf_failure(Agent::driver, "tf-driver");
  if (m[2].starts_with('H') || m[2].starts_with('h')) oom.traits = {OomTrait::rocm};  // HIP's status
  emit_refusal(m, leading_integer(m[1]), sink, std::move(oom));
}

void pinned(const Match& m, EventSink& sink) {
  Oom oom = tf_failure(Agent::cpu_allocator, "pinned-host");
  oom.traits = {OomTrait::pinned};
  oom.kind = OomKind::host;
  emit_refusal(m, refused_bytes(m.text), sink, std::move(oom));
}

}  // namespace oomdoctor::parsers::tensorflow
