// Other processes on the GPU of the failure, as a monitor in the same log lists them. They replace the list that the
// message itself does not print.
#include <algorithm>
#include <string>

#include "facts/analysis.h"

namespace oomdoctor {
namespace {

/// The newest list before the failure: the processes that its lines name.
std::vector<const Series*> find_last_list(const ScanResult& scan, const Incident& incident) {
  const Span& failure = incident.evidence.span;
  std::vector<const Series*> listed;
  i64 newest = 0;
  for (const Series& s : scan.series) {
    const Span &first = s.first_evidence.span, &last = s.last_evidence.span;
    if (!is_process_series(s) || first.source != failure.source || last.first_line >= failure.first_line) continue;
    listed.push_back(&s);
    newest = std::max(newest, last.first_line);
  }
  std::erase_if(listed, [&](const Series* s) { return s->last_evidence.span.first_line < newest; });
  return listed;
}

/// Bytes of the GPU that the monitor lists the process on.
std::optional<double> find_capacity(const ScanResult& scan, const Series& process, const Facts& facts) {
  if (const auto printed = facts.number("oom.capacity"); printed || !process.origin.device) return printed;
  const auto found = scan.settings.find("capacity/" + std::to_string(*process.origin.device));
  const auto bytes = found == scan.settings.end() ? std::nullopt : read_capacity(found->second.value);
  return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

/// For example "ocr-server (process 60117)".
std::string process_words(const Series& s) {
  const std::string pid = "process " + std::to_string(*s.origin.pid);
  const std::size_t open = s.label.find(" (");
  return open == s.label.npos ? pid : s.label.substr(open + 2, s.label.size() - open - 3) + " (" + pid + ")";
}

}  // namespace

bool is_process_series(const Series& s) { return s.origin.pid && s.label.starts_with("process "); }

void neighbour_facts(const ScanResult& scan, const Incident& incident, Facts& facts) {
  if (incident.oom.kind != OomKind::device || facts.find("account.external") != nullptr) return;
  std::vector<const Series*> others = find_last_list(scan, incident);
  // Without this process in the list, none of the others is known to be foreign, or to share its GPU.
  const auto own =
      std::find_if(others.begin(), others.end(), [&](const Series* s) { return s->origin.pid == incident.origin.pid; });
  if (own == others.end()) return;
  const Series& self = **own;
  std::erase_if(others, [&](const Series* s) { return s == &self || s->origin.device != self.origin.device; });
  if (others.empty()) return;
  const auto by_size = [](const Series* a, const Series* b) { return a->last_value < b->last_value; };
  const Series& largest = **std::max_element(others.begin(), others.end(), by_size);
  Bytes sum;
  for (const Series* s : others) sum = sum + Bytes{whole_number(s->last_value), 0};
  const std::vector<Evidence> here{largest.last_evidence};
  facts.set("account.external", sum, here);
  facts.set("account.ownerless", Value{false}, here);
  facts.set("account.external_pid", Value{Number{static_cast<double>(*largest.origin.pid), 0}}, here);
  const std::string more = others.size() == 1 ? "" : " and other processes";
  facts.set("account.holders", Value{process_words(largest) + more}, here);
  std::vector<OtherProcess> named;
  for (const Series* s : others) named.push_back({*s->origin.pid, Bytes{whole_number(s->last_value), 0}});
  stop_facts(std::move(named), here, facts);
  if (const auto capacity = find_capacity(scan, self, facts))
    facts.set("account.external_share", Value{Number{static_cast<double>(sum.count) / *capacity, 0}}, here);
  std::erase_if(others, [&](const Series* s) {
    return s->first_evidence.span.first_line <= self.first_evidence.span.first_line;
  });
  if (others.empty()) return;
  const Series& came = **std::max_element(others.begin(), others.end(), by_size);
  const std::vector<Evidence> since{came.first_evidence};
  facts.set("join.newcomer", Value{process_words(came)}, since);
  facts.set("join.newcomer_used", Bytes{whole_number(came.last_value), 0}, since);
}

}  // namespace oomdoctor
