// Programs that print only the CUDA driver's words for "out of memory": renderers, miners, bindings of other languages.
//
// If a report with numbers is nearby, that report covers the failure.
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers::cuda_words {
namespace {

void emit(const Match& m, EventSink& sink, std::string_view framework) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(device_oom(framework));
}

}  // namespace

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

/// accepts: true if the line is not the driver's refusal of an allocation, which has a size.
bool is_no_allocation(std::string_view line) { return line.find("failed to allocate") == line.npos; }

}  // namespace oomdoctor::parsers::cuda_words
