// The events that a parser can emit. The set of kinds is closed: a new format needs no new type.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/enum_names.h"
#include "model/evidence.h"
#include "model/series.h"

namespace oomdoctor {

/// The memory that was short.
enum class OomKind { device, host, shared_memory, masked, pool };

/// The component that refused a request or killed the process.
enum class Agent {
  cuda_allocator,  ///< PyTorch's caching allocator on CUDA
  hip_allocator,   ///< the same on ROCm
  xpu_allocator,
  npu_allocator,
  mps_allocator,
  cuda_malloc_async,
  driver,  ///< a raw driver or runtime call, no allocator report
  tf_bfc,
  xla,
  library,        ///< a GPU library: cuBLAS, cuDNN, NCCL, RMM, …
  serving,        ///< vLLM, SGLang: a pre-allocated pool or cache
  cpu_allocator,  ///< malloc, numpy, DefaultCPUAllocator
  kernel,         ///< the kernel's out-of-memory killer
  cgroup,         ///< a container's or job's memory limit
  slurm,
  kubernetes,
  scheduler,  ///< LSF, PBS, YARN, Ray and others
  daemon,     ///< earlyoom, systemd-oomd
  signal,     ///< killed by SIGKILL or SIGBUS; the log does not name the sender
  worker,     ///< a DataLoader worker died
};

// The names in reports.
template <>
inline constexpr auto enum_names<OomKind> = names_up_to<OomKind::pool>("device", "host", "shared_memory", "masked",
                                                                       "pool");
template <>
inline constexpr auto enum_names<Agent> = names_up_to<Agent::worker>("cuda_allocator", "hip_allocator", "xpu_allocator",
                                                                     "npu_allocator", "mps_allocator",
                                                                     "cuda_malloc_async", "driver", "tf_bfc", "xla",
                                                                     "library", "serving", "cpu_allocator", "kernel",
                                                                     "cgroup", "slurm", "kubernetes", "scheduler",
                                                                     "daemon", "signal", "worker");

/// What the words of a report say beyond its numbers.
enum class OomTrait {
  answered,          ///< the program made room and served the same request
  bus_error,         ///< a page of a file in memory could not be filled: its file system had no room
  cut_off,           ///< the message ends in the middle
  captures_graph,    ///< while CUDA graphs were recorded
  capped,            ///< the program fails in this way only under a cap, which the message does not print
  damages_state,     ///< a checkpoint that was saved may lack a part
  either_memory,     ///< the words do not show whether the GPU or the host refused
  evicted,           ///< taken off a machine because that ran short
  fixed_pool,        ///< the size of the pool does not depend on free memory
  free_target,       ///< less was free at the start than the program was to take
  heap,              ///< of a language's own heap; the format names the language
  in_backward,       ///< the engine of the backward pass asked, in a thread of its own
  maps,              ///< a mapping of memory was refused
  mapping_refused,   ///< the kernel has no more mappings for the process
  no_cache_blocks,   ///< nothing was left for a cache
  on_chip,           ///< memory on the chip, not next to it
  pool_maximum,      ///< an allocator's pool may not, or cannot, grow any more
  pinned,            ///< host memory that the device reads
  planned,           ///< the program itself added up what a stage of its work needs: it has no steps of a training
  prose,             ///< words of people or of any program: no known form
  refusals_counted,  ///< a program counted its refusals, and printed none
  rocm,              ///< of an AMD GPU's driver
  sampled,           ///< its amount was measured before the end
  saves_state,       ///< while a checkpoint was put together
  sigkill,           ///< nothing but the signal is known
  sizes_cache,       ///< while an engine measured what its cache may take
  some_nodes,        ///< of some nodes of the job only
  some_limit,        ///< the line does not show whether a limit or the whole machine was full
  suspected,         ///< the message says that memory might be the reason
  tpu,               ///< a TPU's memory
  uneven_gpus,       ///< one GPU of a group had clearly less free memory than another
  unnamed_device,    ///< a device by its number only: a GPU or another
  vanished,          ///< a process is gone, and nobody saw why
  virtual_limit,     ///< the limit counts address space
  warms_up,          ///< while an engine tried its largest step
  whole_node,        ///< the machine ran short, not a limit
  windows,           ///< the system's own words
};
template <>
inline constexpr auto enum_names<OomTrait> = names_up_to<OomTrait::windows>(
    "answered", "bus_error", "cut_off", "captures_graph", "capped", "damages_state", "either_memory", "evicted",
    "fixed_pool", "free_target", "heap", "in_backward", "maps", "mapping_refused", "no_cache_blocks", "on_chip",
    "pool_maximum", "pinned", "planned", "prose", "refusals_counted", "rocm", "sampled", "saves_state", "sigkill",
    "sizes_cache", "some_nodes", "some_limit", "suspected", "tpu", "uneven_gpus", "unnamed_device", "vanished",
    "virtual_limit", "warms_up", "whole_node", "windows");

/// Another process on the GPU, as the failure message lists it.
struct OtherProcess {
  i64 pid = 0;
  Bytes used;
};

/// One frame of a Python traceback.
struct Frame {
  std::string file;
  i64 line = 0;
  std::string function;
  std::string code;      ///< the printed source line; "" when not printed
  bool library = false;  ///< inside site-packages, dist-packages or a framework's source tree
  bool no_grad = false;  ///< the printed lines around it turn gradients off
  bool outer = false;    ///< the log ends within the traceback: a frame that is not printed failed
  /// A library's frame that failed elsewhere: it raises again, "raise X from e", waits in Python's standard library for
  /// another process or thread, or is text that a library runs.
  bool passes_on = false;
  bool runs_any = false;  ///< runs any operation or function: it does not show where the program was
};

/// One report of exhausted memory. All sizes are in bytes. A size that the report does not print is absent, not zero.
struct Oom {
  OomKind kind = OomKind::device;
  Agent agent = Agent::cuda_allocator;
  std::string framework;       ///< "pytorch", "tensorflow", "jax", …; "" when the log does not name it
  std::string message_format;  ///< generation of the message, "torch-2.4"
  std::string program;         ///< that prints the message, if it is not the framework
  std::vector<OomTrait> traits;
  std::optional<Bytes> request;
  std::optional<Bytes> capacity;
  std::optional<Bytes> free;
  std::optional<Bytes> process;  ///< all GPU memory of the failed process
  std::optional<Bytes> allocated;
  std::optional<Bytes> reserved;
  std::optional<Bytes> unallocated;    ///< reserved but unallocated
  std::optional<Bytes> largest_free;   ///< the largest free piece of what the allocator reserved
  std::optional<Bytes> private_pools;  ///< free blocks of CUDA-graph pools; contained in `allocated`
  std::optional<Bytes> limit;          ///< a software cap on this process or group
  std::optional<Bytes> page_cache;     ///< pages of files that the limited group has in RAM
  std::vector<OtherProcess> others;
  bool described = false;            ///< by a tool that looked later, so the program's log may follow
  bool caught = false;               ///< the message itself states that the program continued
  bool beyond_exabyte = false;       ///< "more than 1EB"
  bool sizes_not_available = false;  ///< NVML printed 2^64 - 1 for a process (WSL, WDDM)
  std::string
      printed_advice;        ///< the hint in the message: "expandable_segments", "max_split_size_mb", "empty_cache", ""
  std::string process_name;  ///< the victim or the caller, if the log names it
  std::vector<Frame> frames;  ///< outermost first; filled by the scanner

