#include "oomdoctor/growing_logs.h"

#include "diagnose/pipeline.h"
#include "parse/result_merger.h"
#include "text/followed_file.h"
#include "text/source.h"

namespace oomdoctor {

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

struct GrowingLogs::Impl {
  explicit Impl(const Options& given) : options(given), rules(given), reader(given.format_files) {}

  Options options;
  Rules rules;
  LogReader reader;
  std::vector<GrowingLog> logs;
};

GrowingLogs::GrowingLogs(const std::vector<std::string>& paths, const Options& options)
    : impl_(std::make_unique<Impl>(options)) {
  for (const std::string& path : paths) impl_->logs.emplace_back(path, impl_->reader.scanner());
}
GrowingLogs::~GrowingLogs() = default;

std::int64_t GrowingLogs::read() {
  std::int64_t bytes = 0;
  for (GrowingLog& log : impl_->logs) {
    while (log.file->take(GrowingScan::needed_bytes) >= GrowingScan::needed_bytes) log.scan.advance();
    bytes += log.file->bytes();
  }
  return bytes;
}

Report GrowingLogs::conclude() {
  ResultMerger merger;
  for (GrowingLog& log : impl_->logs) merger.add(impl_->reader.finished(log.scan.finish()));
  return diagnose_scan(merger.take(), impl_->rules, impl_->options, thread_count(impl_->options)).report;
}

}  // namespace oomdoctor
