#include "base/parallel.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>

namespace oomdoctor {
namespace {

constexpr std::size_t ahead_per_job =
    4;  ///< indexes per thread that `work` may run ahead, so that one slow call does not block the other threads

/// The state that the threads share. Threads take the indexes in order; the second step runs in order too. `mutex_`
/// guards all members that are not const.
class OrderedRun {
 public:
  OrderedRun(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
             const std::function<void(std::size_t)>& then)
      : count_(count), window_(jobs * ahead_per_job), work_(work), then_(then), done_(count) {}

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      progressed_.wait(lock, [&] { return next_ >= count_ || failure_ || next_ < delivered_ + window_; });
      if (next_ >= count_ || failure_) return;
      const std::size_t index = next_++;
      lock.unlock();
      std::exception_ptr failed;
      try {
        work_(index);
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      if (failed) record_failure(index, failed);
      done_[index] = true;
      deliver(lock);
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void record_failure(std::size_t index, std::exception_ptr why) {
    if (failure_ && index > failed_index_) return;
    failure_ = std::move(why);
    failed_index_ = index;
    progressed_.notify_all();
  }

  /// Calls `then_` for all consecutive indexes that are ready. Only one thread does this at a time; the others continue
  /// with `work_`. Expects a locked `lock`, and unlocks it during the calls.
  void deliver(std::unique_lock<std::mutex>& lock) {
    if (delivering_) return;
    delivering_ = true;
    while (delivered_ < count_ && done_[delivered_] && !(failure_ && delivered_ >= failed_index_)) {
      const std::size_t index = delivered_;
      lock.unlock();
      std::exception_ptr failed;
      try {
        then_(index);
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      if (failed) record_failure(index, failed);
      ++delivered_;
      progressed_.notify_all();
    }
    delivering_ = false;
  }

  const std::size_t count_, window_;
  const std::function<void(std::size_t)>& work_;
  const std::function<void(std::size_t)>& then_;
  std::mutex mutex_;
  std::condition_variable progressed_;
  std::size_t next_ = 0, delivered_ = 0;
  std::vector<bool> done_;
  bool delivering_ = false;
  std::exception_ptr failure_;
  std::size_t failed_index_ = 0;
};

}  // namespace

std::size_t default_jobs() { return std::max(1U, std::thread::hardware_concurrency()); }

std::vector<std::jthread> start_threads(std::size_t count, const std::function<void()>& body) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) threads.emplace_back(body);
  } catch (const std::system_error&) {  // the threads that did start do the work
  }
  return threads;
}

void for_each_in_order(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
                       const std::function<void(std::size_t)>& then) {
  jobs = std::clamp<std::size_t>(jobs, 1, std::max<std::size_t>(count, 1));
  OrderedRun ordered(count, jobs, work, then);
  {
    const auto threads = start_threads(jobs - 1, [&] { ordered.run(); });
    ordered.run();
  }
  ordered.rethrow();
}

void for_each_index(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work) {
  for_each_in_order(count, jobs, work, [](std::size_t) {});
}

}  // namespace oomdoctor
