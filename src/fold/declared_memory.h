// A user's format overrides the shipped parsers for the memory of its lines. Every other event of a shipped parser on
// the same line passes. Two metrics are the same memory if both are device memory or both host memory.
#pragma once

#include <map>

#include "scan/format_registry.h"

namespace oomdoctor {

/// A filter in front of another sink. Call order: begin_block() for each block, then route() for each line.
class DeclaredMemory final : public EventSink {
 public:
  /// Collects the lines that users' formats matched. Call it before any match of the block is emitted. The matches
  /// count lines from the start of the block, which has `lines_before` it.
  void begin_block(const BlockMatches& found, i64 lines_before);
  /// The sink for a shipped parser on this line: `to`, or this filter in front of it.
  EventSink& route(i64 line, EventSink& to);

  void reading(const Reading& reading, std::optional<double> step, std::optional<double> time) override;
  void at(const Origin& where) override { to_->at(where); }
  void oom(Oom oom) override { to_->oom(std::move(oom)); }
  void step(const Step& step) override { to_->step(step); }
  void setting(std::string_view name, std::string_view value) override { to_->setting(name, value); }
  void exit(const Exit& exit) override { to_->exit(exit); }
  void remark(std::string_view id, std::optional<double> number) override { to_->remark(id, number); }
  void lost(LostEvidence evidence) override { to_->lost(std::move(evidence)); }
  void claim_through(i64 line) override { to_->claim_through(line); }
  void cite(const Line& line) override { to_->cite(line); }

 private:
  struct MemoryKinds {
    bool device = false, host = false;
  };
  std::map<i64, MemoryKinds> lines_;
  MemoryKinds here_;
  EventSink* to_ = nullptr;
};

}  // namespace oomdoctor
