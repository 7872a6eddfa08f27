// What parsers say. The set of kinds is closed: a new format needs no new type.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/evidence.h"
#include "model/series.h"

namespace oomdoctor {

/// Which memory was short.
enum class OomKind { device, host, shared_memory, masked, pool };

/// Who refused or killed.
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
  signal,     ///< killed by SIGKILL or SIGBUS, nobody says by whom
  worker,     ///< a DataLoader worker died
};

std::string_view to_string(OomKind);
std::string_view to_string(Agent);
inline constexpr OomKind last_oom_kind = OomKind::pool;
inline constexpr Agent last_agent = Agent::worker;

struct OtherProcess {
  i64 pid = 0;
  Bytes used;
};

/// One frame of a Python traceback.
struct Frame {
  std::string file;
  i64 line = 0;
  std::string function;
  std::string code;      ///< the source text under it, "" when not printed
  bool library = false;  ///< inside site-packages, dist-packages or a framework's own tree
};

/// One report of exhausted memory. Absent is not zero.
struct Oom {
  OomKind kind = OomKind::device;
  Agent agent = Agent::cuda_allocator;
  std::string framework;       ///< "pytorch", "tensorflow", "jax", … ; "" when nobody says
  std::string message_format;  ///< generation of the message, "torch-2.4"
  std::optional<Bytes> request;
  std::optional<Bytes> capacity;
  std::optional<Bytes> free;
  std::optional<Bytes> process;  ///< all that the own process holds on the device
  std::optional<Bytes> allocated;
  std::optional<Bytes> reserved;
  std::optional<Bytes> unallocated;    ///< reserved but unallocated
  std::optional<Bytes> private_pools;  ///< free blocks of CUDA-graph pools; contained in `allocated`
  std::optional<Bytes> limit;          ///< a software cap on this process or group
  std::vector<OtherProcess> others;
  bool caught = false;               ///< the text itself says that the program went on
  bool beyond_exabyte = false;       ///< "more than 1EB"
  bool sizes_not_available = false;  ///< NVML printed 2^64 - 1 for a process (WSL, WDDM)
  std::string
      printed_advice;        ///< the hint in the message: "expandable_segments", "max_split_size_mb", "empty_cache", ""
  std::string process_name;  ///< the victim or caller, where named
  std::vector<Frame> frames;  ///< outermost first; filled by the scanner
};

/// Device memory refused to a program whose messages have one form: the form is named after it.
inline Oom refusal(std::string_view framework, Agent agent = Agent::driver) {
  Oom oom;
  oom.agent = agent;
  oom.framework = oom.message_format = std::string(framework);
  return oom;
}

/// Host memory refused to a process, or a process ended for want of it.
inline Oom host_failure(Agent agent, std::string_view message_format, std::string_view framework = "") {
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
  double capacity = 0;          ///< bytes of the whole that the value is a part of, where the line prints it; else 0
  std::string unit;             ///< as printed ("GB", "MiB", "")
  bool ambiguous_unit = false;  ///< the letters do not tell 10^9 from 2^30
  std::string label;            ///< as printed ("Memory", "mem"); keeps two series of one metric apart
  std::string phase;            ///< tag of the place in the step, where the format prints one ("before forward")
};

/// Progress of the run: a step, iteration, batch or epoch was reported.
struct Step {
  std::optional<i64> step;
  std::optional<i64> total;
  std::optional<double> epoch;
};

/// A setting or a fact about model or machine under its canonical name (see analysis/settings.cc): "batch_size" = "8".
struct Setting {
  std::string name;
  std::string value;
};

/// A process ended: with a code, by a signal, or well.
struct Exit {
  std::optional<int> code;
  std::optional<int> signal;
};

/// Anything else that the judgement may use, under a fixed id (see model/remark_ids.h): "phase/evaluation",
/// "handled/batch_retry", "collateral/nccl_timeout", …
struct Remark {
  std::string id;
  std::optional<double> number;
};

struct Event {
  Evidence evidence;
  Origin origin;
  When when;
  std::variant<Oom, Reading, Step, Setting, Exit, Remark> what;
};

}  // namespace oomdoctor
