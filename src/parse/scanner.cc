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

/// What a thread works with. It is kept for the next source: a short one takes less time than the room for it.
struct WorkerScratch {
  TemplateCache memo;
  Block block;
  BlockMatches front;  ///< of the block's lines up to its first header, where they had to be mapped again
};

class ScratchPool {
 public:
  /// A desk that nobody sits at; given back when the pointer goes.
  auto take() {
    const auto give = [this](WorkerScratch* desk) {
      const std::lock_guard lock(mutex_);
      free_.push_back(desk);  // there is room
    };
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      all_.push_back(std::make_unique<WorkerScratch>());
      free_.reserve(all_.size());
      free_.push_back(all_.back().get());
    }
    std::unique_ptr<WorkerScratch, decltype(give)> desk(free_.back(), give);
    free_.pop_back();
    return desk;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerScratch>> all_;
  std::vector<WorkerScratch*> free_;
};

bool alike(const std::shared_ptr<const OpenTable>& a, const std::shared_ptr<const OpenTable>& b) {
  return a == b || (a && b && *a == *b);
}

/// Workers that take turns: each reads the next block, maps it while others do the same with theirs, and folds it when
/// all before it are folded. Which table is open where a block begins is known for sure only then: where another was
/// taken to be, its lines up to the first header are mapped once more. One of them is the thread that waits for the
/// result.
class ScanPipeline {
 public:
  ScanPipeline(const FormatRegistry& readers, ScratchPool& desks, BlockReader& blocks, EventDispatcher& fold)
      : readers_(readers), desks_(desks), blocks_(blocks), fold_(fold) {}

  /// Throws what reading throws.
  void run(std::size_t jobs) {
    {
      const auto desk = desks_.take();
      std::vector<std::jthread> helpers;
      bool more = step(*desk);
      if (more && jobs > 1 && !blocks_.at_end())  // a short source is not worth a thread
        helpers = start_threads(jobs - 1, [this] { help(); });
      while (more) more = step(*desk);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void help() {
    const auto desk = desks_.take();
    while (step(*desk)) continue;
  }

  bool step(WorkerScratch& desk) {
    Block& block = desk.block;
    try {
      std::shared_ptr<const OpenTable> open;
      {
        const std::lock_guard lock(reading_);
        if (ended_ || !blocks_.read(block)) return !(ended_ = true);
        open = open_;
      }
      if (block.number == 0) open = readers_.sniff(*block.window);
      block.line_ends = map(desk, std::move(open), block.end, block.found);
      std::unique_lock lock(folding_);
      folded_.wait(lock, [&] { return next_ == block.number || failure_; });
      if (failure_) return false;
      fold(desk);
      if (open_ != fold_.open()) {
        const std::lock_guard told(reading_);
        open_ = fold_.open();
      }
      ++next_;
      lock.unlock();
      folded_.notify_all();
      return true;
    } catch (...) {
      const std::scoped_lock lock(reading_, folding_);
      if (!failure_) failure_ = std::current_exception();
      ended_ = true;
      folded_.notify_all();
      return false;
    }
  }

  i64 map(WorkerScratch& desk, std::shared_ptr<const OpenTable> open, std::size_t end, BlockMatches& out) {
    return readers_.map(*desk.block.window, desk.block.begin, end, std::move(open), desk.memo, out);
  }

  void fold(WorkerScratch& desk) {
    Block& block = desk.block;
    if (block.number == 0 && block.found.open) fold_.open_table(block.found.open);
    std::size_t first = 0;
    if (!alike(block.found.open, fold_.open())) {
      const std::vector<LineMatch>& all = block.found.all;
      while (first < all.size() && all[first].header == nullptr) ++first;
      map(desk, fold_.open(), first < all.size() ? all[first].line.begin : block.end, desk.front);
      fold_.add(*block.window, desk.front);
    }
    fold_.add(*block.window, block.found, first);
    fold_.end_block(block);
  }

  const FormatRegistry& readers_;
  ScratchPool& desks_;
  BlockReader& blocks_;
  EventDispatcher& fold_;
  std::mutex reading_, folding_;
  std::condition_variable folded_;
  i64 next_ = 0;  ///< number of the block to be folded next
  bool ended_ = false;
  std::shared_ptr<const OpenTable> open_;  ///< behind the last block folded: most likely behind the next ones, too
  std::exception_ptr failure_;
};

}  // namespace

struct Scanner::Impl {
  Impl(std::span<const Parser* const> parsers, PrefilterPlan plan) : readers(parsers, plan) {}

  FormatRegistry readers;
  ScratchPool desks;
};

Scanner::Scanner(std::span<const Parser* const> parsers, PrefilterPlan plan)
    : impl_(std::make_unique<Impl>(parsers, plan)) {}
Scanner::~Scanner() = default;

ScanResult Scanner::scan(Source& source, const ScanOptions& options) const {
  ScanResult out;
  Input& input = out.inputs.emplace_back();
  input.path = source.name();
  EventDispatcher fold(out);
  BlockReader blocks(source, options.block_bytes);
  ScanPipeline(impl_->readers, impl_->desks, blocks, fold).run(options.jobs);
  input.lines = out.coverage.lines = fold.finish();
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

std::vector<std::string> Scanner::takers(std::string_view text) const {
  const Window window(text);
  std::set<std::string> names;
  TemplateCache memo;
  BlockMatches findings;
  impl_->readers.map(window, 0, text.size(), nullptr, memo, findings);
  for (const LineMatch& f : findings.all)
    names.insert(std::string(f.header != nullptr ? (*f.header)->table->name : f.reader));
  return {names.begin(), names.end()};
}

}  // namespace oomdoctor
