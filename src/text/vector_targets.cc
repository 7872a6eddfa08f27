// Detects the machine's instruction sets for the dispatch of Highway. Highway's own library does the same, but it
// measures the machine's clock when it is loaded, which takes as long as reading a short log. So this file defines the
// few functions that its headers need, and the library is not linked.
#include <hwy/base.h>
#include <hwy/targets.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace hwy {
namespace {

std::atomic<int64_t> for_test{0};

/// The sets that the dispatch may choose. Each one requires all features that its code is compiled for. No code is
/// compiled for HWY_AVX3_DL as a whole; here it means HWY_AVX3 with lookups in tables of 128 bytes.
int64_t detect() {
  int64_t targets = HWY_STATIC_TARGET | HWY_EMU128 | HWY_SCALAR;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("ssse3") == 0) return targets;
  targets |= HWY_SSSE3;
  if (__builtin_cpu_supports("sse4.1") == 0 || __builtin_cpu_supports("sse4.2") == 0 ||
      __builtin_cpu_supports("pclmul") == 0 || __builtin_cpu_supports("aes") == 0)
    return targets;
  targets |= HWY_SSE4;
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("bmi") == 0 ||
      __builtin_cpu_supports("bmi2") == 0 || __builtin_cpu_supports("fma") == 0)
    return targets;
  targets |= HWY_AVX2;
  if (__builtin_cpu_supports("avx512f") == 0 || __builtin_cpu_supports("avx512vl") == 0 ||
      __builtin_cpu_supports("avx512dq") == 0 || __builtin_cpu_supports("avx512bw") == 0)
    return targets;
  targets |= HWY_AVX3;
  if (__builtin_cpu_supports("avx512vbmi") != 0) targets |= HWY_AVX3_DL;
#endif
  return targets;
}

}  // namespace

int64_t SupportedTargets() {
  static const int64_t detected = detect();
  const int64_t mocked = for_test.load(std::memory_order_relaxed);
  return mocked != 0 ? mocked : detected;
}

void SetSupportedTargetsForTest(int64_t targets) { for_test.store(targets); }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: ", file, line);
  va_list values;
  va_start(values, format);
  std::vfprintf(stderr, format, values);
  va_end(values);
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace hwy
