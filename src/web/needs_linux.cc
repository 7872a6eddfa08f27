// The program for Node.js starts no processes: it refuses the commands that need them.
#include <fmt/format.h>
#include <spawn.h>

#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "cli/commands.h"
#include "run/inherited.h"

/// The C library of emscripten has none. `oomdoctor ci` then says what it could not do.
extern "C" int posix_spawnp(pid_t* /*process*/, const char* /*program*/, const posix_spawn_file_actions_t* /*actions*/,
                            const posix_spawnattr_t* /*attributes*/, char* const* /*words*/,
                            char* const* /*environment*/) {
  return ENOSYS;
}

namespace oomdoctor {

/// The module of Node.js starts no command, so it has nothing to pass on.
Inherited& inherited() {
  static Inherited state;
  return state;
}

namespace cli {
namespace {

[[noreturn]] int refuse(std::string_view command) {
  throw Error(fmt::format("oomdoctor {} needs Linux, on x86-64 or aarch64: this is the WebAssembly version", command),
              "", "on Linux, npm installs the program itself unless it runs with --no-optional");
}

}  // namespace

int run_run(const Arguments& /*arguments*/) { refuse("run"); }
int run_watch(const Arguments& /*arguments*/) { refuse("watch"); }

}  // namespace cli
}  // namespace oomdoctor
