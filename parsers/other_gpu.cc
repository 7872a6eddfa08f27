// GPU memory refused to programs other than PyTorch, TensorFlow and XLA, and to libraries in the same process.
//
// The wording differs, the content is the same: a request, sometimes also the free memory. Some tools first print the
// driver's bare "out of memory" and then their own line with the size. Then the line with the size is the report. Sizes
// are binary.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

void set_device(EventSink& sink, std::string_view digits) {
  Origin where;
  if (!digits.empty()) where.device = static_cast<int>(leading_integer(digits));
  sink.at(where);
}

/// A failure without numbers, unless the line is program text.
void emit_bare(const Match& m, EventSink& sink, std::string_view framework, Agent agent = Agent::driver) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(device_oom(framework, agent));
}

/// A failure whose first group is the request.
void emit_request(const Match& m, EventSink& sink, std::string_view framework, Agent agent = Agent::driver) {
  Oom oom = device_oom(framework, agent);
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

void paddle(const Match& m, EventSink& sink) {
  Oom oom = device_oom("paddle");
  read_request(m[2], oom);
  if (m.has(3)) oom.allocated = read_size(m[3]);
  oom.free = read_size(m[4]);
  set_device(sink, m[1]);
  sink.oom(std::move(oom));
}

/// Up to 0.15 a check before the call prints the message.
void paddle_enforce(const Match& m, EventSink& sink) {
  Oom oom = device_oom("paddle");
  read_request(m[1], oom);
  oom.free = read_size(m[2]);
  sink.oom(std::move(oom));
}

/// Reads "Memory info: free:15M, used:11160M, total:11175M" after the message, and the pool's usage in bytes from a log
/// line above.
void kaldi(const Match& m, EventSink& sink) {
  Oom oom = device_oom("kaldi");
  read_request(m[1], oom);
  const std::string_view rest = m.after().substr(0, 500);
  oom.free = size_after(rest, "free:");
  oom.capacity = size_after(rest, ",total:");
  static constexpr std::string_view usage = "Memory usage: ";
  if (const auto line = find_before(m.cursor, 4, usage)) {
    const std::string_view text = std::string_view(line->text).substr(line->text.find(usage) + usage.size());
    oom.allocated = read_size(text);
    if (const std::size_t slash = text.find('/'); slash != text.npos) oom.reserved = read_size(text.substr(slash + 1));
  }
  sink.oom(std::move(oom));
}

void cupy(const Match& m, EventSink& sink) {
  Oom oom = device_oom("cupy", Agent::library);
  read_request(m[1], oom);
  oom.allocated = read_size(m[2]);
  if (m.has(3)) oom.limit = read_size(m[3]);
  sink.oom(std::move(oom));
}

void mindspore(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mindspore");
  oom.free = read_size(m[1]);
  read_request(m[2], oom);
  if (const auto line = find_after(m.cursor, 3, "Device(id:"))
    set_device(sink, std::string_view(line->text).substr(line->text.find("Device(id:") + 10));
  sink.oom(std::move(oom));
}

void mindspore_device(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 3, 0, {"Memory not enough: current free"})) return;
  Oom oom = device_oom("mindspore");
  if (m.has(2)) read_request(m[2], oom);
  set_device(sink, m[1]);
  sink.oom(std::move(oom));
}

/// PhysX prints the buffer on a line after the driver's message.
void physx_driver(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 0, 3, {"Unable to allocate memory of size"})) sink.oom(device_oom("physx"));
}

void warp(const Match& m, EventSink& sink) {
  Oom oom = device_oom("warp");
  static constexpr std::string_view label = "Failed to allocate ";
  if (const auto line = find_after(m.cursor, 20, "bytes on device 'cuda");
      line && line->text.find(label) != line->text.npos)
    read_request(std::string_view(line->text).substr(line->text.find(label) + label.size()), oom);
  sink.oom(std::move(oom));
}

