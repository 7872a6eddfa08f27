// Programs that print only the CUDA driver's words for "out of memory": renderers, miners, bindings of other languages.
//
// If a report with numbers is nearby, that report covers the failure.
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

void emit(const Match& m, EventSink& sink, std::string_view framework) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(device_oom(framework));
}

/// The listed words belong to reports of frameworks that contain the same code and more detail.
void code(const Match& m, EventSink& sink) {
  if (!is_near(
          m.cursor, 8, 4,
          {"Tried to allocate", "ailed to allocate", "ran out of memory", "RESOURCE_EXHAUSTED", "results in CUDA_"}))
    emit(m, sink, "cuda");
}

void emit_number(const Match& m, EventSink& sink) { emit(m, sink, "cuda"); }
void emit_lmdeploy(const Match& m, EventSink& sink) { emit(m, sink, "lmdeploy"); }
void emit_miner(const Match& m, EventSink& sink) { emit(m, sink, "cuda"); }
void emit_cycles(const Match& m, EventSink& sink) { emit(m, sink, "blender"); }
void emit_optix(const Match& m, EventSink& sink) { emit(m, sink, "optix"); }
void emit_drjit(const Match& m, EventSink& sink) { emit(m, sink, "drjit"); }
void emit_matlab(const Match& m, EventSink& sink) { emit(m, sink, "matlab"); }

constexpr Pattern patterns[] = {
    checked({.name = "cuda_words/code",
             .anchor = "CUDA_ERROR_OUT_OF_MEMORY",
             .regex = R"((?:^|[\s(\]:])CUDA_ERROR_OUT_OF_MEMORY(?:: out of memory|, "out of memory")|)"
                      R"((?:[Ee]rror|failed): {1,3}CUDA_ERROR_OUT_OF_MEMORY\b)",
             .example = "cupy.cuda.driver.CUDADriverError: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
             .emit = code,
             .fallback = true,
             .accepts = [](std::string_view line) { return line.find("failed to allocate") == line.npos; },
             .source = "CUDA: cuGetErrorName, cuGetErrorString"}),
    checked({.name = "cuda_words/number",
             .anchor = "CUDA error 2: out",
             .regex = R"(: CUDA error 2: out of memory)",
             .example = "CatBoostError: catboost/cuda/cuda_lib/cuda_base.h:281: CUDA error 2: out of memory",
             .emit = emit_number,
             .source = "catboost: catboost/cuda/cuda_lib/cuda_base.h"}),
    checked({.name = "cuda_words/lmdeploy",
             .anchor = "CUDA runtime error: ",
             .regex = R"(\[TM\]\[ERROR\] CUDA runtime error: out of memory )",
             .example = "RuntimeError: [TM][ERROR] CUDA runtime error: out of memory "
                        "/opt/lmdeploy/src/turbomind/core/allocator.cc:49",
             .emit = emit_lmdeploy,
             .source = "lmdeploy: src/turbomind/utils/cuda_utils.h"}),
    checked({.name = "cuda_words/miner",
             .anchor = "CUDA error in func",
             .regex = R"(CUDA error in func [^\r\n]{1,80}? at line \d{1,6} (?:: )?out of memory)",
             .example = "CUDA error in func 'ethash_cuda_miner::init' at line 240 : out of memory.",
             .emit = emit_miner,
             .source = "ethminer: libethash-cuda"}),
    checked({.name = "cuda_words/cycles_call",
             .anchor = "Out of memory in cu",
             .regex = R"(Out of memory in cu[A-Z]\w{2,40}\()",
             .example = "Out of memory in cuMemAlloc(&device_pointer, size) (/opt/blender/intern/cycles/device/cuda/"
                        "device_impl.cpp:702)",
             .emit = emit_cycles,
             .source = "blender: intern/cycles/device/cuda/util.cpp"}),
    checked({.name = "cuda_words/cycles",
             .anchor = "System is out of GPU",
             .regex = R"(System is out of GPU (?:and shared host )?memory)",
             .example = "Error: System is out of GPU and shared host memory",
             .emit = emit_cycles,
             .source = "blender: intern/cycles/device"}),
    checked({.name = "cuda_words/optix",
             .anchor = "OPTIX_ERROR_DEVICE_OUT",
             .regex = R"(OPTIX_ERROR_DEVICE_OUT_OF_MEMORY: )",
             .example = "[error] OPTIX_ERROR_DEVICE_OUT_OF_MEMORY: Device out of memory",
             .emit = emit_optix,
             .source = "OptiX: optix_types.h"}),
    checked({.name = "cuda_words/drjit",
             .anchor = "cuda_malloc(): out",
             .regex = R"(cuda_malloc\(\): out of memory)",
             .example = "Caught a critical exception: cuda_malloc(): out of memory!",
             .emit = emit_drjit,
             .source = "enoki: src/cuda/common.cu"}),
    checked({.name = "cuda_words/matlab",
             .anchor = "Out of memory on device.",
             .regex = R"(^Out of memory on device\. )",
             .example = "Out of memory on device. To view more detail about available memory on the GPU, use "
                        "'gpuDevice()'.",
             .emit = emit_matlab,
             .source = "MATLAB: Parallel Computing Toolbox"}),
};

}  // namespace

extern const Parser cuda_words;
const Parser cuda_words{.name = "cuda_words",
                        .title = "The CUDA driver's words alone",
                        .source = "CUDA: cuGetErrorName, cuGetErrorString",
                        .patterns = patterns};

}  // namespace oomdoctor::parsers
