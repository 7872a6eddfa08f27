#include "evidence/evidence_reader.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "evidence/pickle_reader.h"
#include "evidence/snapshot_findings.h"
#include "evidence/snapshot_json.h"
#include "evidence/snapshot_page.h"

namespace oomdoctor {
namespace {

/// The note about a file that is not, or not wholly, read.
Note problem_note(const std::string& path, const SnapshotProblem& problem) {
  Note note{.severity = problem.kind == SnapshotProblemKind::not_a_snapshot ? Severity::note : Severity::warning,
            .text = fmt::format("{} was not read as an allocator snapshot: {}", path, problem.text),
            .at = Evidence{},
            .code = std::string(to_string(problem.kind))};
  note.at->span.offset = problem.offset.value_or(0);
  return note;
}

/// "PK" of a zip archive, as torch.save writes a checkpoint.
bool begins_checkpoint(std::string_view first) {
  return first.starts_with("PK\x03\x04") && first.substr(0, 256).find("data.pkl") != first.npos;
}

/// Reads one file.
class SnapshotReading {
 public:
  explicit SnapshotReading(Source& source)
      : source_(source), bytes_([&source](TextBuffer& out, std::size_t wanted) { return source.read(out, wanted); }) {}

  ScanResult run() {
    Input& input = out_.inputs.emplace_back();
    input.path = source_.name();
    try {
      SnapshotFile file = read();
      file.path = input.path;
      file.cut = source_.truncated();
      out_.snapshots = analyse_snapshot(file);
      input.kind = "snapshot";
      if (!builder_.unknown().empty()) add_unknown(input.path);
    } catch (const SnapshotProblem& problem) {
      out_.notes.push_back(problem_note(input.path, problem));
      input.unreadable = "not an allocator snapshot that oomdoctor can read";
    }
    drain();
    input.bytes = source_.bytes();
    input.compression = source_.compression();
    input.truncated = source_.truncated();
    return std::move(out_);
  }

 private:
  SnapshotFile read() {
    const std::string_view first = source_.peek();
    if (begins_checkpoint(first))
      throw SnapshotProblem{SnapshotProblemKind::not_a_snapshot,
                            "it is a zip archive, as torch.save writes a checkpoint", 0};
    if (begins_pickle(first)) return read_pickle_file(bytes_, SnapshotForm::pickle);
    if (begins_snapshot_page(first)) {
      ByteStream content = open_snapshot_page(bytes_);
      return read_pickle_file(content, SnapshotForm::html);
    }
    const SnapshotValue top = read_snapshot_json(bytes_, builder_);
    SnapshotFile file = builder_.take(top);
    file.form = SnapshotForm::json;
    return file;
  }

  SnapshotFile read_pickle_file(ByteStream& in, SnapshotForm form) {
    const PickleResult pickle = read_pickle(in, builder_);
    const std::int64_t end = in.offset();
    SnapshotFile file = builder_.take(pickle.top);
    file.form = form;
    file.protocol = pickle.protocol;
    while (in.ensure(1)) {
      const std::string_view rest = in.available();
      if (rest.find_first_not_of('\0') != rest.npos) {
        add_note(
            "snapshot_trailing",
            fmt::format("{} continues after the STOP of its pickle; oomdoctor did not read the rest", source_.name()),
            end);
        break;
      }
      in.skip(rest.size());
    }
    return file;
  }

  void add_note(std::string code, std::string text, std::optional<i64> offset) {
    Note note{.severity = Severity::note, .text = std::move(text), .at = Evidence{}, .code = std::move(code)};
    note.at->span.offset = offset.value_or(0);
    out_.notes.push_back(std::move(note));
  }

  void add_unknown(const std::string& path) {
    constexpr std::size_t most = 8;
    std::vector<std::string> names(builder_.unknown().begin(), builder_.unknown().end());
    if (names.size() > most) names.resize(most);
    add_note("snapshot_unknown",
             fmt::format("{} has what this version of oomdoctor does not know, and skipped: {}", path,
                         fmt::join(names, ", ")),
             {});
  }

  /// Reads what is left, so that the size is known and a writer gets no error.
  void drain() {
    TextBuffer rest;
    while (source_.read(rest, 1 << 20)) rest.cut(0);
  }

  Source& source_;
  ByteStream bytes_;
  SnapshotBuilder builder_;
  ScanResult out_;
};

}  // namespace

bool is_snapshot(std::string_view first) {
  constexpr std::size_t look = 1024;
  constexpr auto words = std::to_array<std::string_view>({"segments", "device_traces", "total_size"});
  if (begins_pickle(first))
    return std::any_of(words.begin(), words.end(),
                       [&](auto word) { return first.substr(0, look).find(word) != first.npos; });
  return begins_snapshot_json(first) || begins_snapshot_page(first);
}

bool is_evidence(std::string_view first) {
  return begins_pickle(first) || begins_checkpoint(first) || begins_snapshot_json(first) || begins_snapshot_page(first);
}

ScanResult read_evidence(Source& source) { return SnapshotReading(source).run(); }

}  // namespace oomdoctor
