// The parts of oomdoctor run where the system gives nothing more: full disks, readers that are slow or gone, probes
// that hang or crash, names that somebody else has taken.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "run/bounded_rows.h"
#include "run/frame_queue.h"
#include "run/group_witness.h"
#include "run/inherited.h"
#include "run/kept_output.h"
#include "run/output_ring.h"
#include "run/probe.h"
#include "run/process.h"
#include "run/run_folder.h"
#include "run/sink.h"
#include "temporary_folder.h"

namespace oomdoctor {
namespace {

namespace fs = std::filesystem;
const std::string mark = "oomdoctor run 1234: ";

RunFolder opened(const testing::TemporaryFolder& folder, const std::string& name = "") {
  const std::string path = folder.at(name);
  return {Descriptor(open(path.c_str(), O_DIRECTORY | O_RDONLY)), path};
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Files of this process cannot become larger, as if the disk were full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

template <typename Condition>
bool becomes_true(Condition condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    usleep(10'000);
  }
  return false;
}

/// Runs `work` in a process of its own. Its status, as waitpid() gives it.
template <typename Work>
int status_of(Work work) {
  const pid_t process = run_beside(work);
  int status = -1;
  waitpid(process, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a queue of frames is a queue that loses its oldest frames when it is full") {
  std::mt19937 random(7);  // the same numbers each time
  for (const std::size_t capacity : {std::size_t{64}, std::size_t{1000}, std::size_t{4096}}) {
    constexpr std::size_t overhead = 4;
    FrameQueue queue(capacity);
    std::deque<std::string> model;
    std::size_t used = 0;
    for (int i = 0; i < 20000; ++i) {
      if (random() % 5 < 2 && !model.empty()) {
        used -= model.front().size() + overhead;
        model.pop_front();
        queue.pop();
      } else {
        const std::string body(random() % (capacity / (random() % 4 + 1) + 8), static_cast<char>('a' + i % 26));
        const std::string head = std::to_string(i % 10);
        std::size_t gone = 0;
        if (head.size() + body.size() + overhead > capacity) {
          gone = head.size() + body.size();
        } else {
          while (used + head.size() + body.size() + overhead > capacity) {
            gone += model.front().size();
            used -= model.front().size() + overhead;
            model.pop_front();
          }
          model.push_back(head + body);
          used += model.back().size() + overhead;
        }
        REQUIRE(queue.push(head, body) == gone);
      }
      REQUIRE(queue.empty() == model.empty());
      if (model.empty()) continue;
      const auto [first, second] = queue.front();
      REQUIRE(std::string(first) + std::string(second) == model.front());
    }
  }
}

TEST_CASE("the ring gives all output, in order, or counts the bytes of the oldest that went") {
  OutputRing ring;
  std::mt19937 random(11);  // the same numbers each time
  std::deque<std::string> model;
  std::int64_t missing = 0;
  std::vector<OutputRing::Slot> held;  // by the relay, whose reader is slow
  for (int i = 0; i < 20000; ++i) {
    // Floods and quiet times in turns.
    if (random() % 1000 < (i / 2000 % 2 == 0 ? 600u : 100u)) {
      const auto output = ring.pop();
      REQUIRE(output.has_value() == !model.empty());
      if (!output) continue;
      REQUIRE(output->stream == model.front().size() % 3);
      REQUIRE(output->text == model.front());
      model.pop_front();
      ring.release(output->slot);
      continue;
    }
    std::int64_t gone = 0;
    const auto room = ring.take();
    REQUIRE(room);
    REQUIRE(room->bytes.size() >= OutputRing::least_room);
    for (gone = ring.take_missing(); gone > 0; model.pop_front()) {
      missing += static_cast<std::int64_t>(model.front().size());
      gone -= static_cast<std::int64_t>(model.front().size());
    }
    REQUIRE(gone == 0);
    const std::size_t size = random() % (random() % 2 == 0 ? 100 : room->bytes.size()) + 1;
    const std::string text(size, static_cast<char>('a' + i % 26));
    text.copy(room->bytes.data(), text.size());
    ring.push(*room, text.size() % 3, text.size());
    model.push_back(text);
    held.push_back(room->slot);
    if (held.size() <= 3) continue;
    ring.release(held.front());
    held.erase(held.begin());
  }
  CHECK(missing > 0);
}

TEST_CASE("the ring loses nothing between two threads but what it counts") {
  OutputRing ring;
  constexpr int count = 20000;
  std::atomic<bool> ended = false;
  std::int64_t sent = 0, came = 0;
  std::thread relay([&] {
    for (int i = 0; i < count; ++i) {
      const auto room = ring.take();
      if (!room) continue;
      std::memcpy(room->bytes.data(), &i, sizeof i);
      ring.push(*room, 1, sizeof i);
      ring.release(room->slot);
      sent += std::int64_t{sizeof i};
    }
    ended = true;
  });
  int last = -1;
  bool in_order = true;
  const auto empty_it = [&] {
    while (const auto output = ring.pop()) {
      int value = 0;
      std::memcpy(&value, output->text.data(), sizeof value);
      in_order &= value > last;
      last = value;
      came += static_cast<std::int64_t>(output->text.size());
      ring.release(output->slot);
    }
  };
  while (!ended) empty_it();
  relay.join();
  empty_it();
  CHECK(in_order);
  CHECK(last == count - 1);
  CHECK(came + ring.take_missing() == sent);
}

TEST_CASE("the ring holds the last 16 MiB of a flood, whatever the size of its pieces") {
  const std::size_t size =
      GENERATE(std::size_t{500}, std::size_t{5000}, OutputRing::least_room, OutputRing::slot_bytes);
  OutputRing ring;
  constexpr std::size_t flood = 64 << 20;
  for (std::size_t sent = 0; sent < flood;) {
    const auto room = ring.take();
    const std::size_t piece = std::min(size, room->bytes.size());
    ring.push(*room, 0, piece);
    ring.release(room->slot);
    sent += piece;
  }
  std::size_t held = 0;
  while (const auto output = ring.pop()) {
    held += output->text.size();
    ring.release(output->slot);
  }
  CHECK(held >= 16 << 20);
  CHECK(static_cast<std::size_t>(ring.take_missing()) + held >= flood);
}

TEST_CASE("the relay learns once that the recorder sleeps") {
  OutputRing ring;
  const auto push = [&] {
    const auto room = ring.take();
    const bool asleep = ring.push(*room, 0, 1);
    ring.release(room->slot);
    return asleep;
  };
  CHECK_FALSE(push());
  CHECK_FALSE(ring.fall_asleep());
  ring.release(ring.pop()->slot);
  CHECK(ring.fall_asleep());
  CHECK(push());
  CHECK_FALSE(push());
}

TEST_CASE("output stays complete when the disk fills up, and comes to the disk when there is room again") {
  const testing::TemporaryFolder folder;
  const RunFolder run = opened(folder);
  const std::size_t room = GENERATE(std::size_t{0}, std::size_t{5000}, std::size_t{25'000});
  KeptOutput kept(run, "output.log", mark, 10'000);
  std::string all;
  {
    const FullDisk full(room);
    for (int i = 0; i < 40; ++i) {
      const std::string piece = std::to_string(i) + std::string(998, '.') + '\n';
      all += piece;
      kept.add(piece);
    }
    kept.join();
    kept.add("last words\n");
    all += "last words\n";
    const std::string text = kept.text() ? *kept.text() : content(folder.at("output.log"));
    CHECK(text.substr(0, 1000) == all.substr(0, 1000));
    CHECK(text.ends_with(all.substr(all.size() - 9000)));
    if (room < 10'000) {
      CHECK(kept.error() == EFBIG);
      CHECK_FALSE(kept.rescue());
    }
  }
  const auto text = kept.text();
  CHECK(kept.rescue());
  if (text) CHECK(content(folder.at("output.log")) == *text);
  CHECK_FALSE(fs::exists(folder.at("output.log.1")));
  CHECK_FALSE(fs::exists(folder.at("output.log.2")));
}

TEST_CASE("what came too fast or did not fit is counted in the output") {
  const testing::TemporaryFolder folder;
  const RunFolder run = opened(folder);
  KeptOutput kept(run, "output.log", mark);
  kept.add("first\n");
  kept.skip(12345);
  kept.add("last\n");
  kept.join();
  CHECK(kept.dropped() == 12345);
  CHECK(content(folder.at("output.log")) ==
        "first\n\n[" + mark + "12345 bytes of output came faster than they could be kept]\nlast\n");
}

TEST_CASE("of a flood, the beginning and the end after its last gap are kept") {
  const testing::TemporaryFolder folder;
  const RunFolder run = opened(folder);
  KeptOutput kept(run, "output.log", mark, 4);
  kept.add("abcdef");
  CHECK(kept.keeps_end());
  kept.skip(100);
  kept.add("uvwxyz");
  kept.join();
  CHECK(kept.dropped() == 102);
  CHECK(content(folder.at("output.log")) ==
        "abcd\n[" + mark + "102 bytes of output between here and there were not kept]\nuvwxyz");
}

TEST_CASE("samples stay in memory when the disk is full") {
  const testing::TemporaryFolder folder;
  const RunFolder run = opened(folder);
  BoundedRows rows(run, "samples.csv", "time,used", 100);
  {
    const FullDisk full(50);
    for (int i = 0; i < 250; ++i) rows.add(std::to_string(i) + ",1", "", 1);
    CHECK(rows.error() == EFBIG);
    CHECK_FALSE(rows.rescue());
  }
  const auto text = rows.text();
  REQUIRE(text);
  CHECK(text->starts_with("time,used\n0,1\n"));
  CHECK(text->ends_with("\n249,1\n"));
  CHECK(rows.rescue());
  CHECK(content(folder.at("samples.csv")) == *text);
}

TEST_CASE("a folder of a run takes over nothing and removes nothing that is not its own") {
  const testing::TemporaryFolder folder;
  fs::create_directory(folder.at("run"));
  const RunFolder run = opened(folder, "run");
  folder.write("victim", "precious");
  folder.write("run/taken", "precious");
  fs::create_symlink("../victim", folder.at("run/link"));
  fs::create_symlink("nowhere", folder.at("run/dangling"));
  fs::create_hard_link(folder.at("victim"), folder.at("run/hard"));
  REQUIRE(mkfifo(folder.at("run/fifo").c_str(), 0600) == 0);
  for (const char* name : {"taken", "link", "dangling", "hard", "fifo"}) {
    CHECK_FALSE(run.create(name).is_open());
    CHECK(errno == EEXIST);
  }
  const Descriptor file = run.create("new");
  struct stat status {};
  REQUIRE((file.is_open() && fstat(file.number(), &status) == 0));
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(run.create("new").is_open() == false);

  CHECK(run.link("latest", "run"));
  CHECK(run.link("latest", "run-2"));
  CHECK(fs::read_symlink(folder.at("run/latest")) == "run-2");
  CHECK_FALSE(run.link("taken", "run"));
  CHECK(content(folder.at("run/taken")) == "precious");

  run.remove_all({"new", "never made"});
  CHECK(fs::exists(folder.at("run/taken")));
  CHECK_FALSE(fs::exists(folder.at("run/new")));
  fs::create_directory(folder.at("empty"));
  const RunFolder empty = opened(folder, "empty");
  fs::rename(folder.at("empty"), folder.at("moved"));
  fs::create_directory(folder.at("empty"));
  empty.remove_all({});
  CHECK(fs::exists(folder.at("empty")));  // another one of that name
}

TEST_CASE("writing to a sink never waits, and changes nothing for its other users") {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string much(1 << 20, 'x');
  SECTION("a pipe") {
    Pipe pipe = Pipe::make();
    Sink sink(pipe.write.number());
    const ssize_t first = sink.write(much);
    CHECK(first > 0);
    CHECK(first < static_cast<ssize_t>(much.size()));
    CHECK(sink.write(much) == 0);
    CHECK((fcntl(pipe.write.number(), F_GETFL) & O_NONBLOCK) == 0);
    std::array<char, 8192> some;
    REQUIRE(read(pipe.read.number(), some.data(), some.size()) == static_cast<ssize_t>(some.size()));
    CHECK(sink.write(much) > 0);
    pipe.read.close();
    CHECK(sink.write(much) == -1);
    CHECK(errno == EPIPE);
  }
  SECTION("a socket") {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    const Descriptor ours(ends[0]);
    Descriptor theirs(ends[1]);
    Sink sink(ours.number());
    while (sink.write(much) > 0) continue;
    CHECK(sink.write(much) == 0);
    CHECK((fcntl(ours.number(), F_GETFL) & O_NONBLOCK) == 0);
    theirs.close();
    CHECK(sink.write(much) == -1);
    CHECK((errno == EPIPE || errno == ECONNRESET));
  }
  SECTION("a device") {
    const Descriptor none(open("/dev/null", O_WRONLY)), full(open("/dev/full", O_WRONLY));
    CHECK(Sink(none.number()).write(much) == static_cast<ssize_t>(much.size()));
    CHECK(Sink(full.number()).write(much) == -1);
    CHECK(errno == ENOSPC);
  }
  SECTION("nothing") { CHECK(Sink(-1).write(much) == -1); }
}

TEST_CASE("a probe costs only its samples") {
  const auto read_all = [](Probe& probe) {
    std::string text;
    CHECK(becomes_true([&] {
      pollfd events{probe.output(), POLLIN, 0};
      if (probe.output() >= 0 && poll(&events, 1, 10) > 0) probe.read(text);
      return probe.output() < 0;
    }));
    return text;
  };
  SECTION("it writes and ends at the end of its orders") {
    Probe probe("numbers", [] {
      char order = 0;
      while (read(STDIN_FILENO, &order, 1) == 1) write_all(STDOUT_FILENO, std::string(3, order));
      return 0;
    });
    probe.write("ab");
    probe.finish();
    CHECK(read_all(probe) == "aaabbb");
    CHECK(probe.problem().empty());
  }
  SECTION("it crashes") {
    Probe probe("numbers", [] {
      write_all(STDOUT_FILENO, "1\n");
      return raise(SIGABRT);
    });
    CHECK(read_all(probe) == "1\n");
    CHECK(probe.problem().find("crashed (SIGABRT)") != std::string::npos);
  }
  SECTION("it finds nothing to be sampled") {
    Probe probe("numbers", [] { return 0; });
    CHECK(read_all(probe).empty());
    CHECK(probe.problem().empty());
  }
  SECTION("it stops in the middle") {
    Probe probe("numbers", [] {
      write_all(STDOUT_FILENO, "1\n");
      return 3;
    });
    read_all(probe);
    CHECK(probe.problem().find("status 3") != std::string::npos);
  }
  SECTION("it hangs, with a child that hangs: both end with it") {
    const testing::TemporaryFolder folder;
    const std::string path = folder.at("child");
    const auto start = std::chrono::steady_clock::now();
    {
      Probe probe("numbers", [&] {
        const pid_t child = run_beside([] { return pause(); });
        std::ofstream(path + ".new") << child << std::endl;
        fs::rename(path + ".new", path);
        return pause();
      });
      REQUIRE(becomes_true([&] { return fs::exists(path); }));
    }
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
    const pid_t child = std::stoi(content(path));
    CHECK(becomes_true([&] {
      const std::string state = content("/proc/" + std::to_string(child) + "/stat");
      return state.empty() || state.find(") Z ") != state.npos;
    }));
  }
}

TEST_CASE("a signal to the group is told from one to the program, also when many come at once") {
  const int status = status_of([] {
    setsid();
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    const Descriptor signals(signalfd(-1, &all, SFD_NONBLOCK));
    GroupWitness witness;
    int wrong = 0;
    for (int round = 0; round < 200; ++round) {
      const bool to_group = round % 3 != 0;
      const std::array<int, 3> sent{SIGTERM, SIGUSR1, SIGRTMIN + round % 20};
      for (const int signal : sent) kill(to_group ? -getpid() : getpid(), signal);
      if (round % 2 == 0) witness.ask();  // before this program has read its own
      signalfd_siginfo got{};
      witness.ask();
      for (std::size_t i = 0; i < sent.size(); ++i) {
        if (read(signals.number(), &got, sizeof got) != sizeof got) ++wrong;
        if (witness.also_got(got) != to_group) ++wrong;
        if (witness.also_got(got)) ++wrong;  // once
      }
      witness.ask();
      witness.ask();
    }
    return std::min(wrong, 100);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("what a program inherits it can give on unchanged") {
  const int status = status_of([] {
    std::signal(SIGCHLD, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    close(STDOUT_FILENO);
    const itimerval later{{0, 0}, {1000, 0}};
    setitimer(ITIMER_REAL, &later, nullptr);

    Inherited state = Inherited::take();
    state.take_timers();
    struct sigaction child {};
    sigaction(SIGCHLD, nullptr, &child);
    itimerval timer{};
    getitimer(ITIMER_REAL, &timer);
    if (child.sa_handler != SIG_DFL || fcntl(STDOUT_FILENO, F_GETFD) < 0 || timerisset(&timer.it_value)) return 1;
    if (!state.is_closed(1) || state.is_closed(2)) return 2;

    std::signal(SIGTERM, SIG_IGN);
    sigfillset(&mask);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    state.give_back();
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    struct sigaction hang_up {
    }, end{};
    sigaction(SIGCHLD, nullptr, &child);
    sigaction(SIGHUP, nullptr, &hang_up);
    sigaction(SIGTERM, nullptr, &end);
    if (child.sa_handler != SIG_IGN || hang_up.sa_handler != SIG_IGN || end.sa_handler != SIG_DFL) return 3;
    if (sigismember(&mask, SIGUSR2) != 1 || sigismember(&mask, SIGTERM) != 0) return 4;
    getitimer(ITIMER_REAL, &timer);
    return fcntl(STDOUT_FILENO, F_GETFD) < 0 && timer.it_value.tv_sec > 900 ? 0 : 5;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace oomdoctor
