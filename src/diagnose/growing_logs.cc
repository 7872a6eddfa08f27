#include "oomdoctor/growing_logs.h"

#include <utility>

#include "base/bytes.h"
#include "diagnose/pipeline.h"
#include "fold/result_merger.h"
#include "text/followed_file.h"
#include "text/source.h"

namespace oomdoctor {
namespace {

/// A log that grows, and the scan of its beginning.
struct GrowingLog {
  explicit GrowingLog(const std::string& path, const Scanner& scanner)
      : file(std::make_unique<FollowedFile>(path)),
        scan(scanner, Source::of_reader(path, [this_file = file.get()](char* buffer, std::size_t size) {
               return this_file->read(buffer, size);
             })) {}

  std::unique_ptr<FollowedFile> file;  ///< its address is stable
  GrowingScan scan;
};

/// Which bytes a report counts as lost: of a log that goes on, none.
enum class UnreadRest { goes_on, lost };

/// Adds what the file could not give.
void add_losses(const FollowedFile& file, UnreadRest rest, ScanResult& to) {
  const auto lose = [&](std::string what, std::string why) {
    to.lose({.what = std::move(what), .why = std::move(why), .path = file.path()});
  };
  const bool final = rest == UnreadRest::lost;
  if (file.may_lack_end()) lose("the end of an older file of this name", "it was replaced while it could not be read");
  if (!file.problem().empty() && (final || !file.is_missing()))
    lose(file.bytes() == 0 ? "the log" : "the end of the log", file.problem());
  else if (const i64 untaken = final ? file.untaken() : 0; untaken > 0)
    lose("the last " + bytes_text(untaken), "the reading was interrupted");
}

}  // namespace

struct GrowingLogs::Impl {
  explicit Impl(const Options& given) : options(given), rules(given), reader(given.format_files) {}

  /// Takes bytes until a block can be read. Without a free descriptor, it closes the other logs for it.
  bool has_block(GrowingLog& log) {
    const auto take = [&] { return log.file->take(GrowingScan::needed_bytes) >= GrowingScan::needed_bytes; };
    if (take()) return true;
    if (!log.file->lacks_descriptor()) return false;
    close_files();
    return take();
  }

  void close_files() {
    for (GrowingLog& log : logs) log.file->close();
  }

  Report report(UnreadRest rest) {
    ResultMerger merger;
    for (GrowingLog& log : logs) {
      log.file->seal();
      ScanResult scan = reader.finished(log.scan.finish());
      add_losses(*log.file, rest, scan);
      merger.add(std::move(scan));
    }
    return diagnose_scan(merger.take(), rules, options, thread_count(options)).report;
  }

  Options options;
  Rules rules;
  LogReader reader;
  std::vector<GrowingLog> logs;
  std::size_t next = 0;  ///< the log that gives the next piece, if it has one
};

GrowingLogs::GrowingLogs(const std::vector<std::string>& paths, const Options& options)
    : impl_(std::make_unique<Impl>(options)) {
  for (const std::string& path : paths) impl_->logs.emplace_back(path, impl_->reader.scanner());
}
GrowingLogs::~GrowingLogs() = default;

bool GrowingLogs::read_piece() {
  std::vector<GrowingLog>& logs = impl_->logs;
  for (std::size_t asked = 0; asked < logs.size(); ++asked) {
    GrowingLog& log = logs[impl_->next];
    impl_->next = (impl_->next + 1) % logs.size();
    if (!impl_->has_block(log)) continue;
    log.scan.advance();
    return true;
  }
  return false;
}

std::int64_t GrowingLogs::read() {
  while (read_piece()) continue;
  return bytes();
}

std::int64_t GrowingLogs::bytes() const {
  std::int64_t sum = 0;
  for (const GrowingLog& log : impl_->logs) sum += log.file->bytes();
  return sum;
}

std::int64_t GrowingLogs::unread() const {
  std::int64_t sum = 0;
  for (const GrowingLog& log : impl_->logs) sum += log.file->untaken();
  return sum;
}

std::vector<std::string> GrowingLogs::problems() const {
  std::vector<std::string> found;
  for (const GrowingLog& log : impl_->logs)
    if (const std::string problem = log.file->problem(); !problem.empty() && !log.file->is_missing())
      found.push_back("cannot read '" + log.file->path() + "': " + problem);
  return found;
}

void GrowingLogs::close_files() { impl_->close_files(); }

Report GrowingLogs::report_so_far() { return impl_->report(UnreadRest::goes_on); }

Report GrowingLogs::conclude(const std::function<bool()>& stop) {
  constexpr int attempts = 3;  // an error of a network file system may be over at once
  const auto stopped = [&] { return stop && stop(); };
  for (int i = 0; i < attempts; ++i) {
    while (!stopped() && read_piece()) continue;
    if (problems().empty()) break;
  }
  // The bytes that wait may take a second to read, and a caller that stops cannot wait.
  for (GrowingLog& log : impl_->logs)
    if (log.file->untaken() > 0 && stopped()) log.file->leave_waiting();
  return impl_->report(UnreadRest::lost);
}

}  // namespace oomdoctor
