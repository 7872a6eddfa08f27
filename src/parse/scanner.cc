#include "parse/scanner.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "base/parallel.h"
#include "parse/blocks.h"
#include "parse/event_dispatcher.h"
#include "parse/result_merger.h"

namespace oomdoctor {
namespace {

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

  /// Only the lines up to the first header depend on the table that was open before the block.
  void dispatch(WorkerScratch& scratch) {
    Block& block = scratch.block;
    if (block.number == 0 && block.found.open) dispatcher_.open_table(block.found.open);
    std::size_t first = 0;
    if (!alike(block.found.open, dispatcher_.open())) {
      const std::vector<LineMatch>& all = block.found.all;
      while (first < all.size() && all[first].header == nullptr) ++first;
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

}  // namespace

struct Scanner::Impl {
  Impl(std::span<const Parser* const> parsers, PrefilterPlan plan) : registry(parsers, plan) {}

  FormatRegistry registry;
  ScratchPool scratch_pool;
};

Scanner::Scanner(std::span<const Parser* const> parsers, PrefilterPlan plan)
    : impl_(std::make_unique<Impl>(parsers, plan)) {}
Scanner::~Scanner() = default;

ScanResult Scanner::scan(Source& source, const ScanOptions& options) const {
  ScanResult out;
  Input& input = out.inputs.emplace_back();
  input.path = source.name();
  EventDispatcher dispatcher(out);
  BlockReader blocks(source, options.block_bytes);
  ScanPipeline(impl_->registry, impl_->scratch_pool, blocks, dispatcher).run(options.jobs);
  input.lines = out.coverage.lines = dispatcher.finish();
  input.bytes = source.bytes();
  input.compression = source.compression();
  input.truncated = source.truncated();
  if (out.coverage.claimed == 0) input.unreadable = source.unreadable();
  if (const std::string damage = source.damage(); !damage.empty())
    out.notes.push_back({input.truncated ? Severity::warning : Severity::note, damage, {}});
  if (source.encoding() == "screens")
    out.notes.push_back({Severity::note,
                         source.name() + " is a capture of watch: its screens were played back one below the other, "
                                         "and line numbers count their lines",
                         {}});
  else if (!source.encoding().empty() && source.encoding() != "utf-8-bom")
    out.notes.push_back(
        {Severity::note, source.name() + " is " + source.encoding() + "; it was read as text of that encoding", {}});
  if (blocks.console_width() != 0)
    out.notes.push_back({Severity::note,
                         source.name() + " was broken at " + std::to_string(blocks.console_width()) +
                             " columns by a console; its lines were put together again",
                         {}});
  return out;
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

}  // namespace oomdoctor
