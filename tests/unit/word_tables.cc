// What each word and mark of a line does: readings of a line, and of the line without one of its words or marks, or
// with two words exchanged, as approved tables. Only the variants that change the reading are in them. Other tests
// check which readings are right. These show each one that a change of the code moves.
#include <fmt/format.h>

#include <cctype>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "approved.h"
#include "read/device_export.h"
#include "read/freeform.h"
#include "read/statement.h"
#include "read/table_inference.h"

using namespace oomdoctor;

namespace {

const std::vector<std::string> step_lines = {
    "Step 100: Loss=2.34, Memory=18.2GB",
    "step 5 | loss 2.1 | allocated 3.214 GiB | reserved 4.000 GiB",
    "iter: 7 max allocated: 3.5 GiB, peak reserved: 4.5 GiB",
    "epoch 2 step 40 VRAM=812MB, RAM=7.8%",
    "step 9 cached 2.5 GiB free 1.5 GiB rss 900 MiB",
    "{'loss': 2.1, 'gpu_mem_gb': 11.204, 'epoch': 0.4, 'step': 60}",
    "step 3 GPU mem: 3.1/24.0 GB",
    "step 1 alloc: 57.00341796875, reserved: 92.0",
    "CUDA memory after optim step: 10240000000 bytes",
    "16.81%: : 584/3475 xpu memory at 45.2% of 11.93GB",
    "[rank 3] gpu 1: memory allocated 20481.50 MB, peak 22011 MB at step 12 of 400",
    "Epoch 3/10, batch 17/240, lr 1e-4, GPU 0 memory used: 10,204 MiB / 24,576 MiB",
    "Epoch 0:  5%|▌ | 12/240 [00:10<03:20, 1.1it/s, mem=18.2GB]",
    "Train Epoch: 4 [640/60000 (1%)] Loss: 0.21 Mem 3.2 G",
    "validation step 12: cuda memory 3.4 GiB, loss 1.2",
    "before backward: 11.2 GiB allocated, 12.5 GiB reserved; after backward: 9.1 GiB allocated",
    "torch.cuda.memory_allocated(0) = 1073741824",
    "GPU0: 5120MiB GPU1: 6144MiB free 1024MiB 2048MiB",
    "Memory - 18.2GB at iteration 1,024",
    "step=7 cpu rss 2.25 GiB, shm 64 MiB, swap 0 MiB, mem available 12.5 GiB",
    "# of memory pools: 12",
    "max_memory_mb = 2048 batch_size = 8 step_size = 30",
    "step 12 gpu memory -512.0 MiB, allocated +0.2 GiB, reserved -1GiB since step 11",
    "GPU memory: [3.1 GiB, 4.2 GiB, 5.3 GiB] of 24 GiB",
    "mem_alloc_gb,3.2 mem_reserved_gb,4.0 mem_free_gb,19.8",
    "[2025-03-01 10:00:00] step: 1,200/10,000 (12.0%) | peak mem 71.4GB (90.2%) | 1.2s/it | ETA 2:12:00",
    "{\"step\": 40, \"memory_allocated\": 8123456789, \"max_memory_reserved\": 9.5e9, \"tokens\": 4096}",
    "used_memory=18.2G/23.7G cpu_mem=102.4G/512G it=40 ep=2",
    "iter 30: loss 2.9, time 100.2ms, mfu 21.3%, mem 9,120.5MB, max_seq_length 4096",
    "Memory usage: 10.2 GB (GPU 0), 11.3 GB (GPU 1), 8.4 GB (CPU)",
    "Peak CUDA memory = 12884901888 B; current = 11811160064 B; batch 9 of 10",
    "host memory used 61.2 GiB of 64.0 GiB, worker 3 rss: 12.1 GiB, shm=1.0GiB",
    "global step 900 (epoch 1.80): memory/allocated_gib 30.12 memory/reserved_gib 36.5 memory/num_ooms 0",
    "MB of memory per GPU: 4096",
    "eval: 12/50 allocated 5 GiB | step 100 allocated 6 GiB",
    "learning rate 0.001 weight memory 3 GiB vs activations memory 9 GiB",
    "train step=1e3 mem=1.5e4MB",
    "step 5 seq_len 4096 memory 3 GiB",
    "step 6, sequence_length=2048.5, seqlen: 0, mem=3GiB",
    "eval step 7 seq 1024 GPU mem 3 GiB, seq 512 MB",
    "seq_len 4096 memory 3 GiB",
    "epoch: 3 | batch: 20 of 50 | device 1 | mem: 10.25 GiB peak, 12 GiB total, 1.75 GiB left",
    "GPU 2: 4.1 GiB / 16.0 GiB (25.6%), swap 0.5 GiB / 2 GiB, step 1,234,567",
    "memory after compiled optim step: 10240000000",
    "memory (before request): 5.6 GB, memory after epoch 3: 5.5 GB, memory at step 4: 5.25 GB",
    "step 4 memory (MB): 812, cached [GiB] = 1.5, gpu memory (%): 41",
    "cuda:1 memory was 3.5 GiB, cuda:0 memory is now 18,2 GB",
    "| epoch 012:   5%|5  | 100/2000 [01:02<19:30,  1.62it/s, memory=9.1GB]",
    "Epochs:  20%|##  | 2/10 [01:02<19:30, 7.8s/it] gpu mem 4.5G",
    "Map: 100%|#####| 1200/1200 [00:01<00:00, 900.12 examples/s]",
    "Epoch [1][50/225]  lr: 1e-3, memory: 8121, loss: 0.8",
    "Epoch: 1 [640/60000 (1%)] allocated 4.5 GiB",
    "# epoch: 50",
    "allocated 4.5 GiB after 50 iterations, batch 4 per rank",
    "[40/2000] loss 2.81 mem 3.5 GiB",
    "Reserved   : 210 MiB",
    "step 8 mem 121.0MB / 6144.0MB, swap mem 1.5/24.0 GB",
    "GPU: 2.8/11.0 GB | Allocated: 0.50 MB, Reserved: 2.00 MB, CPU: 2104.50 MB",
    "Memory usage: 15364980736 bytes free, 9 iters done",
    "Mem:2.1G (Peak 3.0G) | step 3 | Mem:1.2G",
    "xpu memory at 45.2% of 11.93GB, cpu memory at 12.5% of 64GB",
    "maxMem=18.2GB gpuMem: 12.5GB hostMem: 3GB at step12",
    "wandb: step 4 memory 3 GiB",
    "Cached:          7107356 kB",
    "step 12/1024 train/loss 2.5 gpu/0/memory 3.5 GiB",
};

const std::vector<std::string> messages = {
    "engine: fatal: unable to reserve 2 GiB of device memory",
    "[error] pool.cc:88 arena exhausted: memory request of 64 MiB refused, 12 MiB free of 4 GiB",
    "RuntimeError: mylib: GPU memory allocation failed: tried to allocate 1.05 GiB (GPU 1; 79.25 GiB total; 3.2 GiB "
    "free)",
    "worker 7: not enough memory to load shard 3: needs 12 GB but only 8 GB are available",
    "Job 8812 exceeded its memory limit (17.2 GB > 16 GB), being killed",
    "Error: out of memory: used 15.2 GiB of the 16 GiB that the container may use",
    "fatal: could not allocate 4096 bytes for the workspace, 23.1 GB in use, 24 GB total",
    "Process 4410 (python) was killed because host memory ran out",
    "warning: out of memory while caching, retrying with a smaller batch",
    "If you run out of memory, reduce the batch size below 8",
    "ERROR no more than 12 GB of RAM can be used, 14.5 GB requested",
    "failed to allocate device buffer of size 805306368: OUT_OF_DEVICE_MEMORY",
    "status: RESOURCE_EXHAUSTED: ran out of memory in memory space hbm. Used 17.2G of 15.5G hbm. Exceeded by 1.7G.",
    "allocation of 3 x 512 MB on device 2 failed, 1.2 GB reserved, 0.4 GB allocated",
    "error: out of memory on gpu:3: 12.0 GB used, 12345678901 bytes used, 4 GB left",
    "Out of memory: Killed process 88 (python3) total-vm:9000000kB, anon-rss:7000000kB, file-rss:1200kB, "
    "shmem-rss:64kB",
    "node-3: container killed: memory usage 8.1Gi over limit 8Gi (pid=912)",
    "fatal error: cannot allocate memory in static TLS block",
    "hipErrorOutOfMemory: requested=2.5GB available=1.25GB total=64GB",
    "OOM: allocator wanted 300.5 MB, reserved 7.9 GB, of which 7.1 GB in use and 0.8 GB cached",
    "not out of memory yet: 3 GB available",
    "error: the worker crashed, but it was not due to out of memory",
    "test_out_of_memory PASSED, 2 GB allocated",
    "MemoryError: Unable to allocate 29.8 GiB for an array with shape (4000, 1000000) and data type float64",
    "The process (PID 3391) ran out of host memory; its memory limit is 32 GB, requested 33.5 GB",
    "RuntimeError: shared memory exhausted: /dev/shm has 64 MB, needs 128 MB",
    "swap space too small: requested 4 GiB, 0 bytes free",
    "failed: device 0 out of memory. Tried to reserve 512.00 MiB; capacity 15.78 GiB, allocated 14.2 GiB, free 12.06 "
    "MiB",
    "caught OOM in step 12, skipping batch; 11 GB were allocated on cuda:1",
    "E0322 10:12:20.522087 kernel.cc:304] out of memory on device: 1, request was 17.29M (18131712 bytes)",
    "Killed process 4411 (pid: 812): 33817600kb exceeded limit 33554432kb (33817600 > 33554432)",
    "torch: cannot allocate 12 GB of 16 GB free, 3 GB reserved by PyTorch but unallocated",
    "fatal: request of 12.5 GiB is larger than the available memory of the cache (9.42 GiB), pool size 64 GiB",
    "error: out of memory, 12.1 GB of 12 GB physical memory used, 1.05 GiB of 79.25 GiB free, 12.31/23.52 GiB in use",
    "error: not enough memory, size (MB): 512, free [MiB] = 41, 3 MBytes used, 2 gigabytes total",
    "numpy: unable to allocate 273. GiB of system RAM on device 0x8",
    "oom: 0, OOM: false, CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "Job 12 exceeded its memory limit on gpu 123, host memory 4 GB free",
    "error: allocation_failed for arena 3: out_of_memory = OutOfMemoryError, largest free block 8 MB",
};

/// The first rows of exports without a header.
const std::vector<std::vector<std::string>> exports = {
    {"0, 6042 MiB, 46068 MiB", "1, 4 MiB, 46068 MiB", "0, 9114 MiB, 46068 MiB"},
    {"2025/02/01 12:00:00.104, NVIDIA A40, 98, 46068, 43646, 2112",
     "2025/02/01 12:00:05.104, NVIDIA A40, 97, 46068, 40646, 5112"},
    {"NVIDIA A100-SXM4-80GB, 97, 8120, 81559", "NVIDIA A100-SXM4-80GB, 41, 9330, 81559"},
    {"2025/02/01 12:00:00.104, 3, 12, 24210", "2025/02/01 12:00:05.104, 3, 9042, 15180"},
    {"GPU-4f2c0f5e-0f6a-7d4e-8a55-2f1c7d3f9b10, 00000000:3B:00.0, 61 %, 18240 MiB, 24564 MiB",
     "GPU-4f2c0f5e-0f6a-7d4e-8a55-2f1c7d3f9b10, 00000000:3B:00.0, 64 %, 18244 MiB, 24564 MiB"},
    {"0, Tesla V100-SXM2-32GB, 212.31 W, 30 MiB, 32480 MiB, 32510 MiB",
     "1, Tesla V100-SXM2-32GB, 40.02 W, 31 MiB, 32479 MiB, 32510 MiB"},
};

std::vector<std::string> words_in(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(' '); at != line.npos; at = line.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

template <typename Read>
std::string table_of(const std::vector<std::string>& lines, Read read) {
  std::string table;
  for (const std::string& line : lines) {
    const std::string whole = read(line);
    table += fmt::format("{}\n    {}\n", line, whole);
    const auto add = [&](const std::string& variant, const std::string& changed) {
      if (const std::string reading = read(changed); reading != whole)
        table += fmt::format("  {}: {}\n", variant, reading);
    };
    const std::vector<std::string> words = words_in(line);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::vector<std::string> rest = words, exchanged = words;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      add("without " + words[i], joined(rest));
      if (i + 1 == words.size()) break;
      std::swap(exchanged[i], exchanged[i + 1]);
      add(words[i + 1] + " before " + words[i], joined(exchanged));
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!std::ispunct(static_cast<unsigned char>(line[i]))) continue;
      const std::size_t begin = line.rfind(' ', i) + 1;  // of the word; 0 for the first
      std::string rest = line;
      add(fmt::format("without {} in {}", line[i], line.substr(begin, line.find(' ', i) - begin)), rest.erase(i, 1));
    }
  }
  return table;
}

