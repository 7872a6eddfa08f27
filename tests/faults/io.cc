// A library to preload: system calls of the program fail, by their number. Processes that the program forks count with
// it; programs that it starts are unaffected.
//
//   OOMDOCTOR_FAIL_CALL    the number of the call that fails, from 0; without it, no call fails
//   OOMDOCTOR_FAIL_CALLS   the names that count, for example "fork,pipe2"; by default open, read, write, fsync, rename
//   OOMDOCTOR_FAIL_TIMES   how many calls fail from this one on; 1 by default, 0 for all
//   OOMDOCTOR_FAIL_WITH    the error; "short" reads or writes a single byte instead
//   OOMDOCTOR_FAILED       a file that the failing call creates, with its name as content. A caller that counts up
//   stops
//                          when the file is missing.
//
// A name covers its variants: "open" is openat and open64 as well. Calls inside of the C library are not seen.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

namespace {

enum class Fault { none, error, one_byte };

std::string taken_from_environment(const char* name, const char* otherwise) {
  const char* given = std::getenv(name);
  std::string value = given != nullptr ? given : otherwise;
  unsetenv(name);  // programs that this one starts are unaffected
  return value;
}

/// Made before the first fork, so that all processes count in the same place.
struct Plan {
  Plan() {
    void* shared = mmap(nullptr, sizeof(std::atomic<long>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) calls = new (shared) std::atomic<long>(0);
  }

  bool counts(std::string_view name) const {
    const std::string list = "," + names + ",";
    return list.find("," + std::string(name) + ",") != std::string::npos;
  }

  const std::string call = taken_from_environment("OOMDOCTOR_FAIL_CALL", "");
  const std::string names = taken_from_environment("OOMDOCTOR_FAIL_CALLS", "open,read,write,fsync,rename");
  const std::string with = taken_from_environment("OOMDOCTOR_FAIL_WITH", "5");
  const std::string failed = taken_from_environment("OOMDOCTOR_FAILED", "");
  const long times = std::atol(taken_from_environment("OOMDOCTOR_FAIL_TIMES", "1").c_str());
  std::atomic<long>* calls = nullptr;
};

const Plan& plan() {
  static const Plan& made = *new Plan;  // destructors of the program may still call
  return made;
}

/// Before main(), so that the program never sees the variables.
[[gnu::constructor]] void make_plan() { plan(); }

void leave_mark(const char* path, std::string_view name) {
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  syscall(SYS_write, file, name.data(), name.size());
  syscall(SYS_close, file);
}

/// Whether this is a call to fail. Sets errno if it fails with an error.
Fault fault(std::string_view name) {
  const Plan& of = plan();
  if (of.call.empty() || of.calls == nullptr || !of.counts(name)) return Fault::none;
  const long number = of.calls->fetch_add(1) - std::atol(of.call.c_str());
  if (number < 0 || (of.times > 0 && number >= of.times)) return Fault::none;
  if (!of.failed.empty()) leave_mark(of.failed.c_str(), name);
  if (of.with == "short") return Fault::one_byte;
  errno = std::atoi(of.with.c_str());
  return Fault::error;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Fails, or calls `symbol` of the C library. `name` is the name that counts.
template <typename Result, typename... Values>
Result passed(const char* name, const char* symbol, Values... values) {
  if (fault(name) == Fault::error) return Result(-1);
  return next<Result(Values...)>(symbol)(values...);
}

/// The same for a call that may move less than all.
template <typename To, typename... Rest>
ssize_t moved(const char* name, const char* symbol, int file, To buffer, std::size_t size, Rest... rest) {
  const Fault how = fault(name);
  if (how == Fault::error) return -1;
  const std::size_t most = how == Fault::one_byte && size > 0 ? 1 : size;
  return next<ssize_t(int, To, std::size_t, Rest...)>(symbol)(file, buffer, most, rest...);
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(rest, unsigned)) : 0;
}

int open_with(const char* symbol, const char* path, int flags, mode_t mode) {
  if (fault("open") == Fault::error) return -1;
  return next<int(const char*, int, ...)>(symbol)(path, flags, mode);
}

int openat_with(const char* symbol, int folder, const char* path, int flags, mode_t mode) {
  if (fault("open") == Fault::error) return -1;
  return next<int(int, const char*, int, ...)>(symbol)(folder, path, flags, mode);
}

}  // namespace

extern "C" {

// The C library's declarations use other parameter names, and mark some parameters as non-null.
ssize_t read(int file, void* to, std::size_t size) { return moved("read", "read", file, to, size); }
ssize_t write(int file, const void* from, std::size_t size) { return moved("write", "write", file, from, size); }
ssize_t pread(int file, void* to, std::size_t size, off_t at) { return moved("pread", "pread", file, to, size, at); }
ssize_t pread64(int file, void* to, std::size_t size, off64_t at) {
  return moved("pread", "pread64", file, to, size, at);
}
ssize_t pwrite(int file, const void* from, std::size_t size, off_t at) {
  return moved("pwrite", "pwrite", file, from, size, at);
}
ssize_t pwrite64(int file, const void* from, std::size_t size, off64_t at) {
  return moved("pwrite", "pwrite64", file, from, size, at);
}
off_t lseek(int file, off_t at, int from) noexcept { return passed<off_t>("lseek", "lseek", file, at, from); }
off64_t lseek64(int file, off64_t at, int from) noexcept { return passed<off64_t>("lseek", "lseek64", file, at, from); }

int fsync(int file) { return passed<int>("fsync", "fsync", file); }
int fdatasync(int file) { return passed<int>("fsync", "fdatasync", file); }
int ftruncate(int file, off_t size) noexcept { return passed<int>("ftruncate", "ftruncate", file, size); }
int ftruncate64(int file, off64_t size) noexcept { return passed<int>("ftruncate", "ftruncate64", file, size); }
int fchmod(int file, mode_t mode) noexcept { return passed<int>("fchmod", "fchmod", file, mode); }

/// Closes, whatever it returns: on Linux the descriptor is gone also after an error.
int close(int file) {
  const Fault how = fault("close");
  const int error = errno;
  const int result = next<int(int)>("close")(file);
  if (how != Fault::error) return result;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) noexcept { return passed<int>("rename", "rename", from, to); }
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return passed<int>("rename", "renameat", from_folder, from, to_folder, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  return passed<int>("rename", "renameat2", from_folder, from, to_folder, to, flags);
}
int unlink(const char* path) noexcept { return passed<int>("unlink", "unlink", path); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  return passed<int>("unlink", "unlinkat", folder, path, flags);
}
int mkdir(const char* path, mode_t mode) noexcept { return passed<int>("mkdir", "mkdir", path, mode); }
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return passed<int>("mkdir", "mkdirat", folder, path, mode);
}
int symlink(const char* target, const char* path) noexcept { return passed<int>("symlink", "symlink", target, path); }
int symlinkat(const char* target, int folder, const char* path) noexcept {
  return passed<int>("symlink", "symlinkat", target, folder, path);
}

int stat(const char* path, struct stat* to) noexcept { return passed<int>("stat", "stat", path, to); }
int stat64(const char* path, struct stat64* to) noexcept { return passed<int>("stat", "stat64", path, to); }
int lstat(const char* path, struct stat* to) noexcept { return passed<int>("stat", "lstat", path, to); }
int fstat(int file, struct stat* to) noexcept { return passed<int>("fstat", "fstat", file, to); }
int fstat64(int file, struct stat64* to) noexcept { return passed<int>("fstat", "fstat64", file, to); }
int fstatat(int folder, const char* path, struct stat* to, int flags) noexcept {
  return passed<int>("stat", "fstatat", folder, path, to, flags);
}
int faccessat(int folder, const char* path, int how, int flags) noexcept {
  return passed<int>("access", "faccessat", folder, path, how, flags);
}

// Not pipe(): oomdoctor does not call it, and a sanitizer does, to ask whether it may read some memory.
int pipe2(int* ends, int flags) noexcept { return passed<int>("pipe", "pipe2", ends, flags); }
int dup2(int from, int to) noexcept { return passed<int>("dup2", "dup2", from, to); }
int dup3(int from, int to, int flags) noexcept { return passed<int>("dup2", "dup3", from, to, flags); }
int fcntl(int file, int what, ...) {
  va_list rest;
  va_start(rest, what);
  void* value = va_arg(rest, void*);
  va_end(rest);
  if (fault("fcntl") == Fault::error) return -1;
  return next<int(int, int, ...)>("fcntl")(file, what, value);
}
int fcntl64(int file, int what, ...) {
  va_list rest;
  va_start(rest, what);
  void* value = va_arg(rest, void*);
  va_end(rest);
  if (fault("fcntl") == Fault::error) return -1;
  return next<int(int, int, ...)>("fcntl64")(file, what, value);
}
int ioctl(int file, unsigned long what, ...) noexcept {
  va_list rest;
  va_start(rest, what);
  void* value = va_arg(rest, void*);
  va_end(rest);
  if (fault("ioctl") == Fault::error) return -1;
  return next<int(int, unsigned long, ...)>("ioctl")(file, what, value);
}
int tcgetattr(int file, termios* to) noexcept { return passed<int>("tcgetattr", "tcgetattr", file, to); }
int tcsetattr(int file, int when, const termios* from) noexcept {
  return passed<int>("tcsetattr", "tcsetattr", file, when, from);
}
int openpty(int* ours, int* theirs, char* name, const termios* settings, const winsize* size) noexcept {
  return passed<int>("openpty", "openpty", ours, theirs, name, settings, size);
}

int poll(pollfd* of, nfds_t count, int milliseconds) { return passed<int>("poll", "poll", of, count, milliseconds); }
int ppoll(pollfd* of, nfds_t count, const timespec* longest, const sigset_t* mask) {
  return passed<int>("poll", "ppoll", of, count, longest, mask);
}
int inotify_init1(int flags) noexcept { return passed<int>("inotify_init1", "inotify_init1", flags); }
int inotify_add_watch(int file, const char* path, std::uint32_t mask) noexcept {
  return passed<int>("inotify_add_watch", "inotify_add_watch", file, path, mask);
}
int signalfd(int file, const sigset_t* mask, int flags) noexcept {
  return passed<int>("signalfd", "signalfd", file, mask, flags);
}

int socketpair(int family, int type, int protocol, int* ends) noexcept {
  return passed<int>("socketpair", "socketpair", family, type, protocol, ends);
}
ssize_t sendmsg(int file, const msghdr* message, int flags) {
  return passed<ssize_t>("sendmsg", "sendmsg", file, message, flags);
}
ssize_t recv(int file, void* to, std::size_t size, int flags) {
  return passed<ssize_t>("recv", "recv", file, to, size, flags);
}

pid_t fork() noexcept { return passed<pid_t>("fork", "fork"); }
pid_t waitpid(pid_t of, int* status, int flags) { return passed<pid_t>("waitpid", "waitpid", of, status, flags); }
pid_t wait4(pid_t of, int* status, int flags, rusage* used) noexcept {
  return passed<pid_t>("waitpid", "wait4", of, status, flags, used);
}
int waitid(idtype_t kind, id_t of, siginfo_t* to, int flags) {
  return passed<int>("waitpid", "waitid", kind, of, to, flags);
}
int kill(pid_t to, int signal) noexcept { return passed<int>("kill", "kill", to, signal); }
int execve(const char* path, char* const* words, char* const* variables) noexcept {
  return passed<int>("execve", "execve", path, words, variables);
}
int execv(const char* path, char* const* words) noexcept { return passed<int>("execve", "execv", path, words); }
int execvp(const char* path, char* const* words) noexcept { return passed<int>("execve", "execvp", path, words); }
/// Returns its error, and leaves errno.
int posix_spawn(pid_t* to, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* how,
                char* const* words, char* const* variables) {
  if (fault("posix_spawn") == Fault::error) return errno;
  return next<int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                  char* const*)>("posix_spawn")(to, path, actions, how, words, variables);
}
void* dlopen(const char* path, int flags) noexcept {
  return fault("dlopen") == Fault::error ? nullptr : next<void*(const char*, int)>("dlopen")(path, flags);
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
