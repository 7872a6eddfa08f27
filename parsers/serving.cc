// Inference servers that lack memory for their plan: KV cache, start-up checks, weights.
//
// vLLM, SGLang, text-generation-inference and ollama compute the plan before they allocate. So their messages contain
// both the request and the available memory. vLLM's "GiB" and SGLang's "GB" are both 2^30 bytes.
#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::serving {
namespace {

Oom pool_failure(std::string_view framework, std::string_view format) {
  Oom oom;
  oom.kind = OomKind::pool;
  oom.agent = Agent::serving;
  oom.framework = std::string(framework);
  oom.message_format = std::string(format);
  return oom;
}

std::optional<Bytes> parse_gib(std::string_view number) { return read_bytes(number, "GiB"); }

/// Finds "Available KV cache memory: -0.3 GiB" above the error. A negative number means that less than nothing was left
/// for the cache.
std::optional<Bytes> find_cache_memory(const Cursor& cursor) {
  static constexpr std::string_view label = "vailable KV cache memory: ";
  const auto line = find_before(cursor, 30, label);
  if (!line) return std::nullopt;
  std::string_view value = std::string_view(line->text).substr(line->text.find(label) + label.size());
  const bool negative = value.starts_with("-");
  if (negative) value.remove_prefix(1);
  auto out = parse_gib(value.substr(0, value.find(' ')));
  if (out && negative) out->count = -out->count;
  return out;
}

}  // namespace

void no_blocks(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = pool_failure("vllm", "vllm-no-blocks");
  oom.traits = {OomTrait::no_cache_blocks};
  oom.free = find_cache_memory(m.cursor);
  sink.oom(std::move(oom));
}

/// An engine that takes its memory back after its sleep says so on the lines around it.
void memory_saver(const Match& m, EventSink& sink) {
  constexpr int lines_around = 6;
  Oom oom = device_oom("sglang");
  oom.message_format = "memory-saver";
  const bool wakes = is_near(m.cursor, lines_around, lines_around, {"resume_memory_occupation", "wake_up", "onload_"});
  sink.oom(std::move(oom));
  sink.remark(wakes ? "for/woken" : "for/wake_up");
}

/// Of the GPUs of a group, one has less free memory than that of the rank that prints the message. It does not say
/// which one. SGLang counts GiB, its version for JAX KiB. If the check is disabled, the message is only a warning.
void unbalanced(const Match& m, EventSink& sink) {
  Oom oom = pool_failure("sglang", "sglang-unbalanced");
  oom.traits = {OomTrait::uneven_gpus};
  oom.caught = m[1].empty();
  const std::string_view unit = m[2].starts_with("min_available_device") ? "KiB" : "GiB";
  if (m.has(3)) oom.free = read_bytes(m[3], unit);
  if (m.has(4))
    if (const auto here = read_bytes(m[4], unit)) sink.setting("free_here", decimal_bytes_text(here->count));
  if (m.has(3) || !oom.caught) sink.oom(std::move(oom));
}

/// "the current vLLM instance can use total_gpu_memory (15.77GiB) x gpu_memory_utilization (0.90) = 14.19GiB"
void engine_limit(const Match& m, EventSink& sink) {
  sink.setting("capacity", std::string(m[1]) + " GiB");
  sink.setting("memory_fraction", m[2]);
  sink.setting("engine_limit", std::string(m[3]) + " GiB");
}

/// Less than nothing is left for the cache: vLLM raises an exception next, which a log that is cut does not contain.
void profile(const Match& m, EventSink& sink) {
  sink.setting("weights_memory", std::string(m[1]) + " GiB");
  sink.setting("activation_peak", std::string(m[2]) + " GiB");
  if (m.text.find("reserved for KV Cache is -") != m.text.npos) sink.remark("pool/no_memory");
}

void negative_cache(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.remark("pool/no_memory");
  sink.setting("cache_shortage", m[1]);
}

/// The same numbers in the other order.
void later_profile(const Match& m, EventSink& sink) {
  sink.setting("activation_peak", std::string(m[1]) + " GiB");
  sink.setting("weights_memory", std::string(m[2]) + " GiB");
}

/// TensorRT-LLM prints the free memory before the failed component on the next lines. PyTorch's own report, if it
/// exists, is above.
void executor(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body()) || is_near(m.cursor, 60, 0, {"Tried to allocate"})) return;
  Oom oom = pool_failure("tensorrt-llm", "trtllm-executor");
  oom.kind = OomKind::device;
  m.cursor.forward(14, [&](const Line& line) {
    const auto after = [&](std::string_view label) -> std::optional<std::string_view> {
      const std::size_t at = line.text.find(label);
      return at == line.text.npos ? std::nullopt : std::optional(trimmed(line.text.substr(at + label.size())));
    };
    if (line.text.find("Executor creation failed") != line.text.npos) return false;  // another rank's
    // "Model: 78.81 / 42.06": what was free before and after the component, the first of all.
    if (const auto model = after("Model: "); model && model->find(" / ") != model->npos) {
      const auto before = parse_gib(model->substr(0, model->find(" / ")));
      const auto behind = parse_gib(model->substr(model->find(" / ") + 3));
      if (before && behind && before->count > behind->count)
        sink.setting("weights_memory", decimal_bytes_text(before->count - behind->count));
      if (before && oom.free && before->count > oom.free->count) oom.process = *before - *oom.free;
      sink.claim_through(line.number);
      return false;
    }
    if (const auto total = after("Total GPU memory (GiB):")) oom.capacity = parse_gib(*total);
    const auto left = after("before component creation attempt (GiB):");
    if (left) oom.free = parse_gib(*left), sink.claim_through(line.number);
    return true;
  });
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::serving