std::string read_step_line(const std::string& line) {
  const FreeformLine form = read_freeform(line);
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (form.step) add(fmt::format("step {}", *form.step));
  if (form.total) add(fmt::format("of {}", *form.total));
  if (form.epoch) add(fmt::format("epoch {}", *form.epoch));
  if (form.evaluation) add("evaluation");
  if (form.other_work) add("other work");
  if (form.leads) add("leads");
  if (form.over_epochs) add(fmt::format("over epochs from {}", form.first_epoch));
  if (!form.repeatable) add("not repeatable");
  for (const FreeformValue& value : form.values) {
    const Reading& r = value.reading;
    std::string part = fmt::format("{} {} {} ± {}", to_string(r.kind), to_string(r.metric), r.value, r.quantum);
    if (r.ambiguous_unit) part += " ambiguous";
    if (!r.phase.empty()) part += " phase " + std::string(r.phase);
    if (r.capacity > 0) part += fmt::format(" of {}", r.capacity);
    if (value.device) part += fmt::format(" device {}", *value.device);
    add(part);
  }
  return text.empty() ? "nothing" : text;
}

std::string read_message(const std::string& line) {
  const Statement s = read_statement(line);
  std::string text = s.voice == Voice::statement ? "statement" : s.voice == Voice::unclear ? "unclear" : "other";
  for (const auto& [set, word] :
       {std::pair{s.handled, " handled"}, {s.killed, " killed"}, {s.status, " status"}, {s.bare, " bare"}})
    if (set) text += word;
  if (s.kind) text += " " + std::string(to_string(*s.kind));
  if (s.device) text += fmt::format(" device {}", *s.device);
  if (s.pid) text += fmt::format(" pid {}", *s.pid);
  const std::vector<std::pair<std::string, std::optional<Bytes>>> sizes{
      {"asked", s.asked},         {"free", s.free},         {"used", s.used},
      {"allocated", s.allocated}, {"reserved", s.reserved}, {"unallocated", s.unallocated},
      {"total", s.total},         {"limit", s.limit}};
  for (const auto& [name, size] : sizes)
    if (size) text += fmt::format("; {} {} ± {}", name, size->count, size->slack);
  return text;
}

