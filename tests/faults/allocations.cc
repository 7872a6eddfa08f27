// Fails every allocation in turn: the first, the second, and so on, until a log is read, judged and written without a
// failure. Each time the result is std::bad_alloc or the usual report. The next reading is unaffected, and it leaves no
// more memory allocated than before.
//
// Writers of JSON are left out: their library allocates in destructors and leaks its content if an allocation fails.
// Another test checks from outside how main() reacts.
//
//   oomdoctor_allocation_faults LOG...

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "oomdoctor/diagnose.h"
#include "render/writer.h"

namespace {

/// The number of allocations that still succeed; negative: no failure.
std::atomic<long> left{-1};
/// Allocations that were not yet freed.
std::atomic<long> alive{0};

bool fails() { return left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1, std::memory_order_relaxed) == 0; }

void* allocate(std::size_t size, std::size_t alignment) {
  void* at = nullptr;
  if (!fails())
    at = alignment <= alignof(std::max_align_t)
             ? std::malloc(size > 0 ? size : 1)
             : std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  if (at == nullptr) throw std::bad_alloc();
  alive.fetch_add(1, std::memory_order_relaxed);
  return at;
}

void release(void* at) {
  if (at != nullptr) alive.fetch_sub(1, std::memory_order_relaxed);
  std::free(at);
}

}  // namespace

// Replaces every form that a sanitizer would otherwise define.
void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new[](std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, 0);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* at) noexcept { release(at); }
void operator delete[](void* at) noexcept { release(at); }
void operator delete(void* at, std::size_t) noexcept { release(at); }
void operator delete[](void* at, std::size_t) noexcept { release(at); }
void operator delete(void* at, std::align_val_t) noexcept { release(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { release(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept { release(at); }

namespace oomdoctor::testing {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::array<std::string_view, 4> without_json{"terminal", "junit", "prometheus", "k8s"};

/// The whole pipeline on a log: read, judge, write.
std::string all_of(const std::string& text, std::size_t jobs) {
  Options options;
  options.jobs = jobs;
  const Report report = diagnose({{"train.log", text}}, options);
  std::string out;
  for (const std::string_view name : without_json)
    out += find_writer(name)->write(report, {.width = 80, .color = true, .verbose = true});
  return out;
}

class Turns {
 public:
  Turns(std::string name, std::string text, std::size_t jobs)
      : name_(std::move(name)), text_(std::move(text)), jobs_(jobs), expected_(all_of(text_, jobs_)) {
    for (int i = 0; i < 6; ++i) all_of(text_, jobs_);  // fills the caches and makes all lazy objects
    alive_ = alive;
  }

  /// Fails every `stride`-th allocation; returns false if an invariant broke.
  bool all(long stride) {
    long turn = 0;
    for (; good_ && fail(turn); turn += stride)
      if (turn / stride % look_every == 0) look(turn);
    look(turn);
    std::printf("%s, %zu threads: %ld allocations, every %ld failed\n", name_.c_str(), jobs_, turn, stride);
    return good_;
  }

 private:
  static constexpr long look_every = 64;  ///< a full reading costs as much as many failing ones

  /// Returns false once `turn` is past the last allocation.
  bool fail(long turn) {
    left = turn;
    try {
      const std::string report = all_of(text_, jobs_);
      const bool failed = left.exchange(-1) < 0;
      demand(report == expected_, turn, "another report");
      return failed;
    } catch (const std::bad_alloc&) {
      left = -1;
    } catch (const std::exception& error) {
      left = -1;
      demand(false, turn, error.what());
    }
    return true;
  }

  void look(long turn) {
    demand(all_of(text_, jobs_) == expected_, turn, "another report behind it");
    demand(alive == alive_, turn, "something is left");
  }

  void demand(bool holds, long turn, const char* what) {
    if (!holds) std::fprintf(stderr, "%s: where allocation %ld fails: %s\n", name_.c_str(), turn, what);
    good_ &= holds;
  }

  std::string name_, text_;
  std::size_t jobs_;
  std::string expected_;
  long alive_ = 0;
  bool good_ = true;
};

}  // namespace
}  // namespace oomdoctor::testing

int main(int argc, char** argv) {
  using namespace oomdoctor::testing;
  constexpr long some = 23;  // with several threads, the n-th allocation differs from run to run
  bool good = argc > 1;
  for (int i = 1; i < argc; ++i) {
    good &= Turns(argv[i], content(argv[i]), 1).all(1);
    good &= Turns(argv[i], content(argv[i]), 2).all(some);
  }
  return good ? 0 : 1;
}
