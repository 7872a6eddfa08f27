// XLA below JAX and PyTorch/XLA: RESOURCE_EXHAUSTED of a GPU or a TPU.
//
// XLA plans a whole program, so that the request is the program's temporary memory in one piece. The pool's warning
// stands some lines above and is the only one that names the device. On a TPU the compiler itself refuses: used,
// capacity and what is missing; "G" there is 2^30.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

constexpr int look_back = 300;

Oom base(std::string_view format) {
  Oom oom;
  oom.agent = Agent::xla;
  oom.framework = "jax";
  oom.message_format = std::string(format);
  return oom;
}

/// "Allocator (GPU_0_bfc) ran out of memory …" above names the device.
std::optional<int> device_above(const Cursor& cursor) {
  static constexpr std::string_view label = "Allocator (GPU_";
  const auto line = find_behind(cursor, look_back, label);
  if (!line || line->text.find("freed_by_count") != line->text.npos) return std::nullopt;
  const std::size_t at = line->text.find(label) + label.size();
  return static_cast<int>(leading_integer(std::string_view(line->text).substr(at)));
}

void gpu(const Match& m, Sink& sink) {
  Oom oom = base("xla-gpu");
  oom.request = read_size(m[1]);
  Where where;
  where.device = device_above(m.cursor);
  if (m.has(2)) where.device = static_cast<int>(leading_integer(m[2]));
  sink.at(where);
  sink.oom(std::move(oom));
}

void hbm(const Match& m, Sink& sink) {
  Oom oom = base("xla-tpu");
  oom.request = read_size(m[1]);
  oom.limit = read_size(m[2]);
  sink.oom(std::move(oom));
}

void tpu_runtime(const Match& m, Sink& sink) {
  Oom oom = base("xla-tpu");
  oom.request = read_size(m[1]);
  oom.free = read_size(m[2]);
  sink.oom(std::move(oom));
}

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
void tell_constant(const Match& m, Sink& sink) {
  Oom oom = base("xla-gpu");
  oom.request = read_size(m[1]);
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "xla/gpu",
         .anchor = "RESOURCE_EXHAUSTED",
         .second_anchor = "of memory while",
         .regex =
             R"(RESOURCE_EXHAUSTED:(?:Outofmemory(?:whiletryingtoallocate|allocating)|Failedtoallocaterequestfor)(\d{1,18}(?:\.\d{1,3})?(?:bytes|(?:[KMGT]i)?B)))"
             R"((?:\(\d{1,18}B\)ondeviceordinal(\d{1,3}))?)",
         .captures = 2,
         .reach = Reach::message,
         .example = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
                    "4770354232 bytes.",
         .emit = gpu}),
    checked({.name = "xla/constant",
             .anchor = "for new constant",
             .regex = R"(Failed to allocate (\d{1,18}) bytes for new constant)",
             .captures = 1,
             .example =
                 "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to allocate 1073741824 bytes for new constant",
             .emit = tell_constant}),
    checked(
        {.name = "xla/hbm",
         .anchor = "memory space hbm",
         .second_anchor = "of memory in memory",
         .regex = R"(Ranoutofmemoryinmemoryspacehbm\.Used([\d.]{1,10}[KMGT]?)of([\d.]{1,10}[KMGT]?)hbm\.)",
         .captures = 2,
         .reach = Reach::message,
         .example = "Ran out of memory in memory space hbm. Used 21.40G of 15.75G hbm. Exceeded hbm capacity by 5.65G.",
         .emit = hbm}),
    checked(
        {.name = "xla/tpu_runtime",
         .anchor = "was not possible",
         .second_anchor = "RESOURCE_EXHAUSTED",
         .regex =
             R"(Attemptingto(?:allocate|reserve)([\d.]{1,10}[KMGT]?)(?:atthebottomofmemory)?\.Thatwasnotpossible\.Thereare([\d.]{1,10}[KMGT]?)free)",
         .captures = 2,
         .reach = Reach::message,
         .example = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Attempting to reserve 5.80G at the "
                    "bottom of memory. That was "
                    "not possible. There are 5.64G free, 0B reserved, and 5.64G reservable.",
         .emit = tpu_runtime}),
};

}  // namespace

extern const Parser xla;
const Parser xla{.name = "xla", .title = "XLA and JAX", .patterns = patterns};

}  // namespace oomdoctor::parsers
