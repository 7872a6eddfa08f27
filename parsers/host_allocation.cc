// Refused allocations of host memory: PyTorch's CPU allocator, numpy, Python, C++ and others.
//
// Unlike a kill, a refusal answers one request and usually contains its size. RAPIDS throws "std::bad_alloc" for device
// memory too; other_gpu reads those forms. "cannot allocate memory in static TLS block" is a problem of the dynamic
// loader, not of memory.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

Oom allocation_failure(std::string_view format, std::string_view framework = "") {
  return host_oom(Agent::cpu_allocator, format, framework);
}

void emit(const Match& m, EventSink& sink, Oom oom) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.oom(std::move(oom));
}

void torch(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("torch-cpu", "pytorch");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

void numpy(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("numpy");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// The name alone also occurs in lists and documentation. It is a failure only below a traceback. Paddle on Windows
/// raises MemoryError for a GPU too and names the GPU in its summary below.
void python(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 0, 14, {"Out of memory error on GPU"})) return;
  if (is_near(m.cursor, 4, 0, {"File \"", "Traceback (most", "--> "}))
    emit(m, sink, allocation_failure("memory-error"));
}

void sized(const Match& m, EventSink& sink, std::string_view format) {
  Oom oom = allocation_failure(format);
  read_request(m[1], oom);
  emit(m, sink, std::move(oom));
}

void errno_12(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.remark("host/overcommit");
  sink.oom(allocation_failure("errno-12"));
}

/// The whole file is to be mapped at once. A mapping needs address space and committed memory, not pages in use.
void mapping(const Match& m, EventSink& sink) {
  sink.remark("host/overcommit");
  Oom oom = allocation_failure("mapping", "pytorch");
  oom.request = read_size(m[1]);
  sink.oom(std::move(oom));
}

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
/// Before 1.4 the message contains only the error number: 12 is ENOMEM.
void emit_memalign(const Match&, EventSink& sink) { sink.oom(allocation_failure("torch-cpu", "pytorch")); }
void emit_ggml(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("ggml", "llama.cpp");
  oom.request = read_bytes(m[1].substr(0, m[1].find_first_of(" M")), "MB");
  sink.oom(std::move(oom));
}
void emit_ggml_buffer(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("ggml", "llama.cpp");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}
void emit_paddle(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("paddle", "paddle");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}
void emit_mxnet(const Match&, EventSink& sink) { sink.oom(allocation_failure("mxnet", "mxnet")); }
/// Windows: the commit limit (RAM and page file) is exhausted. Windows translates the words but not the number.
void emit_page_file(const Match& m, EventSink& sink) { emit(m, sink, allocation_failure("winerror-1455")); }
void emit_numpy_shape(const Match& m, EventSink& sink) { emit(m, sink, allocation_failure("numpy")); }
void emit_bad_alloc(const Match& m, EventSink& sink) { emit(m, sink, allocation_failure("bad-alloc")); }
void emit_lightgbm(const Match&, EventSink& sink) { sink.oom(allocation_failure("bad-alloc", "lightgbm")); }
void emit_arrow(const Match& m, EventSink& sink) { sized(m, sink, "arrow"); }
void emit_rust(const Match& m, EventSink& sink) { sized(m, sink, "rust"); }
void emit_opencv(const Match& m, EventSink& sink) { sized(m, sink, "opencv"); }
void emit_pandas(const Match& m, EventSink& sink) { emit(m, sink, allocation_failure("pandas")); }

