#include "run/sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "catch.h"
#include "run/process.h"

namespace oomdoctor {
namespace {

std::string take(int file) {
  std::array<char, 1 << 16> bytes;
  const ssize_t got = read(file, bytes.data(), bytes.size());
  return {bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

Pipe pipe_with(std::string_view text) {
  Pipe pipe = Pipe::make();
  REQUIRE(write(pipe.write.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  fcntl(pipe.read.number(), F_SETFL, O_NONBLOCK);
  return pipe;
}

TEST_CASE("a sink that is a pipe shares what another pipe holds, which keeps it") {
  const Pipe source = pipe_with("step 1\nstep 2\n"), reader = pipe_with("");
  Sink sink(reader.write.number());
  CHECK(sink.share(source.read.number(), 7) == 7);
  CHECK(take(reader.read.number()) == "step 1\n");
  CHECK(sink.share(source.read.number(), 100) == 14);
  CHECK(take(source.read.number()) == "step 1\nstep 2\n");
  CHECK(take(reader.read.number()) == "step 1\nstep 2\n");
  CHECK(sink.share(source.read.number(), 100) == 0);
}

TEST_CASE("a pipe without room shares nothing and does not wait") {
  const Pipe source = pipe_with("last words"), reader = pipe_with("");
  Sink sink(reader.write.number());
  const std::string full(1 << 12, 'x');
  while (sink.write(full) > 0) {
  }
  CHECK(sink.share(source.read.number(), 100) == 0);
  CHECK(take(source.read.number()) == "last words");
}

TEST_CASE("what is no pipe shares nothing") {
  const Pipe source = pipe_with("words"), reader = pipe_with("");
  const Descriptor file(open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK(Sink(file.number()).share(source.read.number(), 100) == 0);
  CHECK(Sink(reader.write.number()).share(file.number(), 100) == 0);
  CHECK(Sink(-1).share(source.read.number(), 100) == 0);
}

}  // namespace
}  // namespace oomdoctor