void emit_bare_cuda(const Match& m, EventSink& sink) { emit_bare(m, sink, "cuda"); }
// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
void emit_onnxruntime_call(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 6, 6, {"for requested buffer of size"})) return;
  set_device(sink, m[1]);
  emit_bare(m, sink, "onnxruntime", Agent::library);
}
void emit_faiss(const Match& m, EventSink& sink) {
  Oom oom = device_oom("faiss", Agent::library);
  read_request(m.has(1) ? m[1] : m[2], oom);
  sink.oom(std::move(oom));
}
void emit_caffe(const Match& m, EventSink& sink) { emit_bare(m, sink, "caffe"); }
void emit_ctranslate2(const Match& m, EventSink& sink) { emit_bare(m, sink, "ctranslate2"); }
/// Any provider uses this arena. Only the CPU provider has nodes in blocks of channels (nchwc), so their arena is host
/// memory.
void emit_onnxruntime(const Match& m, EventSink& sink) {
  Oom oom = device_oom("onnxruntime", Agent::library);
  read_request(number_on_line(m.cursor.line().text, "requested buffer of size ", m[1]), oom);
  if (m.before().find("_nchwc'StatusMessage:") != std::string_view::npos) {
    oom.kind = OomKind::host;
    oom.agent = Agent::cpu_allocator;
  }
  sink.oom(std::move(oom));
}
void emit_rmm(const Match& m, EventSink& sink) { emit_bare(m, sink, "rapids", Agent::library); }
void emit_rmm_thrown(const Match& m, EventSink& sink) { emit_bare(m, sink, "rapids", Agent::library); }
void emit_numba(const Match& m, EventSink& sink) { emit_bare(m, sink, "numba"); }
void emit_pycuda(const Match& m, EventSink& sink) { emit_bare(m, sink, "pycuda"); }
/// CuPy's total is the size of the pool including the request.
void emit_cupy_old(const Match& m, EventSink& sink) {
  Oom oom = device_oom("cupy", Agent::library);
  read_request(m[1], oom);
  if (const auto total = read_size(m[2]); total && oom.request && total->count >= oom.request->count)
    oom.allocated = *total - *oom.request;
  sink.oom(std::move(oom));
}
void emit_theano(const Match& m, EventSink& sink) { emit_request(m, sink, "theano"); }
void emit_physx(const Match& m, EventSink& sink) { emit_request(m, sink, "physx"); }
void emit_mindspore_static(const Match& m, EventSink& sink) { emit_request(m, sink, "mindspore"); }
void emit_darknet(const Match& m, EventSink& sink) { emit_bare(m, sink, "darknet"); }
void emit_habana(const Match& m, EventSink& sink) { emit_request(m, sink, "habana"); }
void emit_neuron(const Match& m, EventSink& sink) { emit_request(m, sink, "neuron"); }

