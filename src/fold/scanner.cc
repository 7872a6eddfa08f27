#include "fold/scanner.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "base/parallel.h"
#include "fold/event_dispatcher.h"
#include "fold/result_merger.h"
#include "scan/blocks.h"

namespace oomdoctor {
namespace {

/// Bytes of a block of a source that is still being written. Small, because many sources may grow at a time.
constexpr std::size_t growing_block = 1 << 17;

/// The buffers of one thread. They are reused for the next source: allocating them takes longer than reading a short
/// source.
struct WorkerScratch {
  TemplateCache cache;
  Block block;
  BlockMatches front;  ///< the block's lines up to its first header, if they were mapped again
};

/// Lends each WorkerScratch to one thread at a time. Thread-safe.
class ScratchPool {
 public:
  /// An unused WorkerScratch. The pointer's deleter returns it to the pool.
  auto take() {
    const auto release = [this](WorkerScratch* scratch) {
      const std::lock_guard lock(mutex_);
      free_.push_back(scratch);  // cannot throw: take() has reserved the space
    };
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      all_.push_back(std::make_unique<WorkerScratch>());
      free_.reserve(all_.size());
      free_.push_back(all_.back().get());
    }
    std::unique_ptr<WorkerScratch, decltype(release)> scratch(free_.back(), release);
    free_.pop_back();
    return scratch;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerScratch>> all_;
  std::vector<WorkerScratch*> free_;
};

/// True if both are the same table, or both are none.
bool alike(const std::shared_ptr<const OpenTable>& a, const std::shared_ptr<const OpenTable>& b) {
  return a == b || (a && b && *a == *b);
}

/// True for a table whose rows showed more than its header says: a line with this header opens it while it is open.
bool is_known_by_rows(const std::shared_ptr<const OpenTable>& table) { return table && !table->layout.header.empty(); }

/// Workers that each read the next block, map it in parallel, and fold it in the order of the blocks. The calling
/// thread is one of them.
///
/// Which table is open at the start of a block is certain only after all blocks before it are folded. If the guess was
/// wrong, the worker maps the block's lines up to its first header again.
class ScanPipeline {
 public:
  ScanPipeline(const FormatRegistry& registry, ScratchPool& scratch_pool, BlockReader& blocks,
               EventDispatcher& dispatcher)
      : registry_(registry), scratch_pool_(scratch_pool), blocks_(blocks), dispatcher_(dispatcher) {}