  bool has(OomTrait trait) const { return std::find(traits.begin(), traits.end(), trait) != traits.end(); }
  /// True for a server's request that waits until the pool has room: nothing failed.
  bool is_preemption() const { return kind == OomKind::pool && has(OomTrait::answered); }
};

/// The sizes of a report, with their names in the files of parsers/.
struct OomSize {
  std::string_view name;
  std::optional<Bytes> Oom::*field;
};
inline constexpr std::array<OomSize, 11> oom_sizes{{{"request", &Oom::request},
                                                    {"capacity", &Oom::capacity},
                                                    {"free", &Oom::free},
                                                    {"process", &Oom::process},
                                                    {"allocated", &Oom::allocated},
                                                    {"reserved", &Oom::reserved},
                                                    {"unallocated", &Oom::unallocated},
                                                    {"largest_free", &Oom::largest_free},
                                                    {"private_pools", &Oom::private_pools},
                                                    {"limit", &Oom::limit},
                                                    {"page_cache", &Oom::page_cache}}};

/// An out-of-memory failure on the GPU, in a program with a single message form. `framework` names that form too.
inline Oom device_oom(std::string_view framework, Agent agent = Agent::driver) {
  Oom oom;
  oom.agent = agent;
  oom.framework = oom.message_format = std::string(framework);
  return oom;
}

/// An out-of-memory failure in host RAM: a refused request, or a process that ended because host RAM was short.
inline Oom host_oom(Agent agent, std::string_view message_format, std::string_view framework = "") {
  Oom oom;
  oom.kind = OomKind::host;
  oom.agent = agent;
  oom.framework = std::string(framework);
  oom.message_format = std::string(message_format);
  return oom;
}

/// One value of a memory series.
struct Reading {
  Metric metric = Metric::memory;
  SeriesKind kind = SeriesKind::gauge;
  double value = 0;             ///< bytes
  double quantum = 0;           ///< bytes of one unit of the last printed digit
  double capacity = 0;          ///< bytes of the whole that the value is a part of; 0 if the line does not print it
  std::string unit;             ///< as printed ("GB", "MiB", "")
  bool ambiguous_unit = false;  ///< the letters can mean 10^9 or 2^30
  bool since_start = false;     ///< its time counts from the start of the program: if it falls, the program began again
  std::string label;            ///< as printed ("Memory", "mem"); keeps two series of one metric apart
  std::string phase;            ///< the point within the step, if the format prints one ("before forward")
};

/// A value that was read at an arbitrary time, in bytes.
inline Reading sampled_reading(Metric metric, double value, double quantum, std::string_view unit,
                               std::string_view label) {
  Reading r;
  r.metric = metric;
  r.kind = SeriesKind::sampled_gauge;
  r.value = value;
  r.quantum = quantum;
  r.unit = std::string(unit);
  r.label = std::string(label);
  return r;
}

/// Progress of the run: a step, iteration, batch or epoch was reported.
struct Step {
  std::optional<i64> step;
  std::optional<i64> total;
  std::optional<double> epoch;
  i64 before = 0;  ///< steps of earlier epochs in `step`: the log prints step − before
};

/// A setting, or a property of the model or machine, under its canonical name (see facts/settings.cc): "batch_size"
/// = "8".
struct Setting {
  std::string name;
  std::string value;
};

/// A process ended: with an exit code, by a signal, or normally.
struct Exit {
  std::optional<int> code;
  std::optional<int> signal;
  bool described = false;  ///< as in Oom
};

/// Any other statement that analyses and rules use, under a fixed id (see model/remark_ids.h): "phase/evaluation",
/// "handled/batch_retry", "collateral/nccl_timeout", …
struct Remark {
  std::string id;
  std::optional<double> number;
};

/// Evidence that could not be kept, opened, read or judged. What it would have shown is unknown, so nothing after it
/// can rule out a memory failure.
struct LostEvidence {
  std::string what;           ///< "123 bytes of output", "samples of GPU memory"
  std::string why;            ///< "No space left on device"
  std::string path = {};      ///< the file or folder that was not read; "" if a log reports the loss
  bool only_samples = false;  ///< only values of memory are lost; the output that shows the end of the run is there
  std::optional<Evidence> at = {};  ///< the line that reports it; a parser leaves this empty

  friend bool operator==(const LostEvidence& a, const LostEvidence& b) {
    return a.what == b.what && a.why == b.why && a.path == b.path && a.only_samples == b.only_samples &&
           a.at.has_value() == b.at.has_value() && (!a.at || a.at->span == b.at->span);
  }
};

struct Event {
  Evidence evidence;
  Origin origin;
  When when;
  std::variant<Oom, Reading, Step, Setting, Exit, Remark> what;
};

/// The remark of the event if it has this id; null otherwise.
inline const Remark* remark_of(const Event& event, std::string_view id) {
  const auto* remark = std::get_if<Remark>(&event.what);
  return remark != nullptr && remark->id == id ? remark : nullptr;
}

}  // namespace oomdoctor
