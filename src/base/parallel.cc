#include "base/parallel.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>

namespace oomdoctor {
namespace {

constexpr std::size_t ahead_per_job = 4;  ///< keeps the threads busy while one of them takes long

/// What the threads share: numbers are handed out in order, and so is what comes after the work.
class Line {
 public:
  Line(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
       const std::function<void(std::size_t)>& then)
      : count_(count), window_(jobs * ahead_per_job), work_(work), then_(then), done_(count) {}

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      room_.wait(lock, [&] { return next_ >= count_ || failure_ || next_ < taken_ + window_; });
      if (next_ >= count_ || failure_) return;
      const std::size_t mine = next_++;
      lock.unlock();
      std::exception_ptr failed;
      try {
        work_(mine);
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      if (failed) fail(mine, failed);
      done_[mine] = true;
      take(lock);
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void fail(std::size_t number, std::exception_ptr why) {
    if (failure_ && number > failed_) return;
    failure_ = std::move(why);
    failed_ = number;
    room_.notify_all();
  }

  /// One thread at a time takes all that is ready; the others go on working meanwhile.
  void take(std::unique_lock<std::mutex>& lock) {
    if (taking_) return;
    taking_ = true;
    while (taken_ < count_ && done_[taken_] && !(failure_ && taken_ >= failed_)) {
      const std::size_t number = taken_;
      lock.unlock();
      std::exception_ptr failed;
      try {
        then_(number);
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      if (failed) fail(number, failed);
      ++taken_;
      room_.notify_all();
    }
    taking_ = false;
  }

  const std::size_t count_, window_;
  const std::function<void(std::size_t)>& work_;
  const std::function<void(std::size_t)>& then_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::size_t next_ = 0, taken_ = 0;
  std::vector<bool> done_;
  bool taking_ = false;
  std::exception_ptr failure_;
  std::size_t failed_ = 0;
};

}  // namespace

std::size_t default_jobs() { return std::max(1U, std::thread::hardware_concurrency()); }

std::vector<std::jthread> start_threads(std::size_t count, const std::function<void()>& body) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) threads.emplace_back(body);
  } catch (const std::system_error&) {  // those that there are do the work
  }
  return threads;
}

void for_each_in_order(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
                       const std::function<void(std::size_t)>& then) {
  jobs = std::clamp<std::size_t>(jobs, 1, std::max<std::size_t>(count, 1));
  Line line(count, jobs, work, then);
  {
    const auto threads = start_threads(jobs - 1, [&] { line.run(); });
    line.run();
  }
  line.rethrow();
}

void for_each_index(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work) {
  for_each_in_order(count, jobs, work, [](std::size_t) {});
}

}  // namespace oomdoctor
