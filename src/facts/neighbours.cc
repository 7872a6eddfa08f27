// Other processes on the GPU of the failure, as a monitor in the same log lists them. They replace the list that the
// message itself does not print.
#include <algorithm>
#include <cmath>
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

/// The list that somebody printed nearest after the failure.
std::vector<const Series*> find_next_list(const ScanResult& scan, const Incident& incident) {
  const Span& failure = incident.evidence.span;
  std::vector<const Series*> listed;
  for (const Series& s : scan.series) {
    const Span& first = s.first_evidence.span;
    if (is_process_series(s) && first.source == failure.source && first.first_line > failure.first_line)
      listed.push_back(&s);
  }
  const auto by_line = [](const Series* a, const Series* b) {
    return a->first_evidence.span.first_line < b->first_evidence.span.first_line;
  };
  if (listed.empty()) return listed;
  constexpr i64 most_rows = 160;  // processes of one table
  const i64 top = (*std::min_element(listed.begin(), listed.end(), by_line))->first_evidence.span.first_line;
  std::erase_if(listed, [&](const Series* s) { return s->first_evidence.span.first_line > top + most_rows; });
  return listed;
}

/// Bytes of the GPU that the monitor lists the process on.
std::optional<double> find_capacity(const ScanResult& scan, const Series& process, const Facts& facts) {
  if (const auto printed = facts.number("oom.capacity"); printed || !process.origin.device) return printed;
  const auto bytes = size_of_setting(scan, "capacity/" + std::to_string(*process.origin.device));
  return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

/// For example "ocr-server (process 60117)".
std::string process_words(const Series& s) {
  const std::string pid = "process " + std::to_string(*s.origin.pid);
  const std::size_t open = s.label.find(" (");
  return open == s.label.npos ? pid : s.label.substr(open + 2, s.label.size() - open - 3) + " (" + pid + ")";
}

/// Sets who the processes are.
void name_holders(const std::vector<const Series*>& others, Facts& facts) {
  const auto by_size = [](const Series* a, const Series* b) { return a->last_value < b->last_value; };
  const Series& largest = **std::max_element(others.begin(), others.end(), by_size);
  const std::vector<Evidence> here{largest.last_evidence};
  facts.set("account.ownerless", Value{false}, here);
  facts.set("account.external_pid", Value{Number{static_cast<double>(*largest.origin.pid), 0}}, here);
  const std::string more = others.size() == 1 ? "" : " and other processes";
  facts.set("account.holders", Value{process_words(largest) + more}, here);
  std::vector<OtherProcess> named;
  for (const Series* s : others) named.push_back({*s->origin.pid, Bytes{whole_number(s->last_value), 0}});
  stop_facts(std::move(named), here, facts);
}

double sum_of(const std::vector<const Series*>& processes) {
  double sum = 0;
  for (const Series* s : processes) sum += s->last_value;
  return sum;
}

/// Removes the process that has as much memory as the message says of its own, whose pid it does not print.
void erase_self(std::vector<const Series*>& listed, const Facts& facts) {
  constexpr double tolerance = 0.02;
  const auto own = facts.number("oom.process");
  const auto self = std::find_if(listed.begin(), listed.end(), [&](const Series* s) {
    return own && std::abs(s->last_value - *own) <= tolerance * *own;
  });
  if (self != listed.end()) listed.erase(self);
}

/// The message names no process, but counts the memory that is neither its own nor free. A table of processes names its
/// holders if they hold just as much.
void name_by_size(const ScanResult& scan, const Incident& incident, Facts& facts) {
  constexpr double tolerance = 0.1;  // the table is of another moment, and counts in other units
  constexpr double context =
      1536.0 * MiB;  // at most, of this process: part of the rest if the message does not count it
  const auto external = facts.number("account.external");
  if (!external || facts.find("account.external_pid") != nullptr) return;
  for (auto listed : {find_next_list(scan, incident), find_last_list(scan, incident)}) {
    std::erase_if(listed, [&](const Series* s) {
      return s->origin.pid == incident.origin.pid ||
             (incident.origin.device && s->origin.device && s->origin.device != incident.origin.device);
    });
    const double rest = *external + (facts.is_true("account.ownerless") ? context : 0);
    const auto explain_it = [&] {
      const double sum = sum_of(listed);
      return !listed.empty() && sum >= (1 - tolerance) * *external && sum <= (1 + tolerance) * rest;
    };
    if (!explain_it()) erase_self(listed, facts);
    if (explain_it()) return name_holders(listed, facts);
  }
}

}  // namespace

bool is_process_series(const Series& s) { return s.origin.pid && s.label.starts_with("process "); }

void neighbour_facts(const ScanResult& scan, const Incident& incident, Facts& facts) {
  if (incident.oom.kind != OomKind::device) return;
  if (facts.find("account.external") != nullptr) return name_by_size(scan, incident, facts);
  std::vector<const Series*> others = find_last_list(scan, incident);
  // Without this process in the list, none of the others is known to be foreign, or to share its GPU.
  const auto own =
      std::find_if(others.begin(), others.end(), [&](const Series* s) { return s->origin.pid == incident.origin.pid; });
  if (own == others.end()) return;
  const Series& self = **own;
  std::erase_if(others, [&](const Series* s) { return s == &self || s->origin.device != self.origin.device; });
  if (others.empty()) return;
  const Bytes sum{whole_number(sum_of(others)), 0};
  const auto by_size = [](const Series* a, const Series* b) { return a->last_value < b->last_value; };
  const std::vector<Evidence> here{(*std::max_element(others.begin(), others.end(), by_size))->last_evidence};
  facts.set("account.external", sum, here);
  name_holders(others, facts);
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
