// Distinguishes a signal to our whole process group from one to this program only. The first has reached the command
// already, and must not reach it twice. The witness is a process of the group that blocks every signal and does
// nothing else: what came to it and to us came to all.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <array>
#include <cstdint>

#include "base/descriptor.h"

namespace oomdoctor {

class GroupWitness {
 public:
  /// Starts the witness. All signals must be blocked. Without a process or pipe for it, it has seen nothing.
  GroupWitness();
  /// Ends it.
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;

  /// Asks what the witness has got, and waits a moment for its answer. Call it when this program has got signals.
  void ask();
  /// Whether the witness got this signal from the same sender.
  bool also_got(const signalfd_siginfo& signal);

 private:
  struct Signal {
    std::uint32_t number = 0, sender = 0;
    bool is_old = false;  ///< of an answer before the last one
  };
  static constexpr std::size_t most = 64;
  /// What came since the last question.
  struct Answer {
    std::uint32_t question = 0, count = 0;
    std::array<Signal, most> signals{};
  };
  static void watch(int questions, int answers);

  pid_t pid_ = -1;
  Descriptor questions_{-1}, answers_{-1};
  std::uint32_t question_ = 0;
  std::array<Signal, 2 * most> got_{};  ///< what this program has not got yet, as far as it knows
  std::size_t count_ = 0;
};

}  // namespace oomdoctor
