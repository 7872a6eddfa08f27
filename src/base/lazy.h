// A value that is made when it is first used, by any thread. A log needs few of the values that might be needed, and
// making all of them takes longer than reading a short log.
#pragma once

#include <atomic>
#include <mutex>

namespace oomdoctor {

/// Not with std::call_once: for an exception that passes through it, the C library loads libgcc_s, or aborts if memory
/// is too short for that.
template <typename T>
class Lazy {
 public:
  Lazy() = default;
  /// A copy has no value yet: what it is made from may change. Only if no thread uses either.
  Lazy(const Lazy&) noexcept {}
  Lazy& operator=(const Lazy&) noexcept {
    delete made_.exchange(nullptr, std::memory_order_relaxed);
    return *this;
  }
  ~Lazy() { delete made_.load(std::memory_order_relaxed); }

  /// `make` returns a T, an equal one for each caller. It must not use another Lazy<T>. If it throws, the next call
  /// tries again.
  template <typename Make>
  const T& get(const Make& make) const {
    if (const T* made = made_.load(std::memory_order_acquire)) return *made;
    const std::scoped_lock lock(making);
    if (made_.load(std::memory_order_relaxed) == nullptr) made_.store(new T(make()), std::memory_order_release);
    return *made_.load(std::memory_order_relaxed);
  }

 private:
  inline static std::mutex making;  ///< one for all: there are many values, and each is made once
  mutable std::atomic<const T*> made_ = nullptr;
};

}  // namespace oomdoctor