constexpr Pattern patterns[] = {
    checked(
        {.name = "host_allocation/torch",
         .anchor = "tried to allocate",
         .second_anchor = "DefaultCPUAlloc",
         .regex =
             R"((?:DefaultCPUAllocator|\$Torch):(?:can'tallocatememory|notenoughmemory):youtriedtoallocate(\d{1,20}(?:bytes|[KMG]B)))",
         .captures = 1,
         .reach = Reach::message,
         .example = "RuntimeError: [enforce fail at alloc_cpu.cpp:114] . DefaultCPUAllocator: can't allocate memory: "
                    "you tried to "
                    "allocate 12884901888 bytes. Error code 12 (Cannot allocate memory)",
         .emit = torch,
         .source = "torch: c10/core/impl/alloc_cpu.cpp"}),
    checked({.name = "host_allocation/memalign",
             .anchor = "posix_memalign(",
             .second_anchor = "gAlignment",
             .regex = R"(posix_memalign\(&data,gAlignment,nbytes\)==0\.12vs0)",
             .reach = Reach::message,
             .example =
                 "RuntimeError: [enforce fail at CPUAllocator.cpp:64] posix_memalign(&data, gAlignment, nbytes) == "
                 "0. 12 vs 0",
             .emit = emit_memalign,
             .source = "torch: c10/core/CPUAllocator.cpp"}),
    checked({.name = "host_allocation/numpy",
             .anchor = "Unable to allocate",
             .second_anchor = "array with shape",
             .regex = R"(Unabletoallocate(\d{1,6}\.?\d{0,3}(?:[KMGTPE]iB|bytes))foranarraywithshape\()",
             .captures = 1,
             .reach = Reach::message,
             .example = "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 184. MiB for an array with shape "
                        "(4900, 4900) and "
                        "data type float64",
             .emit = numpy,
             .source = "numpy: numpy/_core/_exceptions.py"}),
    checked({.name = "host_allocation/numpy_shape",
             .anchor = "allocate array",
             .regex = R"(MemoryError: Unable to allocate array with shape \([\d, ]{1,80}\) and data type \w{1,20})",
             .example = "MemoryError: Unable to allocate array with shape (4900, 4900) and data type float64",
             .emit = emit_numpy_shape,
             .source = "numpy: numpy/core/_exceptions.py"}),
    checked(
        {.name = "host_allocation/python",
         .anchor = "MemoryError",
         .regex = R"((?:^|[\]:|)] {0,20}|^\s{1,24})MemoryError(?:\s{0,80}$|:\s{0,4}$|: [a-z][\w ,.'()/\-]{0,200}$))",
         .example = "  File \"load.py\", line 12, in read\n    rows = list(reader)\nMemoryError",
         .emit = python,
         .fallback = true,
         .source = "CPython: MemoryError"}),
    checked(
        {.name = "host_allocation/bad_alloc",
         .anchor = "bad_alloc",
         .regex =
             R"((?:what\(\): {1,3}|instance of '|Error: |error: |exception: )std::bad_alloc(?!:? ?(?:out_of_memory|cuda|CUDA|RMM|rmm)))",
         .example = "terminate called after throwing an instance of 'std::bad_alloc'",
         .emit = emit_bad_alloc,
         .source = "libstdc++: libsupc++/vterminate.cc"}),
    checked({.name = "host_allocation/lightgbm",
             .anchor = "bad allocation",
             .regex = R"((?:\[LightGBM\] \[(?:Warning|Fatal)\]|LightGBMError:) bad allocation)",
             .example = "[LightGBM] [Fatal] bad allocation",
             .emit = emit_lightgbm,
             .source = "LightGBM: src/c_api.cpp; std::bad_alloc in the words of Windows"}),
    checked(
        {.name = "host_allocation/errno_12",
         .anchor = "annot allocate memory",
         .regex =
             R"((?:\[Errno 12\] Cannot allocate memory|fork: Cannot allocate memory|mmap failed: Cannot allocate memory))",
         .example = "OSError: [Errno 12] Cannot allocate memory",
         .emit = errno_12,
         .source = "CPython: OSError"}),
    checked({.name = "host_allocation/mapping",
             .anchor = "unable to mmap",
             .regex = R"(unable to mmap (\d{1,20}) bytes from file <[^\r\n]{1,300}>: Cannot allocate memory)",
             .captures = 1,
             .example = "RuntimeError: unable to mmap 18329065000 bytes from file </models/base.safetensors>: Cannot "
                        "allocate memory (12)",
             .emit = mapping,
             .source = "torch: aten/src/ATen/MapAllocator.cpp"}),
    checked({.name = "host_allocation/arrow",
             .anchor = "ArrowMemoryError",
             .regex = R"(ArrowMemoryError: (?:m|re)alloc of size (\d{1,20}) failed)",
             .captures = 1,
             .example = "pyarrow.lib.ArrowMemoryError: malloc of size 1073741824 failed",
             .emit = emit_arrow,
             .source = "arrow: cpp/src/arrow/memory_pool.cc"}),
    checked({.name = "host_allocation/rust",
             .anchor = "memory allocation of",
             .regex = R"(^memory allocation of (\d{1,20}) bytes failed)",
             .captures = 1,
             .example = "memory allocation of 8589934592 bytes failed",
             .emit = emit_rust,
             .source = "rust: library/std/src/alloc.rs"}),
    checked({.name = "host_allocation/opencv",
             .anchor = "Insufficient memory)",
             .regex = R"(\(-4:Insufficient memory\) Failed to allocate (\d{1,20}) bytes)",
             .captures = 1,
             .example = "cv2.error: OpenCV(4.8.0) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate "
                        "6220800 bytes in "
                        "function 'OutOfMemoryError'",
             .emit = emit_opencv,
             .source = "opencv: modules/core/src/alloc.cpp"}),
    checked({.name = "host_allocation/pandas",
             .anchor = "C error: out of memory",
             .regex = R"(Error tokenizing data\. C error: out of memory)",
             .example = "pandas.errors.ParserError: Error tokenizing data. C error: out of memory",
             .emit = emit_pandas,
             .source = "pandas: pandas/_libs/parsers.pyx"}),
    checked({.name = "host_allocation/ggml",
             .anchor = "ggml_aligned_malloc",
             .regex = R"(ggml_aligned_malloc: insufficient memory \(attempted to allocate {1,4}([\d.]{1,12} ?MB)\))",
             .captures = 1,
             .example = "ggml_aligned_malloc: insufficient memory (attempted to allocate 4096.00 MB)",
             .emit = emit_ggml,
             .source = "ggml: ggml/src/ggml.c"}),
    checked({.name = "host_allocation/ggml_buffer",
             .anchor = "ggml_backend_cpu_buffer",
             .regex = R"(ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size (\d{1,20}))",
             .captures = 1,
             .example = "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 34359738368",
             .emit = emit_ggml_buffer,
             .source = "ggml: ggml/src/ggml-backend.cpp"}),
    checked({.name = "host_allocation/paddle",
             .anchor = "Fail to alloc memory",
             .second_anchor = "ResourceExhausted",
             .regex = R"(Error:Failtoallocmemoryof(\d{1,20})size,)",
             .captures = 1,
             .reach = Reach::message,
             .example = "ResourceExhaustedError: Fail to alloc memory of 8589934592 size, error code is 12.",
             .emit = emit_paddle,
             .source = "paddle: paddle/phi/core/memory/allocation/cpu_allocator.cc"}),
    checked({.name = "host_allocation/mxnet",
             .anchor = "cpu_device_storage",
             .regex = R"(cpu_device_storage\.h:\d{1,5}: Failed to allocate CPU Memory)",
             .example =
                 "mxnet.base.MXNetError: [10:21:03] src/storage/./cpu_device_storage.h:75: Failed to allocate CPU "
                 "Memory",
             .emit = emit_mxnet,
             .source = "mxnet: src/storage/cpu_device_storage.h"}),
    checked({.name = "host_allocation/page_file",
             .anchor = "[WinError 1455]",
             .regex = R"(Error: \[WinError 1455\] )",
             .example = "OSError: [WinError 1455] The paging file is too small for this operation to complete. Error "
                        "loading \"C:\\lib\\cufft64_10.dll\" or one of its dependencies.",
             .emit = emit_page_file,
             .source = "Windows: error 1455 through CPython's OSError"}),
};

}  // namespace

extern const Parser host_allocation;
const Parser host_allocation{.name = "host_allocation",
                             .title = "Refused allocations of host memory",
                             .source = "real logs",
                             .patterns = patterns};

}  // namespace oomdoctor::parsers
