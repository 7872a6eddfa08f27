// Inference servers that lack memory for their plan: KV cache, start-up checks, weights.
//
// vLLM, SGLang, text-generation-inference and ollama compute the plan before they allocate. So their messages contain
// both the request and the available memory. vLLM's "GiB" and SGLang's "GB" are both 2^30 bytes.
#include "base/ascii.h"
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
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

void no_blocks(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = pool_failure("vllm", "vllm-no-blocks");
  oom.free = find_cache_memory(m.cursor);
  sink.oom(std::move(oom));
}

void cache_needed(const Match& m, EventSink& sink) {
  Oom oom = pool_failure("vllm", "vllm-kv-cache");
  oom.request = parse_gib(m[1]);
  oom.limit = parse_gib(m[2]);
  sink.oom(std::move(oom));
}

void max_length(const Match&, EventSink& sink) { sink.oom(pool_failure("vllm", "vllm-max-length")); }

void free_memory(const Match& m, EventSink& sink) {
  Oom oom = pool_failure("vllm", "vllm-free-memory");
  oom.free = parse_gib(m[2]);
  oom.capacity = parse_gib(m[3]);
  oom.limit = parse_gib(m[4]);
  Origin where;
  if (m.has(1)) where.device = static_cast<int>(leading_integer(m[1]));
  sink.at(where);
  sink.oom(std::move(oom));
}

/// One GPU has less free memory than the others: another process uses it. If the check is disabled, the message is only
/// a warning.
void unbalanced(const Match& m, EventSink& sink) {
  Oom oom = pool_failure("sglang", "sglang-unbalanced");
  oom.caught = m[1].empty();
  oom.free = parse_gib(m[2]);
  sink.oom(std::move(oom));
}

void sglang_static(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(pool_failure("sglang", "sglang-mem-fraction"));
}
void sglang_prefill(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(pool_failure("sglang", "sglang-prefill"));
}
/// Rows for concurrent requests. Their number is fixed at the start and does not depend on free memory.
void sglang_requests(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(pool_failure("sglang", "sglang-request-rows"));
}

/// FlashInfer takes its arrays from one workspace of a size that the engine chose.
void workspace(const Match& m, EventSink& sink) {
  Oom oom = pool_failure("flashinfer", "flashinfer-workspace");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// The trial run with the largest prompt failed before the cache existed.
void tgi(const Match&, EventSink& sink) {
  Oom oom = pool_failure("text-generation-inference", "tgi-prefill");
  oom.kind = OomKind::device;
  sink.oom(std::move(oom));
}

/// TensorRT-LLM prints the free memory before the failed component on the next lines. PyTorch's own report, if it
/// exists, is above.
void executor(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body()) || is_near(m.cursor, 60, 0, {"Tried to allocate"})) return;
  Oom oom = pool_failure("tensorrt-llm", "trtllm-executor");
  oom.kind = OomKind::device;
  m.cursor.forward(6, [&](const Line& line) {
    const auto after = [&](std::string_view label) -> std::optional<std::string_view> {
      const std::size_t at = line.text.find(label);
      return at == line.text.npos ? std::nullopt : std::optional(trimmed(line.text.substr(at + label.size())));
    };
    if (const auto total = after("Total GPU memory (GiB):")) oom.capacity = parse_gib(*total);
    const auto left = after("before component creation attempt (GiB):");
    if (left) oom.free = parse_gib(*left), sink.claim_through(line.number);
    return !left;
  });
  sink.oom(std::move(oom));
}

void ollama(const Match& m, EventSink& sink) {
  Oom oom = pool_failure("ollama", "ollama-system");
  oom.kind = OomKind::host;
  oom.request = parse_gib(m[1]);
  oom.free = parse_gib(m[2]);
  sink.oom(std::move(oom));
}

/// The server answers requests, so it still runs.
void answers(const Match&, EventSink& sink) { sink.remark("run/serving"); }

