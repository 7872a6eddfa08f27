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

/// The message lists all containers of the pod, without blanks here: "ContainermainwasusingX,whichexceeds…". The
/// largest one counts.
void add_larger_containers(std::string_view rest, Oom& oom) {
  static constexpr std::string_view head = "Container", verb = "wasusing";
  for (std::size_t at = rest.find(head); at != rest.npos; at = rest.find(head, at + 1)) {
    const std::size_t using_at = rest.find(verb, at), end = rest.find(',', std::min(using_at, rest.size()));
    if (end == rest.npos) return;
    const std::string_view name = rest.substr(at + head.size(), using_at - at - head.size());
    const auto used = parse_quantity(rest.substr(using_at + verb.size(), end - using_at - verb.size()));
    if (!used || name.empty() || name.size() > 80 || (oom.process && oom.process->count >= used->count)) continue;
    oom.process = used;
    oom.process_name = std::string(name);
  }
}

/// Finds "limits": {"memory": "24Gi"} near the state, in JSON.
std::optional<Bytes> find_json_limit(const Cursor& cursor) {
  constexpr int reach = 30;
  std::optional<Bytes> out;
  const auto look = [&](const Line& line) {
    const std::size_t limits = line.text.find("\"limits\":");
    if (limits == line.text.npos) return true;
    const std::string_view text = line.text.substr(limits);
    out = parse_quantity(between(text.substr(0, text.find('}')), "\"memory\":\"", "\""));
    if (!out) out = parse_quantity(between(text.substr(0, text.find('}')), "\"memory\": \"", "\""));
    return false;
  };
  if (look(cursor.line())) cursor.backward(reach, look);
  if (!out) cursor.forward(reach, look);
  return out;
}

/// Finds "limits:" and then "memory: 4Gi" in the YAML above the state. nullopt if several containers have one.
std::optional<Bytes> find_yaml_limit(const Cursor& cursor) {
  constexpr int reach = 60;
  std::optional<Bytes> memory, out;
  int found = 0;
  cursor.backward_texts(reach, [&](std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.starts_with("memory:")) memory = parse_quantity(text.substr(7));
    if (text == "limits:" && memory) out = memory, ++found;
    if (text == "limits:" || text == "requests:") memory.reset();
    return true;
  });
  return found == 1 ? out : std::nullopt;
}

}  // namespace

/// Exit code 0 means that the main process ended normally: the kernel killed another process in the container.
void reason(const Match& m, EventSink& sink) {
  const auto code = find_after(m.cursor, 2, "Exit Code:");
  const bool ended_well = code && trimmed(code->text.substr(code->text.find(':') + 1)) == "0";
  Oom oom = kubernetes_failure(ended_well ? "oomkilled-inside" : "oomkilled");
  oom.limit = find_container_limit(m.cursor);
  if (!oom.limit) oom.limit = find_json_limit(m.cursor);
  if (!oom.limit) oom.limit = find_yaml_limit(m.cursor);
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
    add_larger_containers(m.after(), oom);
    if (m.has(4))
      if (const auto asked = parse_quantity(m[4])) sink.setting("pod_request", bytes_text(asked->count));
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

/// "Memory": 17179869184, in the part HostConfig of the same container; 0 if it has no limit.
void inspect(const Match& m, EventSink& sink) {
  static constexpr std::string_view label = "\"Memory\":", next = "\"OOMKilled\"";
  constexpr int most_lines = 200;
  Oom oom = host_oom(Agent::cgroup, "docker-inspect");
  oom.described = true;
  m.cursor.forward(most_lines, [&](const Line& line) {
    const std::string_view text = line.text;
    if (text.find(next) != text.npos) return false;
    const std::size_t at = text.find(label);
    if (at == text.npos) return true;
    const i64 bytes = leading_integer(trimmed(text.substr(at + label.size())));
    if (bytes > 0) oom.limit = Bytes{bytes, 0};
    return false;
  });
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::kubernetes
