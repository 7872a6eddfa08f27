// What a user's format says about a line's memory counts alone: a shipped reader that takes the same line, too, is
// heard in all but that. "The same memory" is the device's or the host's, however a reader calls it.
#pragma once

#include <map>

#include "parse/format_registry.h"

namespace oomdoctor {

class DeclaredMemory final : public EventSink {
 public:
  /// The lines that users' formats took, before any reader of the same block tells what it found.
  void begin_block(const BlockMatches& found);
  /// What a shipped reader of this line tells: `to`, or this in front of it.
  EventSink& beside(i64 line, EventSink& to);

  void reading(const Reading& reading, std::optional<double> step, std::optional<double> time) override;
  void at(const Origin& where) override { to_->at(where); }
  void oom(Oom oom) override { to_->oom(std::move(oom)); }
  void step(const Step& step) override { to_->step(step); }
  void setting(std::string_view name, std::string_view value) override { to_->setting(name, value); }
  void exit(const Exit& exit) override { to_->exit(exit); }
  void remark(std::string_view id, std::optional<double> number) override { to_->remark(id, number); }
  void claim_through(i64 line) override { to_->claim_through(line); }

 private:
  struct Memory {
    bool device = false, host = false;
  };
  std::map<i64, Memory> lines_;
  Memory here_;
  EventSink* to_ = nullptr;
};

}  // namespace oomdoctor
