// A library to preload: one call of open, read, write, fsync or rename fails once. OOMDOCTOR_FAIL_CALL is the number
// of the call, from 0. OOMDOCTOR_FAIL_WITH is its error; "short" reads or writes a single byte instead.
// The failing call creates the file OOMDOCTOR_FAILED. A caller that counts up stops when the file is missing.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

enum class Fault { none, error, one_byte };

/// Whether this is the call to fail. Sets errno if it fails with an error.
Fault fault() {
  static std::atomic<long> calls{0};
  static const char* const call = std::getenv("OOMDOCTOR_FAIL_CALL");
  if (call == nullptr || calls.fetch_add(1) != std::atol(call)) return Fault::none;
  if (const char* path = std::getenv("OOMDOCTOR_FAILED")) {
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) syscall(SYS_close, file);
  }
  const char* with = std::getenv("OOMDOCTOR_FAIL_WITH");
  if (with != nullptr && std::strcmp(with, "short") == 0) return Fault::one_byte;
  errno = with != nullptr ? std::atoi(with) : EIO;
  return Fault::error;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(rest, unsigned)) : 0;
}

int open_with(const char* name, const char* path, int flags, mode_t mode) {
  if (fault() == Fault::error) return -1;
  return next<int(const char*, int, ...)>(name)(path, flags, mode);
}

int openat_with(const char* name, int folder, const char* path, int flags, mode_t mode) {
  if (fault() == Fault::error) return -1;
  return next<int(int, const char*, int, ...)>(name)(folder, path, flags, mode);
}

}  // namespace

extern "C" {

// The C library's declarations use other parameter names, and mark some parameters as non-null.
ssize_t read(int file, void* to, std::size_t size) {
  const Fault how = fault();
  if (how == Fault::error) return -1;
  return next<ssize_t(int, void*, std::size_t)>("read")(file, to, how == Fault::one_byte && size > 0 ? 1 : size);
}

ssize_t write(int file, const void* from, std::size_t size) {
  const Fault how = fault();
  if (how == Fault::error) return -1;
  return next<ssize_t(int, const void*, std::size_t)>("write")(file, from, how == Fault::one_byte && size > 0 ? 1 : size);
}

int fsync(int file) { return fault() == Fault::error ? -1 : next<int(int)>("fsync")(file); }

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  if (fault() == Fault::error) return -1;
  return next<int(int, const char*, int, const char*)>("renameat")(from_folder, from, to_folder, to);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_with("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_with("open64", path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return openat_with("openat", folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return openat_with("openat64", folder, path, flags, mode);
}

}  // extern "C"
