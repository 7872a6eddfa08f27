// Kubernetes and containers: the state of a container ("OOMKilled"), evictions for memory, docker inspect.
//
// kubectl prints the state in three shapes: describe ("Reason: OOMKilled"), the status column of get, YAML or JSON. In
// describe the container's limit is some lines below the state. An eviction message contains the node's available
// memory, not a limit, because no limit was reached. An eviction for disk space is not a memory failure. "docker
// inspect" also works without Kubernetes.
#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::kubernetes {
namespace {

Oom kubernetes_failure(std::string_view format) { return host_oom(Agent::kubernetes, format); }

/// Parses a Kubernetes quantity: "4Gi" is binary, "4G" is decimal.
std::optional<Bytes> parse_quantity(std::string_view text) { return read_size(trimmed(text), nullptr, Radix::decimal); }

/// Finds "Limits:" and then "memory: 4Gi" in the description of the same container.
std::optional<Bytes> find_container_limit(const Cursor& cursor) {
  std::optional<Bytes> out;
  bool limits = false;
  cursor.forward(30, [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    if (text.starts_with("Limits:")) limits = true;
    if (text.starts_with("Requests:") || text.starts_with("Container ID:")) return false;
    if (!limits || !text.starts_with("memory:")) return true;
    out = parse_quantity(text.substr(7));
    return false;
  });
  return out;
}

}  // namespace

/// Exit code 0 means that the main process ended normally: the kernel killed another process in the container.
void reason(const Match& m, EventSink& sink) {
  const auto code = find_after(m.cursor, 2, "Exit Code:");
  const bool ended_well = code && trimmed(code->text.substr(code->text.find(':') + 1)) == "0";
  Oom oom = kubernetes_failure(ended_well ? "oomkilled-inside" : "oomkilled");
  oom.limit = find_container_limit(m.cursor);
  oom.described = !is_of_earlier_container(m.cursor);
  sink.oom(std::move(oom));
}

void evicted(const Match& m, EventSink& sink) {
  Oom oom = kubernetes_failure("evicted");
  oom.traits = {OomTrait::evicted};
  if (m.has(1)) oom.free = parse_quantity(m[1]);
  if (m.has(3)) {
    oom.process_name = std::string(m[2]);
    oom.process = parse_quantity(m[3]);
  }
  sink.oom(std::move(oom));
}

/// A volume in memory, named for /dev/shm, that exceeded its limit.
void shm_volume(const Match& m, EventSink& sink) {
  Oom oom = kubernetes_failure("shm-volume");
  oom.kind = OomKind::shared_memory;
  oom.limit = parse_quantity(m[1]);
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::kubernetes