constexpr Pattern patterns[] = {
    checked({.name = "serving/answers",
             .anchor = "HTTP/1.1\" 200",
             .regex = R"("(?:GET|POST) [^"\r\n]{1,200} HTTP/1\.1" 200)",
             .example = "INFO:     10.0.0.4:51922 - \"POST /v1/completions HTTP/1.1\" 200 OK",
             .emit = answers,
             .non_exclusive = true,
             .source = "uvicorn: uvicorn/protocols/http/h11_impl.py"}),
    checked({.name = "serving/no_blocks",
             .anchor = "No available memory",
             .second_anchor = "the cache blocks",
             .regex = R"((?:Error:|error:|^|\])Noavailablememoryforthecacheblocks)",
             .reach = Reach::message,
             .example = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` "
                        "when initializing the engine.",
             .emit = no_blocks}),
    checked(
        {.name = "serving/cache_needed",
         .anchor = "KV cache is needed",
         .second_anchor = "larger than the available",
         .regex = R"(([\d.]{1,10})GiBKVcacheisneeded,whichislargerthantheavailableKVcachememory\(([\d.]{1,10})GiB\))",
         .captures = 2,
         .reach = Reach::message,
         .example = "ValueError: To serve at least one request with the models's max seq len (32768), (4.00 GiB KV "
                    "cache is needed, which is "
                    "larger than the available KV cache memory (2.50 GiB).",
         .emit = cache_needed}),
    checked(
        {.name = "serving/max_length",
         .anchor = "max seq len",
         .second_anchor = "stored in KV cache",
         .regex =
             R"(Themodel'smaxseqlen\(\d{1,9}\)islargerthanthemaximumnumberoftokensthatcanbestoredinKVcache\(\d{1,9}\))",
         .reach = Reach::message,
         .example = "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can "
                    "be stored in KV cache "
                    "(15248). Try increasing `gpu_memory_utilization`.",
         .emit = max_length}),
    checked(
        {.name = "serving/free_memory",
         .anchor = "Free memory on",
         .second_anchor = "on startup is less",
         .regex =
             R"(Freememoryondevice(?:cuda:(\d{1,3}))?\(([\d.]{1,9})/([\d.]{1,9})GiB\)onstartupislessthandesiredGPUmemoryutilization\([\d.]{1,6},([\d.]{1,9})GiB\))",
         .captures = 4,
         .reach = Reach::message,
         .example = "ValueError: Free memory on device cuda:0 (40.69/79.25 GiB) on startup is less than desired GPU "
                    "memory utilization (0.92, "
                    "72.91 GiB).",
         .emit = free_memory}),
    checked(
        {.name = "serving/unbalanced",
         .anchor = "capacity is unbalanced",
         .second_anchor = "local_gpu_memory",
         .regex = R"(((?:Error:)?)Thememorycapacityisunbalanced\.(?:SomeGPUsmaybeoccupiedbyotherprocesses\.)?)"
                  R"((?:min_per_gpu_memory|pre_model_load_memory|min_available_device_memory)=([\d.]{1,24}))",
         .captures = 2,
         .reach = Reach::message,
         .example = "RuntimeError: The memory capacity is unbalanced. min_per_gpu_memory=21.40, local_gpu_memory=46.81",
         .emit = unbalanced}),
    checked({.name = "serving/sglang_static",
             .anchor = "Not enough memory",
             .regex = R"(Not enough memory\. Please try to increase --mem-fraction-static)",
             .example =
                 "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.80",
             .emit = sglang_static}),
    checked({.name = "serving/sglang_prefill",
             .anchor = "Try to lower your batch",
             .regex = R"((?:^|[\s:])(?:(?:Prefill|Decode) out|Out) of memory\. Try to lower your batch size)",
             .example = "RuntimeError: Decode out of memory. Try to lower your batch size.",
             .emit = sglang_prefill}),
    checked({.name = "serving/sglang_requests",
             .anchor = "alloc_req_slots",
             .regex = R"(alloc_req_slots runs out of memory\. )",
             .example = "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for "
                        "`--max-running-requests`.",
             .emit = sglang_requests}),
    checked({.name = "serving/tgi",
             .anchor = "Not enough memory to",
             .regex = R"(Not enough memory to handle \d{1,9} (?:prefill tokens|total tokens with))",
             .example =
                 "Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`",
             .emit = tgi}),
    checked({.name = "serving/workspace",
             .anchor = "in AlignedAllocator",
             .regex = R"((?:Failed to allocate memory|Buffer overflow when allocating memory) for \w{1,60} with size )"
                      R"((\d{1,20}) and alignment \d{1,6} in AlignedAllocator)",
             .captures = 1,
             .example = "RuntimeError: Buffer overflow when allocating memory for batch_prefill_tmp_v with size "
                        "402653184 and alignment 16 in AlignedAllocator",
             .emit = workspace,
             .source = "flashinfer: include/flashinfer/allocator.h"}),
    checked({.name = "serving/executor",
             .anchor = "Executor creation failed",
             .regex = R"(Executor creation failed due to insufficient GPU memory)",
             .example = "RuntimeError: Executor creation failed due to insufficient GPU memory.",
             .emit = executor,
             .source = "TensorRT-LLM: tensorrt_llm/_torch/pyexecutor/py_executor_creator.py"}),
    checked(
        {.name = "serving/ollama",
         .anchor = "more system memory",
         .regex = R"(model requires more system memory \(([\d.]{1,9}) GiB\) than is available \(([\d.]{1,9}) GiB\))",
         .captures = 2,
         .example = "Error: model requires more system memory (8.6 GiB) than is available (5.6 GiB)",
         .emit = ollama}),
};

}  // namespace

extern const Parser serving;
const Parser serving{.name = "serving",
                     .title = "Inference servers",
                     .source =
                         "vLLM: vllm/v1/core/kv_cache_utils.py, vllm/v1/worker/gpu_worker.py; SGLang: "
                         "srt/model_executor/model_runner.py; text-generation-inference: "
                         "server/text_generation_server/models; ollama: server/sched.go",
                     .patterns = patterns};

}  // namespace oomdoctor::parsers
