// Facts about the machine and the job around a failure: the job's memory request, the limit or threshold that applied,
// the free memory at the start, the size of the weights, the progress of loading. None of these lines is a failure, but
// they decide how a nearby failure is explained.
//
// One row is one statement: the words, the position of its value, and the name of its setting (the fact settings.NAME,
// src/analysis/fact_specs.cc). The last printed value wins.
#include <string>

#include "base/ascii.h"
#include "parse/context.h"
#include "parse/literal.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

/// Emits the value as printed. A number without a unit gets `unit`.
template <Literal key, Literal unit>
void emit_value(const Match& m, EventSink& sink) {
  std::string value(m[1]);
  const bool bare = !value.empty() && is_digit(value.back());
  if (bare && !unit.view().empty()) value.append(" ").append(unit.view());
  sink.setting(key.view(), value);
}

/// Emits a size with a short unit. Slurm and the shells count in units of 1,024 and print "16G".
template <Literal key>
void emit_short_size(const Match& m, EventSink& sink) {
  std::string value(m[1]);
  const char last = value.back();
  if (is_digit(last))
    value += " MiB";
  else
    value.pop_back(), value.append(" ").append(1, upper(last)).append("iB");
  sink.setting(key.view(), value);
}

template <Literal name>
void engine(const Match&, EventSink& sink) {
  sink.setting("engine", name.view());
}

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
}

void no_segments(const Match&, EventSink& sink) { sink.setting("segments_unsupported", "true"); }

void windows(const Match&, EventSink& sink) { sink.setting("system", "Windows"); }

void sleep(const Match& m, EventSink& sink) {
  sink.setting("sleep_freed", m[1]);
  sink.setting("sleep_kept", m[2]);
}

void machine_swap(const Match& m, EventSink& sink) {
  sink.setting("machine_swap", m[1] == "0" ? "no" : std::to_string(leading_integer(m[1]) / 1024) + " MiB of");
}

