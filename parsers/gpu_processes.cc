// A watcher's line about one GPU: the memory in use of the total, then each process with its pid, its name and its MiB.
// A process is a series of its own under its pid and name, so that a failure can name its neighbours.
#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"

namespace oomdoctor::parsers::gpu_processes {
namespace {

/// One process of the list.
struct ListedProcess {
  i64 pid = 0, mebibytes = 0;
  std::string_view name;
};

/// Parses "49112 server 16930" and "49112/server: 16930 MiB".
ListedProcess parse_process(std::string_view text) {
  text = trimmed(text);
  if (text.ends_with("MiB")) text = trimmed(text.substr(0, text.size() - 3));
  const std::size_t after_pid = text.find_first_not_of("0123456789"), size = text.find_last_not_of("0123456789") + 1;
  std::string_view name = text.substr(after_pid + 1, size - after_pid - 1);
  while (!name.empty() && std::string_view(" :=").find(name.back()) != std::string_view::npos) name.remove_suffix(1);
  return {leading_integer(text), leading_integer(text.substr(size)), name};
}

}  // namespace

void list(const Match& m, EventSink& sink) {
  const Card card{.device = static_cast<int>(leading_integer(m[1]))};
  emit_gpu_reading(sink, card, {.number = static_cast<double>(leading_integer(m[2]))});
  emit_capacity(sink, card, leading_integer(m[3]), "MiB");
  for (std::string_view rest = m[4]; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(",;"), rest.size());
    if (const ListedProcess entry = parse_process(rest.substr(0, end)); entry.mebibytes > 0)
      emit_process_memory(sink, {.pid = entry.pid, .name = entry.name, .device = card.device},
                          static_cast<double>(entry.mebibytes), static_cast<double>(MiB));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace oomdoctor::parsers::gpu_processes
