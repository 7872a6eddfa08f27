#include "fold/incident_dedup.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

/// True if the rounding intervals of both sizes overlap, or one is unknown.
bool agree(const std::optional<Bytes>& a, const std::optional<Bytes>& b) {
  if (!a || !b) return true;
  const i64 difference = a->count > b->count ? a->count - b->count : b->count - a->count;
  return difference <= a->slack + b->slack;
}

}  // namespace

bool has_numbers(const Oom& o) { return o.request || o.allocated || o.free || o.process || o.limit; }

int kill_report_rank(const Oom& report) {
  if (report.kind != OomKind::host && report.kind != OomKind::shared_memory) return 0;
  switch (report.agent) {
    case Agent::kernel:
    case Agent::cgroup:
      return report.process ? 5 : 4;  // the line with the victim's sizes represents its block
    case Agent::slurm:
    case Agent::kubernetes:
    case Agent::scheduler:
    case Agent::daemon:
      return 3;
    case Agent::worker:
      return 2;
    case Agent::signal:
      return 1;
    case Agent::library:
      return report.kind == OomKind::shared_memory ? 2 : 0;
    default:
      return 0;
  }
}

bool may_be_same_kill(const Incident& old, const Oom& now, const Origin& where) {
  const int a = kill_report_rank(old.oom), b = kill_report_rank(now);
  if (a == 0 || b == 0 || old.oom.kind != now.kind) return false;
  // An invocation of the kernel's OOM killer is reported only if its own victim is missing. So a named victim is
  // another death.
  const auto is_invocation = [](const Oom& report) {
    return report.message_format == "oom-killer-invoked" || report.message_format == "oom-killer-called";
  };
  if (a >= 4 && b >= 4 && (is_invocation(old.oom) || is_invocation(now))) return false;
  // Kernels up to 4.x announce a thread and then kill the process that it belongs to.
  if (a == 4 && b == 5 && !old.oom.process && old.oom.process_name == now.process_name) return true;
  // Shell and kernel may name different processes of one tree. Two kernel lines with two processes are two deaths.
  const bool same_reporter = a == b || (a >= 4 && b >= 4);
  return !same_reporter || !old.origin.pid || !where.pid || old.origin.pid == where.pid;
}

bool same_victim(const Incident& old, const Origin& where) { return old.origin.pid && old.origin.pid == where.pid; }

std::string_view failed_test(std::string_view body) {
  static constexpr std::string_view word = "FAILED ";
  body = trimmed(body);
  const std::size_t end = body.find(" - ");
  if (!body.starts_with(word) || end == body.npos) return {};
  const std::string_view test = body.substr(word.size(), end - word.size());
  return test.find("::") != test.npos ? test : std::string_view();
}

bool is_passed_on(std::string_view body) {
  const std::size_t call = body.find("Call to ");
  return call != body.npos && body.find(" method failed: ", call) != body.npos;
}

std::string_view counted_part(std::string_view line) {
  static constexpr std::array<std::string_view, 5> words{"rial ", "atch ", "ample ", "old ", "teration "};
  const std::string_view front = line.substr(0, line.find("emory"));
  for (const std::string_view word : words) {
    const std::size_t at = front.find(word);
    if (at == front.npos) continue;
    const std::size_t end = std::min(front.find_first_not_of("0123456789", at + word.size()), front.size());
    if (end > at + word.size()) return front.substr(at, end - at);
  }
  return {};
}

bool of_tensorflow_pool(const Oom& o) { return o.agent == Agent::tf_bfc || o.message_format == "tf-bfc"; }

bool is_failed_copy(const Oom& o) { return o.message_format == "Dst tensor is not initialized"; }

bool comes_in_parts(const Oom& o) { return of_tensorflow_pool(o) || o.agent == Agent::xla || o.agent == Agent::driver; }

bool is_general_form(const Oom& o) { return o.has(OomTrait::prose); }

bool may_be_same_memory(const Oom& a, const Oom& b) {
  const auto on_device = [](const Oom& o) {
    return o.kind == OomKind::device || o.kind == OomKind::masked || o.kind == OomKind::pool;
  };
  // Without a number, only the surrounding words suggest which memory is meant.
  const auto unspecific = [](const Oom& o) { return is_general_form(o) && !has_numbers(o); };
  return unspecific(a) || unspecific(b) || on_device(a) == on_device(b);
}

bool complement(const Oom& a, const Oom& b) {
  for (const OomSize& size : oom_sizes)
    if (!agree(a.*size.field, b.*size.field)) return false;
  return true;
}

void fill_gaps(Oom& into, const Oom& from) {
  for (const auto& [name, field] : oom_sizes) {
    std::optional<Bytes>& known = into.*field;
    const std::optional<Bytes>& other = from.*field;
    if (!known || (other && other->slack < known->slack && agree(known, other))) known = other;
  }
  into.beyond_exabyte |= from.beyond_exabyte;
  if (into.process_name.empty()) into.process_name = from.process_name;
  if (into.framework.empty()) into.framework = from.framework;
}

}  // namespace oomdoctor
