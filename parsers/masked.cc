// Lack of GPU memory that another error code masks, and GPU failures that are not about memory.
//
// cuBLAS, cuDNN, NCCL and similar libraries allocate outside the framework's pool. On a full GPU they report their own
// status. NOT_INITIALIZED also follows a failed kernel assertion, which poisons the CUDA context. If an assertion is
// above, the status is no evidence. The event keeps the status as printed. NCCL reports the refusal itself; its
// multicast buffers (NVLS) are another resource. Xid numbers: https://docs.nvidia.com/deploy/xid-errors.
#include <array>

#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

/// True if an earlier error poisoned the CUDA context. The traceback of the exception may separate the two, so the
/// window is wide.
bool is_context_poisoned(const Cursor& cursor) {
  return is_near(cursor, 120, 0,
                 {"device-side assert", "illegal memory access", "misaligned address", "unspecified launch failure",
                  "Xid (", "] Assertion `", "Device-side assertion `"});
}

Oom masked_failure(std::string_view status) {
  Oom oom;
  oom.kind = OomKind::masked;
  oom.agent = Agent::library;
  oom.message_format = std::string(status);
  return oom;
}

/// The free share of the GPU if it was clearly not full. TensorFlow and XLA print it: "Memory usage: 15364980736 bytes
/// free, 15655829504 bytes total."
std::optional<double> find_free_share(const Cursor& cursor) {
  static constexpr std::string_view words = "Memory usage: ";
  constexpr i64 min_free_divisor = 10;  // a library's handle and workspace fit into a tenth of any GPU
  const auto line = find_after(cursor, 3, words);
  if (!line) return std::nullopt;
  const std::string_view sizes = line->text.substr(line->text.find(words) + words.size());
  const i64 free = leading_integer(sizes), total = leading_integer(between(sizes, "free, ", " bytes"));
  if (total <= 0 || free <= total / min_free_divisor || free > total) return std::nullopt;
  return static_cast<double>(free) / static_cast<double>(total);
}

void status(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body()) || is_context_poisoned(m.cursor)) return;
  if (const auto share = find_free_share(m.cursor)) return sink.remark("device/room", share);
  sink.oom(masked_failure(m[1]));
}

/// JAX prints this message; the statuses may precede it.
void jax_dnn(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 40, 0, {"CUDNN_STATUS_", "cudnn handle"})) status(m, sink);
}

/// A refused allocation and the line that prints it.
struct Refusal {
  Bytes size;
  i64 line = 0;
};

/// The allocation that failed in the same thread. "Failed to CUDA calloc 6291456 bytes" is on one of the next four
/// lines.
std::optional<Refusal> find_refusal(const Match& m) {
  static constexpr std::string_view words = "Failed to CUDA ";
  const auto line = find_after(m.cursor, 4, words);
  const std::string_view thread = m.text.substr(0, static_cast<std::size_t>(m[1].end() - m.text.begin()));
  if (!line || !line->text.starts_with(thread)) return std::nullopt;
  const std::size_t number = line->text.find_first_of("0123456789", line->text.find(words));
  if (number == line->text.npos) return std::nullopt;
  return Refusal{{leading_integer(line->text.substr(number)), 0}, line->number};
}

/// "gpu-04:5120:5188 [3] NCCL WARN …": the device is in brackets.
void nccl(const Match& m, EventSink& sink) {
  for (const std::string_view other : {"nvls", "NVLS", "ulticast"})
    if (m.text.find(other) != m.text.npos) return;
  if (is_program_text(m.cursor.line().body()) || is_context_poisoned(m.cursor)) return;
  Oom oom;
  oom.agent = Agent::library;
  oom.message_format = "nccl";
  if (m.has(1)) {
    Origin where;
    where.device = static_cast<int>(leading_integer(m[1]));
    sink.at(where);
    if (const auto refused = find_refusal(m)) {
      oom.request = refused->size;
      sink.claim_through(refused->line);
    }
  }
  sink.oom(std::move(oom));
}

/// Sometimes only the end of the exception's text is printed. It does not contain the reason, so the failure is masked.
void nccl_calloc(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body()) || is_context_poisoned(m.cursor)) return;
  if (is_near(m.cursor, 200, 0, {"Cuda failure"})) return;
  Oom oom = masked_failure(m[1]);
  oom.request = Bytes{leading_integer(m[2]), 0};
  sink.oom(std::move(oom));
}

void triton(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom;
  oom.agent = Agent::driver;
  oom.framework = "pytorch";
  oom.message_format = "triton";
  sink.oom(std::move(oom));
}

void kernel_shared_memory(const Match& m, EventSink& sink) {
  sink.remark("kernel/shared_memory", static_cast<double>(leading_integer(m[1])));
}
void busy(const Match&, EventSink& sink) { sink.remark("device/busy"); }
void fault(const Match&, EventSink& sink) { sink.remark("device/fault"); }
void hardware(const Match&, EventSink& sink) { sink.remark("device/hardware"); }