/// The kernel counts pages of 4 KiB, the page size of x86.
void machine_memory(const Match& m, EventSink& sink) {
  sink.setting("machine_memory", std::to_string(leading_integer(m[1]) * 4) + " KiB");
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

/// A TPU runtime's "27.50M" is MiB.
void largest_free(const Match& m, EventSink& sink) { sink.setting("largest_free", std::string(m[1]) + "iB"); }

/// The GPU's capacity and free memory at the start, as TensorFlow prints them.
void tensorflow_device(const Match& m, EventSink& sink) {
  sink.setting("capacity", m[1]);
  if (m.has(2)) sink.setting("free_at_start", m[2]);
}

constexpr Pattern patterns[] = {
    // The job's request.
    checked({.name = "circumstances/slurm_request",
             .anchor = "--mem=",
             .regex = R"((?:^#SBATCH |\b(?:srun|sbatch|salloc) [^\r\n]{0,200}?)--mem=([1-9]\d{0,7}[KMGT]?)\b)",
             .captures = 1,
             .example = "#SBATCH --mem=16G",
             .emit = emit_short_size<"job_memory">,
             .non_exclusive = true,
             .source = "Slurm: sbatch(1)"}),
    checked({.name = "circumstances/snakemake_request",
             .anchor = "mem_mb=",
             .regex = R"(\bresources: [^\r\n]{0,200}?\bmem_mb=([1-9]\d{0,7})\b)",
             .captures = 1,
             .example = "    resources: mem_mb=4000, mem_mib=3815, disk_mb=1000",
             .emit = emit_value<"job_memory", "MB">,
             .non_exclusive = true,
             .source = "Snakemake: snakemake/logging.py"}),
    checked({.name = "circumstances/pbs_request",
             .anchor = "#PBS",
             .regex = R"(^#PBS -l [^\r\n]{0,200}?\b(?:p?mem|vmem)=([1-9]\d{0,7}[kmgtKMGT])[bB]\b)",
             .captures = 1,
             .example = "#PBS -l select=1:ncpus=8:mem=32gb",
             .emit = emit_short_size<"job_memory">,
             .non_exclusive = true,
             .source = "PBS: qsub(1)"}),
    checked({.name = "circumstances/grid_engine_request",
             .anchor = "h_vmem=",
             .regex = R"((?:^#\$ |\bqsub )[^\r\n]{0,200}?\bh_vmem=([1-9]\d{0,7}[kmgKMG]))",
             .captures = 1,
             .example = "#$ -l h_vmem=8G",
             .emit = emit_short_size<"job_memory">,
             .non_exclusive = true,
             .source = "Grid Engine: queue_conf(5)"}),
    // The machine and the kernel's OOM killer.
    checked({.name = "circumstances/map_count",
             .anchor = "max_map_count",
             .regex = R"(\bvm\.max_map_count ?= ?(\d{3,9})\b)",
             .captures = 1,
             .example = "vm.max_map_count = 65530",
             .emit = emit_value<"max_map_count", "">,
             .non_exclusive = true,
             .source = "linux: Documentation/admin-guide/sysctl/vm.rst"}),
    checked({.name = "circumstances/overcommit",
             .anchor = "overcommit_memory",
             .regex = R"(\bvm\.overcommit_memory ?= ?([012])\b)",
             .captures = 1,
             .example = "vm.overcommit_memory = 2",
             .emit = emit_value<"overcommit_memory", "">,
             .non_exclusive = true,
             .source = "linux: Documentation/admin-guide/sysctl/vm.rst"}),
    checked({.name = "circumstances/commit_limit",
             .anchor = "CommitLimit:",
             .regex = R"(\bCommitLimit: {1,12}(\d{3,14} kB)\b)",
             .captures = 1,
             .example = "CommitLimit:    66011172 kB",
             .emit = emit_value<"commit_limit", "">,
             .non_exclusive = true,
             .source = "linux: fs/proc/meminfo.c"}),
    checked({.name = "circumstances/committed",
             .anchor = "Committed_AS:",
             .regex = R"(\bCommitted_AS: {1,12}(\d{3,14} kB)\b)",
             .captures = 1,
             .example = "Committed_AS:   47120112 kB",
             .emit = emit_value<"committed", "">,
             .non_exclusive = true,
             .source = "linux: fs/proc/meminfo.c"}),
    checked({.name = "circumstances/pages_of_machine",
             .anchor = " pages RAM",
             .regex = R"(\b(\d{3,12}) pages RAM$)",
             .captures = 1,
             .example = "[41.5] 130972 pages RAM",
             .emit = machine_memory,
             .non_exclusive = true,
             .source = "linux: lib/show_mem.c"}),
    checked({.name = "circumstances/swap_of_machine",
             .anchor = "Total swap",
             .regex = R"(\bTotal swap = (\d{1,14})kB\b)",
             .captures = 1,
             .example = "[41.5] Total swap = 0kB",
             .emit = machine_swap,
             .non_exclusive = true,
             .source = "linux: mm/swap_state.c"}),
    checked({.name = "circumstances/free_swap",
             .anchor = "free_swap=",
             .regex = R"(\bfree_swap="([\d.]{1,8} [KMGT]?i?B)\")",
             .captures = 1,
             .example = R"(msg="system memory" total="15.7 GiB" free="900.1 MiB" free_swap="612.4 MiB")",
             .emit = emit_value<"free_swap", "">,
             .non_exclusive = true,
             .source = "ollama: llm/memory.go"}),
    checked({.name = "circumstances/killer_asker",
             .anchor = "invoked oom-killer",
             .regex = R"((?:^|[\]:] {0,3})([^\s:\]\[]{1,40}) invoked oom-killer: )",
             .captures = 1,
             .example = "[41.5] mysqld invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0",
             .emit = emit_value<"killer_asker", "">,
             .non_exclusive = true,
             .source = "linux: mm/oom_kill.c"}),
    checked({.name = "circumstances/group",
             .anchor = "oom_memcg=",
             .regex = R"(\boom_memcg=(/[^\s,]{1,200}))",
             .captures = 1,
             .example =
                 "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/jobs/7,"
                 "task_memcg=/jobs/7,task=python,pid=9,uid=0",
             .emit = group,
             .non_exclusive = true,
             .source = "linux: mm/oom_kill.c"}),
    checked({.name = "circumstances/group_of_task",
             .anchor = "killed as a result of",
             .regex = R"(\bkilled as a result of limit of (/\S{1,200}))",
             .captures = 1,
             .example = "Task in /jobs/7/a killed as a result of limit of /jobs/7",
             .emit = group,
             .non_exclusive = true,
             .source = "linux: mm/memcontrol.c"}),
    checked({.name = "circumstances/group_of_stats",
             .anchor = "Memory cgroup stats",
             .regex = R"(\bMemory cgroup stats for (/[^\s:]{1,200}):)",
             .captures = 1,
             .example = "Memory cgroup stats for /jobs/7: cache:4KB rss:31648816KB",
             .emit = group,
             .non_exclusive = true,
             .source = "linux: mm/memcontrol.c"}),
    checked(
        {.name = "circumstances/group_of_daemon",
         .anchor = "systemd-oomd",
         .regex =
             R"(systemd-oomd\[\d{1,10}\]: Killed (/\S{1,300}))"
             R"((?: due to memory pressure for (\S{1,300}) being (\d{1,3}(?:\.\d{1,2})?% > \d{1,3}(?:\.\d{1,2})?%))?)",
         .captures = 3,
         .example = "systemd-oomd[912]: Killed /user.slice/a.scope due to memory pressure for /user.slice being "
                    "71.24% > 50.00% for > 20s with reclaim activity",
         .emit = group_under_pressure,
         .non_exclusive = true,
         .source = "systemd: src/oom/oomd-manager.c"}),
    checked({.name = "circumstances/group_in_trace",
             .anchor = "mem_cgroup_o",
             .regex = R"(\b(mem_cgroup_(?:oom_synchronize|out_of_memory))\+0x)",
             .captures = 1,
             .example = "[41.5]  [<ffffffff9e7d5edf>] mem_cgroup_oom_synchronize+0x546/0x570",
             .emit = emit_value<"group_in_trace", "">,
             .non_exclusive = true,
             .source = "linux: mm/memcontrol.c"}),
    checked({.name = "circumstances/restart_count",
             .anchor = "Restart Count:",
             .regex = R"(\bRestart Count: {1,8}([1-9]\d{0,5})$)",
             .captures = 1,
             .example = "    Restart Count:  2",
             .emit = emit_value<"restarts", "">,
             .non_exclusive = true,
             .source = "kubernetes: kubectl describe"}),
    checked({.name = "circumstances/windows_program",
             .anchor = ":\\Users\\",
             .regex = R"(\b[A-Z]:\\Users\\\w)",
             .example = R"(Loading C:\Users\user\models\m.gguf)",
             .emit = windows,
             .non_exclusive = true}),
    checked({.name = "circumstances/llama_cpp_weights",
             .anchor = "file size   = ",
             .regex = R"(\bprint_info: file size   = ([\d.]{1,8} [MG]iB) \()",
             .captures = 1,
             .example = "print_info: file size   = 39.59 GiB (4.82 BPW)",
             .emit = emit_value<"weights_memory", "">,
             .non_exclusive = true,
             .source = "llama.cpp: src/llama-model.cpp"}),
    checked({.name = "circumstances/dask_paused",
             .anchor = "Pausing worker",
             .regex = R"(\bWorker is at (\d{1,3}%) memory usage\. Pausing worker)",
             .captures = 1,
             .example = "distributed.worker.memory - WARNING - Worker is at 89% memory usage. Pausing worker.  Process "
                        "memory: 2.77 GiB -- Worker memory limit: 3.11 GiB",
             .emit = emit_value<"worker_paused", "">,
             .non_exclusive = true,
             .source = "dask: distributed/worker_memory.py"}),
    checked({.name = "circumstances/dask_no_budget",
             .anchor = "exceeded 0% memory budget",
             .regex = R"(\bexceeded (0%) memory budget)",
             .captures = 1,
             .example =
                 "distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:41157 (pid=2231) exceeded 0% memory "
                 "budget. Restarting...",
             .emit = emit_value<"worker_budget", "">,
             .non_exclusive = true,
             .source = "dask: distributed/worker_memory.py"}),
    checked({.name = "circumstances/context_exceeded",
             .anchor = "maximum context length is",
             .regex = R"(\bmaximum context length is (\d{1,9}) tokens)",
             .captures = 1,
             .example =
                 "ValueError: This model's maximum context length is 8192 tokens. However, you requested 8193 tokens",
             .emit = emit_value<"context_exceeded", "">,
             .non_exclusive = true,
             .source = "vllm: vllm/renderers/params.py"}),
    checked({.name = "circumstances/sleep",
             .anchor = "leep mode freed",
             .regex = R"(\b[Ss]leep mode freed ([\d.]{1,8} [MG]iB) memory, ([\d.]{1,8} [MG]iB) memory is still in use)",
             .captures = 2,
             .example = "Sleep mode freed 31.20 GiB memory, 1.40 GiB memory is still in use.",
             .emit = sleep,
             .non_exclusive = true,
             .source = "vllm: vllm/v1/worker/gpu_worker.py"}),
    checked({.name = "circumstances/pod_rejected",
             .anchor = "Pod was rejected: ",
             .regex = R"(\bPod was rejected: ([^\r\n]{1,160}))",
             .captures = 1,
             .example = "Message:          Pod was rejected: Allocate failed due to no healthy devices present",
             .emit = emit_value<"pod_rejected", "">,
             .non_exclusive = true,
             .source = "kubernetes: pkg/kubelet/lifecycle"}),
    checked({.name = "circumstances/dask_resumed",
             .anchor = "Resuming worker",
             .regex = R"(\bWorker is at (\d{1,3}%) memory usage\. Resuming worker)",
             .captures = 1,
             .example = "distributed.worker.memory - WARNING - Worker is at 71% memory usage. Resuming worker. Process "
                        "memory: 2.21 GiB -- Worker memory limit: 3.11 GiB",
             .emit = emit_value<"worker_resumed", "">,
             .non_exclusive = true,
             .source = "dask: distributed/worker_memory.py"}),
    checked({.name = "circumstances/ray_threshold",
             .anchor = "memory usage threshold",
             .regex = R"(\bexceeds the memory usage threshold of (0?\.\d{1,4}|1)\b)",
             .captures = 1,
             .example = "was 20.48GB / 31.07GB (0.659157), which exceeds the memory usage threshold of 0.65.",
             .emit = emit_value<"kill_threshold", "">,
             .non_exclusive = true,
             .source = "ray: src/ray/raylet/node_manager.cc"}),
    // The GPU before the work began.
    checked({.name = "circumstances/tensorflow_found",
             .anchor = "totalMemory: ",
             .regex = R"(\btotalMemory: ([\d.]{1,8}[KMGT]iB) freeMemory: ([\d.]{1,8}[KMGT]iB))",
             .captures = 2,
             .example = "totalMemory: 5.93GiB freeMemory: 47.31MiB",
             .emit = tensorflow_device,
             .non_exclusive = true,
             .source = "tensorflow: tensorflow/core/common_runtime/gpu/gpu_device.cc"}),
    checked(
        {.name = "circumstances/tensorflow_card",
         .anchor = "deviceMemorySize: ",
         .regex = R"(\bdeviceMemorySize: ([\d.]{1,8}[KMGT]iB)\b)",
         .captures = 1,
         .example = "coreClock: 1.3285GHz coreCount: 56 deviceMemorySize: 15.90GiB deviceMemoryBandwidth: 681.88GiB/s",
         .emit = tensorflow_device,
         .non_exclusive = true,
         .source = "tensorflow: tensorflow/core/common_runtime/gpu/gpu_device.cc"}),
    checked({.name = "circumstances/tensorflow_given",
             .anchor = "Created TensorFlow device",
             .regex = R"(\bCreated TensorFlow device \([^\r\n]{1,100}?:GPU:\d{1,2} with (\d{1,7} MB) memory\))",
             .captures = 1,
             .example =
                 "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 104 MB memory) -> "
                 "physical GPU (device: 0, name: Tesla T4, pci bus id: 0000:00:1e.0, compute capability: 7.5)",
             .emit = emit_value<"given_at_start", "">,
             .non_exclusive = true,
             .source = "tensorflow: tensorflow/core/common_runtime/gpu/gpu_device.cc"}),
    checked(
        {.name = "circumstances/llama_cpp_free",
         .anchor = " MiB free",
         .regex = R"(\busing device \w{1,20} \([^\r\n]{1,80}?\)(?: \([^()\r\n]{1,60}\))? - (\d{1,7} MiB) free)",
         .captures = 1,
         .example = "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 23892 MiB free",
         .emit = emit_value<"free_at_start", "">,
         .non_exclusive = true,
         .source = "llama.cpp: src/llama.cpp"}),
    checked({.name = "circumstances/block_limit",
             .anchor = "size larger than",
             .regex = R"(\bcan NOT allocate memory block with size larger than (\d{1,4} ?[KMGT]i?B)\b)",
             .captures = 1,
             .example =
                 "RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to "
                 "allocate 6.56 GiB",
             .emit = emit_value<"block_limit", "">,
             .non_exclusive = true,
             .source = "intel-extension-for-pytorch: csrc/gpu/runtime/CachingDeviceAllocator.cpp"}),
    checked({.name = "circumstances/unified_memory",
             .anchor = "TF_FORCE_UNIFIED_MEMORY",
             .regex = R"(\bTF_FORCE_UNIFIED_MEMORY['"]?[=:] ?['"]?(1|true|True)\b)",
             .captures = 1,
             .example = "+ export TF_FORCE_UNIFIED_MEMORY=1",
             .emit = emit_value<"unified_memory", "">,
             .non_exclusive = true,
             .source = "tensorflow: tensorflow/core/common_runtime/gpu/gpu_device.cc"}),
    checked({.name = "circumstances/xla_fraction",
             .anchor = "CLIENT_MEM_FRACTION",
             .regex = R"(\bXLA_(?:PYTHON_)?CLIENT_MEM_FRACTION['"]?[=:] ?['"]?(\d?\d?\.\d{1,4}|\d{1,2})\b)",
             .captures = 1,
             .example = "+ export XLA_PYTHON_CLIENT_MEM_FRACTION=2.0",
             .emit = emit_value<"client_fraction", "">,
             .non_exclusive = true,
             .source = "jax: docs/gpu_memory_allocation.rst"}),
    checked(
        {.name = "circumstances/vllm_banner",
         .anchor = "LLM engine (v",
         .regex = R"(\bInitializing an? (?:V\d )?LLM engine \(v\d)",
         .example = "INFO 02-03 20:14:12 [core.py:93] Initializing a V1 LLM engine (v0.11.2) with config: model='m'",
         .emit = engine<"vLLM">,
         .non_exclusive = true,
         .source = "vllm: vllm/v1/engine/core.py"}),
    checked({.name = "circumstances/vllm_process",
             .anchor = "EngineCore",
             .regex = R"(\(EngineCore(?:_DP\d{1,3})? pid=\d{1,10}\))",
             .example = "(EngineCore_DP0 pid=771310) INFO 02-03 20:14:28 [gpu_model_runner.py:3659] Starting to load",
             .emit = engine<"vLLM">,
             .non_exclusive = true,
             .source = "vllm: vllm/utils/system_utils.py"}),
    checked({.name = "circumstances/comfyui",
             .anchor = "/ComfyUI/",
             .regex = R"(/ComfyUI/(?:models|custom_nodes|comfy|output|execution\.py))",
             .example = "Downloading model to: /home/user/ComfyUI/models/checkpoints",
             .emit = engine<"ComfyUI">,
             .non_exclusive = true}),
    checked({.name = "circumstances/sglang_banner",
             .anchor = "server_args=ServerArgs(",
             .regex = R"(\bserver_args=ServerArgs\()",
             .example = "[2025-08-14 09:10:02] server_args=ServerArgs(model_path='m', dtype='auto')",
             .emit = engine<"SGLang">,
             .non_exclusive = true,
             .source = "sglang: python/sglang/srt/entrypoints/engine.py"}),
    checked({.name = "circumstances/sglang_share",
             .anchor = "mem_fraction_static=",
             .regex = R"(\bmem_fraction_static=(0?\.\d{1,4})\b)",
             .captures = 1,
             .example = "max_total_tokens=None, mem_fraction_static=0.85, tp_size=1",
             .emit = emit_value<"engine_share", "">,
             .non_exclusive = true,
             .source = "sglang: python/sglang/srt/server_args.py"}),
    checked({.name = "circumstances/estimated_length",
             .anchor = "estimated maximum model length is ",
             .regex = R"(estimated maximum model length is (\d{2,8})\b)",
             .captures = 1,
             .example = "ValueError: Based on the available memory, the estimated maximum model length is 20480.",
             .emit = emit_value<"fitting_length", "">,
             .non_exclusive = true,
             .source = "vllm: vllm/v1/core/kv_cache_utils.py"}),
    checked({.name = "circumstances/cached_length",
             .anchor = "can be stored in KV cache (",
             .regex = R"(can be stored in KV cache \((\d{2,8})\))",
             .captures = 1,
             .example = "larger than the maximum number of tokens that can be stored in KV cache (6048).",
             .emit = emit_value<"fitting_length", "">,
             .non_exclusive = true,
             .source = "vllm: vllm/worker/worker.py"}),
    checked({.name = "circumstances/lmdeploy_share",
             .anchor = "cache_max_entry_count=",
             .regex = R"(\bcache_max_entry_count=(0?\.\d{1,4})\b)",
             .captures = 1,
             .example = "TurbomindEngineConfig(tp=1, session_len=8192, cache_max_entry_count=0.1)",
             .emit = emit_value<"engine_share", "">,
             .non_exclusive = true,
             .source = "lmdeploy: lmdeploy/messages.py"}),
    checked({.name = "circumstances/no_segments",
             .anchor = "expandable_segments not supported",
             .regex = R"(expandable_segments not supported on this platform)",
             .example = "UserWarning: expandable_segments not supported on this platform (Triggered internally",
             .emit = no_segments,
             .non_exclusive = true,
             .source = "torch: c10/cuda/CUDAAllocatorConfig.h"}),
    // Facts that the program itself found out.
    checked(
        {.name = "circumstances/remat_floor",
         .anchor = "reduce memory use below",
         .regex =
             R"(\bmemory use below ([\d.]{1,8}[KMGT]?i?B) \(\d{1,20} bytes\) by rematerialization; only reduced to )"
             R"(([\d.]{1,8}[KMGT]?i?B))",
         .captures = 2,
         .example = "hlo_rematerialization.cc:3005] Can't reduce memory use below 18.62GiB (19993068544 bytes) by "
                    "rematerialization; only reduced to 39.85GiB (42791043072 bytes), down from 44.10GiB "
                    "(47356837888 bytes) originally",
         .emit = remat_floor,
         .non_exclusive = true,
         .source = "xla: xla/service/hlo_rematerialization.cc"}),
    checked({.name = "circumstances/vllm_weights",
             .anchor = "odel loading took",
             .regex = R"(\b[Mm]odel loading took ([\d.]{1,8} Gi?B)\b)",
             .captures = 1,
             .example = "Model loading took 14.2714 GiB memory and 5.102234 seconds",
             .emit = emit_value<"weights_memory", "">,
             .non_exclusive = true,
             .source = "vllm: vllm/v1/worker/gpu_model_runner.py"}),
    checked({.name = "circumstances/vllm_weights_old",
             .anchor = "odel weights took",
             .regex = R"(\b[Mm]odel weights took ([\d.]{1,8} Gi?B)\b)",
             .captures = 1,
             .example = "Loading model weights took 14.2714 GB",
             .emit = emit_value<"weights_memory", "">,
             .non_exclusive = true,
             .source = "vllm: vllm/worker/model_runner.py"}),
    checked(
        {.name = "circumstances/sglang_weights",
         .anchor = "Load weight end",
         .regex = R"(\bLoad weight end\.[^\r\n]{0,160}?mem usage=([\d.]{1,8} GB))",
         .captures = 1,
         .example =
             "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=21.90 GB, mem usage=166.40 GB.",
         .emit = emit_value<"weights_memory", "">,
         .non_exclusive = true,
         .source = "sglang: python/sglang/srt/model_executor/model_runner.py"}),
    checked({.name = "circumstances/load_type",
             .anchor = "torch_dtype",
             .regex = R"(\btorch_dtype['"]?[=:] ?['"]?(?:torch\.)?(bfloat16|float16|half|bf16|fp16)\b)",
             .captures = 1,
             .example = "model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.bfloat16)",
             .emit = emit_value<"load_type", "">,
             .non_exclusive = true,
             .source = "transformers: src/transformers/modeling_utils.py"}),
    checked(
        {.name = "circumstances/loading_shards",
         .anchor = "checkpoint shards",
         .regex =
             R"(\b[Ll]oading (?:\S{1,30} )?checkpoint shards: {1,3}\d{1,3}%[^\r\n]{0,200}? (\d{1,4})/(\d{1,4}) (?:\[|$))",
         .captures = 2,
         .example = "Loading checkpoint shards:  44%|####      | 20/45 [00:31<00:40,  1.60s/it]",
         .emit = shards,
         .non_exclusive = true,
         .source = "transformers: src/transformers/modeling_utils.py"}),
    checked({.name = "circumstances/non_releasable",
             .anchor = "Non-releasable memory",
             .regex = R"(\bNon-releasable memory \| {1,12}(\d{1,9} ?[KMGT]?i?B) \|)",
             .captures = 1,
             .example = "| Non-releasable memory |    1278 MiB |    1278 MiB |   81340 MiB |   80062 MiB |",
             .emit = emit_value<"non_releasable", "">,
             .non_exclusive = true,
             .source = "torch: torch/cuda/memory.py (memory_summary)"}),
    checked({.name = "circumstances/largest_free",
             .anchor = "largest contiguous",
             .regex = R"(\blargest contiguous region of free memory is ([\d.]{1,8}[KMGT]?)\b)",
             .captures = 1,
             .example = "There are 51.77M free. Due to fragmentation, the largest contiguous region of free memory is "
                        "27.50M.",
             .emit = largest_free,
             .non_exclusive = true,
             .source = "xla: tpu runtime"}),
};

}  // namespace

extern const Parser circumstances;
const Parser circumstances{.name = "circumstances",
                           .title = "The machine and the job around a failure",
                           .source = "Slurm, Linux, engines and frameworks",
                           .patterns = patterns};

}  // namespace oomdoctor::parsers