std::string read_columns(const std::vector<std::string>& rows) {
  const auto columns = infer_columns(rows);
  if (!columns) return "nothing";
  std::string text;
  const std::vector<std::pair<std::string, std::optional<std::size_t>>> all{
      {"time", columns->time}, {"index", columns->index}, {"name", columns->name}, {"uuid", columns->uuid},
      {"bus", columns->bus},   {"used", columns->used},   {"free", columns->free}, {"total", columns->total}};
  for (const auto& [name, column] : all)
    if (column) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, *column);
  return text;
}

/// The rows with their columns in another order; a column that is not named is left out.
std::vector<std::string> with_columns(const std::vector<std::string>& rows, const std::vector<std::size_t>& order) {
  std::vector<std::string> changed;
  for (const std::string& row : rows) {
    const std::vector<std::string_view> cells = split_at_commas(row);
    std::string& out = changed.emplace_back();
    for (const std::size_t column : order) out += (out.empty() ? "" : ", ") + std::string(cells[column]);
  }
  return changed;
}

}  // namespace

TEST_CASE("what each column of an export without a header does", "[approved]") {
  std::string table;
  for (const std::vector<std::string>& rows : exports) {
    const std::size_t count = split_at_commas(rows[0]).size();
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto add = [&](const std::vector<std::size_t>& columns) {
      const std::vector<std::string> changed = with_columns(rows, columns);
      table += fmt::format("{}\n    {}\n", changed[0], read_columns(changed));
    };
    add(order);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::size_t> rest = order, exchanged = order;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      add(rest);
      if (i + 1 == count) break;
      std::swap(exchanged[i], exchanged[i + 1]);
      add(exchanged);
    }
    table += fmt::format("the first row alone\n    {}\n", read_columns({rows[0]}));
  }
  check_approved("exports.txt", table);
}

TEST_CASE("what each word of a step line does", "[approved]") {
  check_approved("step-lines.txt", table_of(step_lines, read_step_line));
}

TEST_CASE("what each word of a message does", "[approved]") {
  check_approved("messages.txt", table_of(messages, read_message));
}
