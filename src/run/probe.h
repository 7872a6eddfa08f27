// A process that takes samples for the recorder, in a process group of its own: if it crashes, hangs or is slow, only
// its samples are missing.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "run/process.h"

namespace oomdoctor {

class Probe {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts `work`, which writes to standard output what it finds, and may read standard input. `name` is for
  /// sentences.
  template <typename Work>
  Probe(std::string name, Work work) : name_(std::move(name)) {
    Pipe samples = Pipe::make(), orders = Pipe::make();
    if (!samples.is_open() || !orders.is_open()) return;
    const pid_t parent = getpid();
    process_ = run_beside([&] {
      enter(parent, orders.read.number(), samples.write.number());
      return work();
    });
    if (process_ > 0) begin(std::move(samples.read), std::move(orders.write));
  }
  /// Ends it, with all processes that it started.
  ~Probe();
  Probe(const Probe&) = delete;

  /// Can be read when there is something; negative if it has ended.
  int output() const { return output_.number(); }
  /// Appends what it has written to `out`.
  void read(std::string& out);
  void write(std::string_view order);
  /// Nothing follows: it takes its last sample and ends.
  void finish() { orders_.close(); }
  /// Ends it if it has been silent for too long.
  void check();
  const std::string& name() const { return name_; }
  /// Why samples are missing, in words; "" if none are.
  const std::string& problem() const { return problem_; }

 private:
  static void enter(pid_t parent, int input, int output);
  void begin(Descriptor output, Descriptor orders);
  void end(bool hung);

  std::string name_, problem_;
  pid_t process_ = -1;
  Descriptor output_{-1}, orders_{-1};
  bool wrote_ = false;
  Clock::time_point last_{};
};

}  // namespace oomdoctor