  /// Rethrows the first exception of any worker.
  void run(std::size_t jobs) {
    {
      const auto scratch = scratch_pool_.take();
      std::vector<std::jthread> helpers;
      bool more = step(*scratch);
      if (more && jobs > 1 && !blocks_.at_end())  // a short source is not worth a thread
        helpers = start_threads(jobs - 1, [this] { help(); });
      while (more) more = step(*scratch);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Reads one block on the calling thread. False at the end.
  bool run_block() {
    const bool more = step(*scratch_pool_.take());
    if (failure_) std::rethrow_exception(failure_);
    return more;
  }

 private:
  void help() {
    const auto scratch = scratch_pool_.take();
    while (step(*scratch)) continue;
  }

  /// Reads, maps and folds one block. False at the end of the source or after a failure. Lock order:
  /// dispatch_mutex_ before read_mutex_.
  bool step(WorkerScratch& scratch) {
    Block& block = scratch.block;
    try {
      std::shared_ptr<const OpenTable> open;
      {
        const std::lock_guard lock(read_mutex_);
        if (ended_ || !blocks_.read(block)) return !(ended_ = true);
        open = open_;
      }
      if (block.number == 0) open = registry_.sniff(*block.window);
      block.line_ends = map(scratch, std::move(open), block.end, block.found);
      std::unique_lock lock(dispatch_mutex_);
      dispatched_.wait(lock, [&] { return next_block_ == block.number || failure_; });
      if (failure_) return false;
      dispatch(scratch);
      if (open_ != dispatcher_.open()) {
        const std::lock_guard read_lock(read_mutex_);
        open_ = dispatcher_.open();
      }
      ++next_block_;
      lock.unlock();
      dispatched_.notify_all();
      return true;
    } catch (...) {
      const std::scoped_lock lock(read_mutex_, dispatch_mutex_);
      if (!failure_) failure_ = std::current_exception();
      ended_ = true;
      dispatched_.notify_all();
      return false;
    }
  }

  i64 map(WorkerScratch& scratch, std::shared_ptr<const OpenTable> open, std::size_t end, BlockMatches& out) {
    return registry_.map(*scratch.block.window, scratch.block.begin, end, std::move(open), scratch.cache, out);
  }

  /// Only the lines up to the first header depend on the table that was open before the block, unless that table may be
  /// what this header opens.
  void dispatch(WorkerScratch& scratch) {
    Block& block = scratch.block;
    if (block.number == 0 && block.found.open) dispatcher_.open_table(block.found.open);
    std::size_t first = 0;
    if (!alike(block.found.open, dispatcher_.open())) {
      const std::vector<LineMatch>& all = block.found.all;
      const bool by_header = !is_known_by_rows(block.found.open) && !is_known_by_rows(dispatcher_.open());
      while (first < all.size() && !(by_header && all[first].header != nullptr)) ++first;
      map(scratch, dispatcher_.open(), first < all.size() ? all[first].line.begin : block.end, scratch.front);
      dispatcher_.add(*block.window, scratch.front);
    }
    dispatcher_.add(*block.window, block.found, first);
    dispatcher_.end_block(block);
  }

  const FormatRegistry& registry_;
  ScratchPool& scratch_pool_;
  BlockReader& blocks_;
  EventDispatcher& dispatcher_;
  std::mutex read_mutex_, dispatch_mutex_;
  std::condition_variable dispatched_;
  i64 next_block_ = 0;  ///< the block to fold next
  bool ended_ = false;
  std::shared_ptr<const OpenTable> open_;  ///< after the last folded block; the best guess for the next ones
  std::exception_ptr failure_;
};

/// The reading of one source, from its first block to its result.
class SourceScan {
 public:
  SourceScan(const FormatRegistry& registry, ScratchPool& scratch_pool, Source& source, std::size_t block_bytes)
      : source_(source),
        dispatcher_(out_),
        blocks_(source, block_bytes),
        pipeline_(registry, scratch_pool, blocks_, dispatcher_) {
    out_.inputs.emplace_back().path = source.name();
  }
  SourceScan(const SourceScan&) = delete;

  ScanPipeline& pipeline() { return pipeline_; }
  /// The result, after the last block.
  ScanResult conclude();

 private:
  Source& source_;
  ScanResult out_;
  EventDispatcher dispatcher_;
  BlockReader blocks_;
  ScanPipeline pipeline_;
};

ScanResult SourceScan::conclude() {
  Input& input = out_.inputs.front();
  input.lines = out_.coverage.lines = dispatcher_.finish();
  input.bytes = source_.bytes();
  input.compression = source_.compression();
  input.truncated = source_.truncated();
  if (out_.coverage.claimed == 0) input.unreadable = source_.unreadable();
  const auto note = [&](Severity severity, std::string text) { out_.notes.push_back({severity, std::move(text), {}}); };
  if (input.truncated)
    out_.lose({.what = "the rest of the log", .why = source_.missing_because(), .path = input.path});
  else if (!input.unreadable.empty() && input.unreadable != "empty")
    out_.lose({.what = "the log", .why = input.unreadable, .path = input.path});
  if (const std::string damage = source_.damage(); !damage.empty()) note(Severity::note, damage);
  if (const i64 holes = source_.holes(); holes > 0)
    note(Severity::note,
         source_.name() + " has holes of " + bytes_text(holes) + " that no program wrote; they were skipped");
  if (source_.encoding() == "screens")
    note(Severity::note, source_.name() +
                             " is a capture of watch: its screens were played back one below the other, and line "
                             "numbers count their lines");
  else if (source_.encoding() == "prometheus-json")
    note(Severity::note, source_.name() +
                             " is an answer of Prometheus's HTTP API: its values were written in Prometheus's text "
                             "format, and line numbers count these lines");
  else if (source_.encoding() == "json-records")
    note(Severity::note,
         source_.name() + " is one JSON document: each of its records was put on a line, and line numbers count these");
  else if (source_.encoding() == "wandb" || source_.encoding() == "tfevents" || source_.encoding() == "mlflow")
    note(Severity::note, source_.name() +
                             " is a tracker's file: its console and its values were written as lines, and line numbers "
                             "count these lines");
  else if (!source_.encoding().empty() && source_.encoding() != "utf-8-bom")
    note(Severity::note, source_.name() + " is " + source_.encoding() + "; it was read as text of that encoding");
  if (blocks_.console_width() != 0)
    note(Severity::note, source_.name() + " was broken at " + std::to_string(blocks_.console_width()) +
                             " columns by a console; its lines were put together again");
  if (const auto rank = blocks_.rank()) out_.take_rank(*rank);
  return std::move(out_);
}

}  // namespace

struct Scanner::Impl {
  Impl(std::span<const Parser* const> parsers, const PrefilterPlan& plan) : registry(parsers, plan) {}

  FormatRegistry registry;
  ScratchPool scratch_pool;
};

Scanner::Scanner(std::span<const Parser* const> parsers, const PrefilterPlan& plan)
    : impl_(std::make_unique<Impl>(parsers, plan)) {}
Scanner::~Scanner() = default;

ScanResult Scanner::scan(Source& source, const ScanOptions& options) const {
  SourceScan reading(impl_->registry, impl_->scratch_pool, source, options.block_bytes);
  reading.pipeline().run(options.jobs);
  return reading.conclude();
}

ScanResult Scanner::scan(std::vector<Source>& sources, const ScanOptions& options) const {
  ResultMerger joined;
  for (Source& source : sources) joined.add(scan(source, options));
  return joined.take();
}

std::vector<std::string> Scanner::matching_formats(std::string_view text) const {
  const Window window(text);
  std::set<std::string> names;
  TemplateCache cache;
  BlockMatches findings;
  impl_->registry.map(window, 0, text.size(), nullptr, cache, findings);
  for (const LineMatch& f : findings.all)
    names.insert(std::string(f.header != nullptr ? (*f.header)->table->name : f.reader));
  return {names.begin(), names.end()};
}

struct GrowingScan::Impl {
  Impl(Scanner::Impl& scanner, Source&& from)
      : source(std::move(from)), reading(scanner.registry, scanner.scratch_pool, source, growing_block) {}

  Source source;
  SourceScan reading;
};

// A block that runs on to the end of a long line is up to twice as long.
const std::size_t GrowingScan::needed_bytes = LineUnwrapper::head_bytes + 2 * growing_block + Window::margin;

GrowingScan::GrowingScan(const Scanner& scanner, Source source)
    : impl_(std::make_unique<Impl>(*scanner.impl_, std::move(source))) {}
GrowingScan::~GrowingScan() = default;
GrowingScan::GrowingScan(GrowingScan&&) noexcept = default;

void GrowingScan::advance() { impl_->reading.pipeline().run_block(); }

ScanResult GrowingScan::finish() {
  impl_->reading.pipeline().run(1);
  return impl_->reading.conclude();
}

}  // namespace oomdoctor
