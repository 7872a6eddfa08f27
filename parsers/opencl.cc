// OpenCL, OpenVINO and Level Zero: drivers that report a failure as an error code.
//
// An error code for memory is a failure report. "Out of resources" is masked: a full GPU causes it, but other problems
// do so too. The maximum size of one allocation is not a capacity, so it is not read.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

void openvino(const Match& m, EventSink& sink) {
  Oom oom = device_oom("openvino");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// True for program text, and if a framework nearby already reports the failure with more detail than the code.
bool is_already_reported(const Match& m) {
  return is_program_text(m.cursor.line().body()) || is_near(m.cursor, 6, 3, {"Tried to allocate", "buffer of size"});
}

void opencl(const Match& m, EventSink& sink) {
  if (!is_already_reported(m)) sink.oom(device_oom("opencl"));
}

void level_zero(const Match& m, EventSink& sink) {
  if (!is_already_reported(m)) sink.oom(device_oom("level-zero"));
}

void out_of_resources(const Match& m, EventSink& sink) {
  if (is_already_reported(m)) return;
  Oom oom;
  oom.kind = OomKind::masked;
  oom.agent = Agent::library;
  oom.message_format = m[1];
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked({.name = "opencl/openvino",
             .anchor = "of memory object allocation",
             .regex = R"(Exceeded max size of memory object allocation: [Rr]equested (\d{1,20}) bytes)",
             .captures = 1,
             .example =
                 "[GPU] Exceeded max size of memory object allocation: requested 6442450944 bytes, but max alloc "
                 "size supported by device is 4294959104 bytes.Please try to reduce batch size or use lower "
                 "precision.",
             .emit = openvino,
             .source = "openvino: src/plugins/intel_gpu/src/runtime/ocl/ocl_engine.cpp"}),
    checked(
        {.name = "opencl/allocation",
         .anchor = "MEM_OBJECT_ALLOCATION_",
         .regex =
             R"((?:failed|[Ee]rror(?: code)?|ERROR)[:,]? {0,3}\(?(?:-4:? \(?)?(?:CL_)?MEM_OBJECT_ALLOCATION_FAILURE\b)",
         .example = "pyopencl._cl.MemoryError: clCreateBuffer failed: MEM_OBJECT_ALLOCATION_FAILURE",
         .emit = opencl,
         .source = "pyopencl: src/wrap_cl.hpp"}),
    checked({.name = "opencl/boost_compute",
             .anchor = "Object Allocation Failure",
             .regex = R"(what\(\): {1,3}Memory Object Allocation Failure)",
             .example = "  what():  Memory Object Allocation Failure",
             .emit = opencl,
             .source = "boost: compute/exception/opencl_error.hpp"}),
    checked({.name = "opencl/level_zero",
             .anchor = "ERROR_OUT_OF_DEVICE_MEMORY",
             .regex = R"((?:error|returns): {0,2}-?\d{1,3} \((?:UR_RESULT|PI)_ERROR_OUT_OF_DEVICE_MEMORY\))",
             .example = "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
             .emit = level_zero,
             .source = "intel/llvm: sycl/source/detail"}),
    checked({.name = "opencl/resources",
             .anchor = "_ERROR_OUT_OF_RESOURCES",
             .regex = R"((?:error|returns): {0,2}-?\d{1,3} \(((?:UR_RESULT|PI)_ERROR_OUT_OF_RESOURCES)\))",
             .captures = 1,
             .example = "RuntimeError: UR backend failed. UR backend returns:40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)",
             .emit = out_of_resources,
             .source = "intel/llvm: sycl/source/detail"}),
    checked({.name = "opencl/openvino_resources",
             .anchor = "CL_OUT_OF_RESOURCES",
             .regex = R"(\[GPU\] (CL_OUT_OF_RESOURCES)\b)",
             .captures = 1,
             .example = "[GPU] CL_OUT_OF_RESOURCES exception",
             .emit = out_of_resources,
             .source = "openvino: src/plugins/intel_gpu/src/runtime/ocl/ocl_stream.cpp"}),
};

}  // namespace

extern const Parser opencl;
const Parser opencl{.name = "opencl",
                    .title = "OpenCL, OpenVINO and Level Zero",
                    .source = "openvino; pyopencl; boost; intel/llvm",
                    .patterns = patterns};

}  // namespace oomdoctor::parsers
