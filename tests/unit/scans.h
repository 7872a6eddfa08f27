// Scans of texts that a test makes, and a case in words, so that a test can compare two scans.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fold/scanner.h"

namespace oomdoctor::testing {

inline ScanResult scan_sources(std::vector<Source> sources) { return Scanner(all_parsers()).scan(sources); }

inline ScanResult scan_text(std::string text) {
  std::vector<Source> sources;
  sources.push_back(Source::of_text("test.log", std::move(text)));
  return scan_sources(std::move(sources));
}

inline std::string lines_of(const Evidence& e, i64 shift) {
  return std::to_string(e.span.first_line - shift) + "-" + std::to_string(e.span.last_line - shift) + " " + e.reader +
         " " + e.excerpt + "\n";
}

inline std::string size_of(const std::optional<Bytes>& b) { return b ? " " + std::to_string(b->count) : " ?"; }

inline std::string words_of(const Incident& i, i64 shift) {
  const Oom& o = i.oom;
  std::string out = "incident " + std::string(to_string(o.agent)) + " " + o.message_format;
  for (const auto& b : {o.request, o.capacity, o.free, o.process, o.allocated, o.unallocated, o.limit}) {
    out += size_of(b);
  }
  out += i.handled ? " handled" : " fatal";
  if (i.follows) out += " follows " + std::to_string(*i.follows);
  if (i.origin.rank) out += " rank " + std::to_string(*i.origin.rank);
  if (i.when.step) out += " step " + std::to_string(*i.when.step);
  out += "\n" + lines_of(i.evidence, shift);
  for (const Evidence& e : i.occurrences) out += "again " + lines_of(e, shift);
  for (const Frame& f : o.frames)
    out += f.file + ":" + std::to_string(f.line) + " " + f.function + ": " + f.code + "\n";
  if (i.handled_by) out += "by " + lines_of(*i.handled_by, shift);
  return out;
}

/// The result of a scan in words; `shift` is subtracted from line numbers.
inline std::string words_of(const ScanResult& scan, i64 shift = 0) {
  std::string out;
  for (const Incident& i : scan.incidents) out += words_of(i, shift);
  for (const Series& s : scan.series) {
    out += "series " + std::string(to_string(s.metric)) + " " + s.label + " " + std::to_string(s.n) + " " +
           std::to_string(s.first_value) + " " + std::to_string(s.last_value) + " " + std::to_string(s.last_x) + "\n" +
           lines_of(s.first_evidence, shift) + lines_of(s.last_evidence, shift);
  }
  for (const auto& [name, value] : scan.settings)
    out += name + "=" + value.value + " " + lines_of(value.evidence, shift);
  for (const Event& e : scan.remarks) {
    const auto* remark = std::get_if<Remark>(&e.what);
    out += (remark != nullptr ? remark->id : "exit") + " " + lines_of(e.evidence, shift);
  }
  for (const auto& [id, n] : scan.remark_counts) out += id + " x" + std::to_string(n) + "\n";
  for (const auto& [parser, n] : scan.coverage.by_parser) out += parser + " read " + std::to_string(n) + "\n";
  out +=
      "claimed " + std::to_string(scan.coverage.claimed) + ", progress " + std::to_string(scan.progress_lines) + "\n";
  for (const Note& n : scan.notes) out += "note " + n.text + "\n";
  return out;
}

/// A message in PyTorch 2.9's form. Sizes are in GiB, with two digits.
inline std::string torch_message(const std::string& device = "0", const std::string& request = "2.00",
                                 const std::string& free = "1.12") {
  return "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " + request + " GiB. GPU " + device +
         " has a total capacity of 39.39 GiB of which " + free +
         " GiB is free. Including non-PyTorch memory, this process has 38.26 GiB memory in use. Of the allocated "
         "memory "
         "36.50 GiB is allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but unallocated. If reserved but "
         "unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";
}

}  // namespace oomdoctor::testing