/// Splits the Xid numbers into errors of the program and defects of the hardware. Others are ignored.
void xid(const Match& m, EventSink& sink) {
  static constexpr std::array<i64, 4> program{13, 31, 43, 45};
  static constexpr std::array<i64, 10> broken{48, 62, 63, 64, 74, 79, 94, 95, 119, 120};
  const i64 number = leading_integer(m[1]);
  for (const i64 x : program)
    if (x == number) return sink.remark("device/fault", static_cast<double>(number));
  for (const i64 x : broken)
    if (x == number) return sink.remark("device/hardware", static_cast<double>(number));
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "masked/cublas",
         .anchor = "CUBLAS_STATUS_",
         .regex =
             R"((?:CUDA error: |cublas handle: |cuBLAS error: |CUBLAS error: |cublas error: |RuntimeError: )[^\r\n]{0,30}?)"
             R"((CUBLAS_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED)))",
         .captures = 1,
         .example = "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
         .emit = status}),
    checked(
        {.name = "masked/cudnn",
         .anchor = "CUDNN_STATUS_",
         .regex =
             R"((?:cuDNN error: |cudnn handle: |CUDNN error: |RuntimeError: )(CUDNN_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED|)"
             R"(INTERNAL_ERROR(?:_DEVICE_ALLOCATION_FAILED)?)\b))",
         .captures = 1,
         .example = "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
         .emit = status,
         .source = "torch: aten/src/ATen/cudnn/Exceptions.h"}),
    checked({.name = "masked/cudnn_algorithm",
             .anchor = "algorithm",
             .regex =
                 R"(((?<=Error: )Unable to find a valid cuDNN algorithm(?= to run convolution)|)"
                 R"(Failed to get convolution algorithm(?=\. This is probably because cuDNN failed to initialize)))",
             .captures = 1,
             .example = "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
             .emit = status,
             .source = "torch: aten/src/ATen/native/cudnn/Conv_v8.cpp"}),
    checked(
        {.name = "masked/tensorflow_handle",
         .anchor = "handle: ",
         .regex = R"([Ff]ailed to create (?:cublas|cudnn) handle: (?:cublas error: )?(the resource allocation failed))",
         .captures = 1,
         .example = "E tensorflow/stream_executor/cuda/cuda_blas.cc:226] failed to create cublas handle: the resource "
                    "allocation failed",
         .emit = status,
         .source = "tensorflow: tensorflow/stream_executor/cuda/cuda_blas.cc"}),
    checked({.name = "masked/jax_dnn",
             .anchor = "DNN library init",
             .regex = R"(FAILED_PRECONDITION: (DNN library initialization failed))",
             .captures = 1,
             .example = "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed. "
                        "Look at the errors above for more details.",
             .emit = jax_dnn,
             .source = "xla: the status of a failed DNN library, as jaxlib raises it"}),
    checked({.name = "masked/cublas_words",
             .anchor = "cublas runtime error",
             .regex = R"(cublas runtime error : (resource allocation failed|library not initialized) at )",
             .captures = 1,
             .example = "RuntimeError: cublas runtime error : resource allocation failed at "
                        "/pytorch/aten/src/THC/THCGeneral.cpp:216",
             .emit = status,
             .source = "torch 1.0 and older: aten/src/THC/THCGeneral.cpp"}),
    checked(
        {.name = "masked/paddle",
         .anchor = "(External) CU",
         .regex =
             R"(\(External\) CU(?:BLAS|DNN) error\(\d{1,2}\)[,.] (?:\[Hint: ')?(CUBLAS_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED)|CUDNN_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED|INTERNAL_ERROR)))",
         .captures = 1,
         .example = "OSError: (External) CUDNN error(4), CUDNN_STATUS_INTERNAL_ERROR.",
         .emit = status,
         .source = "paddle: paddle/phi/core/enforce.h"}),
    checked(
        {.name = "masked/cusolver",
         .anchor = "CUSOLVER_STATUS",
         .regex =
             R"((?:cusolver|cuSOLVER) error: (CUSOLVER_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED|INTERNAL_ERROR))(?=,? when calling `cusolver\w{0,10}Create)"
             R"(|[^\r\n]{0,4}$))",
         .captures = 1,
         .example =
             "RuntimeError: cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`",
         .emit = status}),
    checked({.name = "masked/cufft",
             .anchor = "CUFFT_ALLOC",
             .regex = R"(cuFFT error: (CUFFT_ALLOC_FAILED))",
             .captures = 1,
             .example = "RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED",
             .emit = status,
             .source = "torch: aten/src/ATen/native/cuda/CuFFTUtils.h"}),
    checked(
        {.name = "masked/cusparse",
         .anchor = "CUSPARSE_STATUS",
         .regex =
             R"((?:CUDA error|CUSPARSE error|cuSPARSE error): [^\r\n]{0,40}?(CUSPARSE_STATUS_(?:ALLOC_FAILED|INSUFFICIENT_RESOURCES)))",
         .captures = 1,
         .example =
             "RuntimeError: CUDA error: CUSPARSE_STATUS_INSUFFICIENT_RESOURCES when calling `cusparseSpMM(handle)`",
         .emit = status}),
    checked({.name = "masked/nccl",
             .anchor = "Cuda failure",
             .regex = R"((?:\[(\d{1,3})\] [^\r\n]{0,120})?Cuda failure(?: \d{1,3})? 'out of memory')",
             .captures = 1,
             .example = "gpu-04:5120:5188 [3] transport/p2p.cc:215 NCCL WARN Cuda failure 2 'out of memory'",
             .emit = nccl,
             .source = "nccl: src/include/checks.h"}),
    checked({.name = "masked/nccl_calloc",
             .anchor = "Failed to CUDA ",
             .regex = R"((Failed to CUDA [cm]alloc(?: async)?) (\d{1,15}) bytes)",
             .captures = 2,
             .example = "Failed to CUDA calloc async 3640 bytes",
             .emit = nccl_calloc,
             .source = "nccl: src/include/alloc.h"}),
    checked({.name = "masked/triton",
             .anchor = "Triton Error",
             .regex = R"(Triton Error \[(?:CUDA|HIP)\]: out of memory)",
             .example = "RuntimeError: Triton Error [CUDA]: out of memory",
             .emit = triton,
             .source = "triton: third_party/nvidia/backend/driver.c"}),
    checked({.name = "masked/kernel_shared_memory",
             .anchor = "out of resource: shared",
             .regex = R"(out of resource: shared memory, Required: (\d{1,9}), Hardware limit: \d{1,9})",
             .captures = 1,
             .example = "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, "
                        "Hardware limit: 101376.",
             .emit = kernel_shared_memory,
             .source = "triton: python/triton/runtime/errors.py"}),
    checked(
        {.name = "masked/nccl_fault",
         .anchor = "Cuda failure",
         .regex =
             R"(Cuda failure(?: \d{1,3})? '(?:an illegal memory access was encountered|an illegal instruction was encountered|)"
             R"(unspecified launch failure|misaligned address|device-side assert triggered))",
         .example = "enqueue.cc:1556 NCCL WARN Cuda failure 700 'an illegal memory access was encountered'",
         .emit = fault,
         .source = "nccl: src/include/checks.h"}),
    checked(
        {.name = "masked/fault",
         .anchor = "CUDA error: ",
         .regex =
             R"((?:CUDA|HIP) error: (?:device-side assert triggered|an illegal memory access was encountered|misaligned address|)"
             R"(unspecified launch failure|an illegal instruction was encountered))",
         .example = "RuntimeError: CUDA error: an illegal memory access was encountered",
         .emit = fault,
         .source = "torch: c10/cuda/CUDAException.cpp"}),
    checked({.name = "masked/assertion",
             .anchor = "] Assertion `",
             .regex = R"(block: \[\d{1,10},\d{1,10},\d{1,10}\], thread: \[\d{1,4},\d{1,4},\d{1,4}\] Assertion `)",
             .example = "../aten/src/ATen/native/cuda/Loss.cu:245: nll_loss_forward: block: [0,0,0], thread: [7,0,0] "
                        "Assertion `t >= 0 && t < n_classes` failed.",
             .emit = fault,
             .source = "CUDA's device runtime: assert() in a kernel"}),
    checked({.name = "masked/hardware",
             .anchor = "uncorrectable ECC",
             .regex = R"(CUDA error: uncorrectable ECC error encountered)",
             .example = "RuntimeError: CUDA error: uncorrectable ECC error encountered",
             .emit = hardware,
             .source = "torch: c10/cuda/CUDAException.cpp"}),
    checked({.name = "masked/busy",
             .anchor = "busy or unavailable",
             .regex = R"(CUDA-capable device(?:\(s\))?s? (?:is/are|are|is) busy or unavailable)",
             .example = "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
             .emit = busy,
             .source = "torch: c10/cuda/CUDAException.cpp"}),
    checked({.name = "masked/xid",
             .anchor = "NVRM: Xid",
             .regex = R"(NVRM: Xid \(PCI:[\w:.]{4,20}\): (\d{1,4}),)",
             .captures = 1,
             .example = "NVRM: Xid (PCI:0000:38:00): 13, pid=2924, name=python, Graphics SM Warp Exception on (GPC 9, "
                        "TPC 1, SM 1): Out Of "
                        "Range Address",
             .emit = xid,
             .source = "NVIDIA's kernel module: docs.nvidia.com/deploy/xid-errors"}),
};

}  // namespace

extern const Parser masked;
const Parser masked{.name = "masked",
                    .title = "Library statuses and device faults",
                    .source = "torch: aten/src/ATen/cuda/Exceptions.h",
                    .patterns = patterns};

}  // namespace oomdoctor::parsers