constexpr Pattern patterns[] = {
    checked(
        {.name = "other_gpu/paddle",
         .anchor = "Out of memory error",
         .second_anchor = "Cannot allocate",
         .regex =
             R"(OutofmemoryerroronGPU(\d{1,3})\.Cannotallocate([\d.]{1,16}[KMGT]?B)memoryonGPU\d{1,3},(?:([\d.]{1,16}[KMGT]?B)memory)"
             R"(hasbeenallocatedand)?availablememoryisonly([\d.]{1,16}[KMGT]?B))",
         .captures = 4,
         .reach = Reach::message,
         .example = "Out of memory error on GPU 0. Cannot allocate 98.000244MB memory on GPU 0, 6.000000GB memory has "
                    "been allocated and "
                    "available memory is only 0.000000B.",
         .emit = paddle}),
    checked({.name = "other_gpu/paddle_enforce",
             .anchor = "enforce allocating",
             .regex = R"(enforce allocating <= available failed, (\d{1,20}) > (\d{1,20}))",
             .captures = 2,
             .example = "EnforceNotMet: enforce allocating <= available failed, 9513462067 > 2369702144",
             .emit = paddle_enforce}),
    checked({.name = "other_gpu/kaldi",
             .anchor = "memory region",
             .second_anchor = "AllocateNewRegion",
             .regex = R"(Failedtoallocateamemoryregionof(\d{1,20})bytes\.)",
             .captures = 1,
             .reach = Reach::message,
             .example = "ERROR (nnet3-chain-train[5.5]:AllocateNewRegion():cu-allocator.cc:519) Failed to allocate a "
                        "memory region of 82837504 "
                        "bytes. Possibly this is due to sharing the GPU. Memory info: free:15M, used:11160M, "
                        "total:11175M, free/total:0.0013",
             .emit = kaldi}),
    checked(
        {.name = "other_gpu/caffe",
         .anchor = "cudaSuccess",
         .regex =
             R"((?:Check failed: [^\r\n]{1,40}== cudaSuccess[^\r\n]{0,80}?|error == cudaSuccess\. 2 vs 0\. Error at: [^\r\n]{1,160}: )out of memory)",
         .example = "F0202 10:18:19.439698  3173 syncedmem.cpp:58] Check failed: error == cudaSuccess (2 vs. 0)  out "
                    "of memory",
         .emit = emit_caffe}),
    checked({.name = "other_gpu/ctranslate2",
             .anchor = "CUDA failed with",
             .regex = R"(CUDA failed with error out of memory)",
             .example = "RuntimeError: CUDA failed with error out of memory",
             .emit = emit_ctranslate2}),
    checked({.name = "other_gpu/onnxruntime",
             .anchor = "for requested buffer",
             .second_anchor = "Failed to allocate mem",
             .regex = R"(Failedtoallocatememoryforrequestedbufferofsize(\d{1,20}))",
             .captures = 1,
             .reach = Reach::message,
             .example = "bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 17179869184",
             .emit = emit_onnxruntime}),
    checked({.name = "other_gpu/onnxruntime_call",
             .anchor = "CUDA failure 2",
             .regex = R"(CUDA failure 2: out of memory ; GPU=(\d{1,3}) ;)",
             .captures = 1,
             .example = "CUDA failure 2: out of memory ; GPU=0 ; hostname=node7 ; expr=cudaMalloc((void**)&p, size);",
             .emit = emit_onnxruntime_call}),
    checked({.name = "other_gpu/rmm",
             .anchor = "out_of_memory",
             .regex = R"(std::bad_alloc: out_of_memory: (?:CUDA error|RMM failure))",
             .example = "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: "
                        "/rmm/include/rmm/mr/device/cuda_memory_resource.hpp:69: "
                        "cudaErrorMemoryAllocation out of memory",
             .emit = emit_rmm}),
    checked(
        {.name = "other_gpu/rmm_old",
         .anchor = "std::bad_alloc",
         .regex = R"(std::bad_alloc: (?:CUDA error at: ?[^\r\n]{1,240}: cudaErrorMemoryAllocation|RMM failure at: ?)"
                  R"([^\r\n]{1,240}: Maximum pool size exceeded))",
         .example = "MemoryError: std::bad_alloc: CUDA error at: "
                    "/opt/conda/include/rmm/mr/device/cuda_memory_resource.hpp:69: cudaErrorMemoryAllocation out of "
                    "memory",
         .emit = emit_rmm}),
    checked({.name = "other_gpu/rmm_thrown",
             .anchor = "instance of 'rmm::",
             .regex = R"(instance of 'rmm::(?:bad_alloc|out_of_memory)')",
             .example = "terminate called after throwing an instance of 'rmm::out_of_memory'",
             .emit = emit_rmm_thrown}),
    checked({.name = "other_gpu/numba",
             .anchor = "CUDA_ERROR_OUT_OF_MEMORY",
             .regex = R"(Call to cuMem\w{1,24} results in (?:UNKNOWN_)?CUDA_ERROR_OUT_OF_MEMORY)",
             .example =
                 "numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY",
             .emit = emit_numba}),
    checked({.name = "other_gpu/pycuda",
             .anchor = "cuMem",
             .regex = R"(pycuda\._driver\.MemoryError: cuMem\w{1,20} failed: out of memory)",
             .example = "pycuda._driver.MemoryError: cuMemAlloc failed: out of memory",
             .emit = emit_pycuda}),
    checked(
        {.name = "other_gpu/cupy",
         .anchor = "allocated so far",
         .second_anchor = "Out of memory allocating",
         .regex =
             R"(Outofmemoryallocating([\d,]{1,24}bytes)\(allocatedsofar:([\d,]{1,24}bytes)(?:,limitsetto:([\d,]{1,24}bytes))?\))",
         .captures = 3,
         .reach = Reach::message,
         .example = "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,388,608 bytes (allocated so far: "
                    "6,442,450,944 bytes).",
         .emit = cupy}),
    checked(
        {.name = "other_gpu/cupy_old",
         .anchor = "out of memory to allocate",
         .regex = R"((?:OutOfMemoryError|Exception in main training loop): out of memory to allocate (\d{1,20}) bytes )"
                  R"(\(total (\d{1,20}) bytes\))",
         .captures = 2,
         .example =
             "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 1073741824 bytes (total 5368709120 bytes)",
         .emit = emit_cupy_old}),
    checked(
        {.name = "other_gpu/theano",
         .anchor = "bytes of device memory",
         .regex =
             R"(Error allocating (\d{1,20}) bytes of device memory \((?:out of memory|CNMEM_STATUS_OUT_OF_MEMORY)\))",
         .captures = 1,
         .example = "MemoryError: Error allocating 419430400 bytes of device memory (out of memory).",
         .emit = emit_theano}),
    checked(
        {.name = "other_gpu/faiss",
         .anchor = "cudaMalloc",
         .regex =
             R"((?:failed to cudaMalloc (\d{1,20}) bytes \(error 2 out of memory\)|size (\d{1,20}) bytes \(cudaMalloc error out of memory \[2\]\)))",
         .captures = 2,
         .example = "alloc fail type FlatData dev 0 space Device stream 0x55d0 size 3072000000 bytes (cudaMalloc error "
                    "out of memory [2])",
         .emit = emit_faiss}),
    checked({.name = "other_gpu/warp",
             .anchor = "Warp CUDA error",
             .regex = R"(Warp CUDA error 2: out of memory)",
             .example = "Warp CUDA error 2: out of memory (in function wp_alloc_device_async, warp/native/warp.cu:610)",
             .emit = warp}),
    checked(
        {.name = "other_gpu/physx",
         .anchor = "memory of size",
         .second_anchor = "Unable to allocate",
         .regex = R"(\[omni\.physx[\w.]{0,40}\]Unabletoallocatememoryofsize(\d{1,20})for)",
         .captures = 1,
         .reach = Reach::message,
         .example =
             "[Error] [omni.physx.tensors.plugin] Unable to allocate memory of size 4294967296 for mGpuContactPairsDev",
         .emit = emit_physx}),
    checked({.name = "other_gpu/physx_driver",
             .anchor = "[omni.physx",
             .regex = R"(\[omni\.physx[\w.]{0,40}\] CUDA error: out of memory: )",
             .example = "[Error] [omni.physx.tensors.plugin] CUDA error: out of memory: plugins/gpu/CudaCommon.h: 74",
             .emit = physx_driver}),
    checked({.name = "other_gpu/mindspore",
             .anchor = "Memory not enough",
             .second_anchor = "than required size",
             .regex = R"(Memorynotenough:currentfreememorysize\[(\d{1,20})\]issmallerthanrequiredsize\[(\d{1,20})B?\])",
             .captures = 2,
             .reach = Reach::message,
             .example = "Memory not enough: current free memory size[0] is smaller than required size[241827840B]",
             .emit = mindspore}),
    checked(
        {.name = "other_gpu/mindspore_device",
         .anchor = "isn't enough and alloc",
         .regex =
             R"(Device\(id:(\d{1,3})\) memory isn't enough and alloc failed(?:[^\r\n]{0,300}?alloc size: (\d{1,20})B)?)",
         .captures = 2,
         .example = "RuntimeError: Device(id:0) memory isn't enough and alloc failed, kernel name: Default/Conv2D-op1, "
                    "alloc size: 241827840B.",
         .emit = mindspore_device}),
    checked({.name = "other_gpu/mindspore_static",
             .anchor = "emory!!! total",
             .regex = R"(Out of [Mm]emory!!! total ?\[\d{1,20}\] ?\([^\r\n]{1,120}?\) ?malloc ?\[(\d{1,20})\] failed)",
             .captures = 1,
             .example = "RuntimeError: Out of Memory!!! total[32212254720] (dynamic[0] memory pool[524288000]) "
                        "malloc[33611480064] failed!",
             .emit = emit_mindspore_static}),
    checked({.name = "other_gpu/darknet",
             .anchor = "CUDA Error: ",
             .regex = R"(^(?:[\w./ ]{1,60}: )?CUDA Error: out of memory)",
             .example = "CUDA Error: out of memory",
             .emit = emit_darknet}),
    checked({.name = "other_gpu/habana",
             .anchor = "PT_DEVMEM",
             .regex = R"(MODULE:PT_DEVMEM Allocation failed for size::(\d{1,20}))",
             .captures = 1,
             .example = "RuntimeError: FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::1073741824 (1024)MB",
             .emit = emit_habana}),
    checked({.name = "other_gpu/neuron",
             .anchor = "TDRV:dmem",
             .regex = R"(TDRV:dmem_alloc\w{0,24} {1,40}Failed to alloc DEVICE memory: (\d{1,20}))",
             .captures = 1,
             .example = "ERROR  TDRV:dmem_alloc_internal                     Failed to alloc DEVICE memory: 589824",
             .emit = emit_neuron}),
    checked(
        {.name = "other_gpu/runtime_status",
         .anchor = "cudaErrorMemoryAlloc",
         .regex =
             R"((?:failed: |what\(\): {1,2}|Error: |error: |std::bad_alloc: )cudaErrorMemoryAllocation: out of memory)",
         .example = "RuntimeError: parallel_for failed: cudaErrorMemoryAllocation: out of memory",
         .emit = emit_bare_cuda,
         .fallback = true}),
};

}  // namespace

extern const Parser other_gpu;
const Parser other_gpu{.name = "other_gpu",
                       .title = "Other programs on a device",
                       .source =
                           "kaldi: cudamatrix/cu-allocator.cc; caffe: syncedmem.cpp; paddle: fluid/memory/allocation; "
                           "onnxruntime: core/framework/bfc_arena.cc; rmm: cuda_memory_resource.hpp; cupy: "
                           "cuda/memory.pyx; faiss: gpu/StandardGpuResources.cpp; numba: cudadrv/driver.py; "
                           "mindspore; warp; physx; darknet; habana; neuron; real logs",
                       .patterns = patterns};

}  // namespace oomdoctor::parsers
