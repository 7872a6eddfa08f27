// What oomdoctor run keeps on disk, and what it reads from the kernel's files. tests/run/ runs it with real commands.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.h"
#include "run/bounded_rows.h"
#include "run/gpu_probe.h"
#include "run/host_memory.h"
#include "run/kept_output.h"
#include "run/run_folder.h"
#include "temporary_folder.h"

namespace oomdoctor {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

constexpr std::size_t unit = 1000;
const std::string mark = "oomdoctor run 1234: ";

RunFolder opened(const testing::TemporaryFolder& folder) {
  const std::string path = folder.at("");
  return {Descriptor(open(path.c_str(), O_DIRECTORY | O_PATH)), path.substr(0, path.size() - 1)};
}

}  // namespace

TEST_CASE("output is kept whole up to three parts, and then its beginning and its end") {
  const testing::TemporaryFolder folder;
  const auto piece = [](std::size_t i) { return std::string(unit - 1, static_cast<char>('a' + i % 26)) + '\n'; };
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{16}, std::size_t{17}, std::size_t{48}, std::size_t{49}, std::size_t{200}}) {
    INFO(count << " units");
    const std::string path = folder.at("output.log");
    fs::remove(path);
    const RunFolder run = opened(folder);
    KeptOutput kept(run, "output.log", mark, 16 * unit);
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
      kept.add(piece(i));
      all += piece(i);
    }
    kept.join();
    kept.add("last words\n");
    all += "last words\n";
    const std::string text = content(path);
    CHECK(kept.error() == 0);
    CHECK_FALSE(kept.text());
    CHECK_FALSE(fs::exists(path + ".1"));
    CHECK_FALSE(fs::exists(path + ".2"));
    if (count <= 48) {
      CHECK(kept.dropped() == 0);
      CHECK((text == all));
      continue;
    }
    const auto dropped = static_cast<std::size_t>(kept.dropped());
    const std::string words =
        "\n[" + mark + std::to_string(dropped) + " bytes of output between here and there were not kept]\n";
    CHECK(text.size() + dropped == all.size() + words.size());
    CHECK((text == all.substr(0, 16 * unit) + words + all.substr(16 * unit + dropped)));
  }
}

TEST_CASE("rows stay bounded, in order, with the first and the peak of each key") {
  const testing::TemporaryFolder folder;
  constexpr std::size_t most = 64, count = 5000;
  constexpr int gpus = 4;
  const std::string path = folder.at("rows.csv");
  const RunFolder run = opened(folder);
  BoundedRows rows(run, "rows.csv", "time,gpu,used", most);
  const auto level = [](std::size_t i, int gpu) {  // peaks at 1234 on GPU 2
    return gpu == 2 && i == 1234 ? 1e9 : static_cast<double>(gpu * 100) + static_cast<double>(i % 7);
  };
  const auto row = [&](std::size_t i, int gpu) {
    return std::to_string(i) + ',' + std::to_string(gpu) + ',' + std::to_string(level(i, gpu));
  };
  for (std::size_t i = 0; i < count; ++i)
    for (int gpu = 0; gpu < gpus; ++gpu) rows.add(row(i, gpu), std::to_string(gpu), level(i, gpu));
  const std::vector<std::string> kept = lines(path);
  CHECK(kept[0] == "time,gpu,used");
  CHECK(kept.size() <= most + 1);
  CHECK(kept.size() > most / 2);
  std::size_t before = 0;
  for (std::size_t i = 1; i < kept.size(); ++i) {
    const std::size_t time = std::stoul(kept[i]);
    CHECK(time >= before);
    before = time;
  }
  for (int gpu = 0; gpu < gpus; ++gpu) {
    CHECK(std::find(kept.begin(), kept.end(), row(0, gpu)) != kept.end());
    CHECK(std::find(kept.begin(), kept.end(), row(count - 1, gpu)) != kept.end());
  }
  CHECK(std::find(kept.begin(), kept.end(), row(1234, 2)) != kept.end());
  CHECK_FALSE(fs::exists(path + ".new"));
}

TEST_CASE("equal rows are thinned like others, not dropped from the front") {
  const testing::TemporaryFolder folder;
  const RunFolder run = opened(folder);
  BoundedRows rows(run, "rows.csv", "time,used", 10);
  for (int i = 0; i < 100; ++i) rows.add(std::to_string(i) + ",5", "", 5);
  const std::vector<std::string> kept = lines(folder.at("rows.csv"));
  CHECK(kept[1] == "0,5");
  CHECK(kept.back() == "99,5");
}

TEST_CASE("memory is that of the process tree, and of the cgroup with the lowest limit") {
  const testing::TemporaryFolder root;
  const auto process = [&](const std::string& pid, const std::string& resident, const std::string& children) {
    root.write("proc/" + pid + "/statm", "9999 " + resident + " 10 5 0 100 0\n");
    root.write("proc/" + pid + "/task/" + pid + "/children", children);
  };
  process("100", "50", "101 102 ");
  process("101", "20", "");
  process("102", "5", "103 ");
  process("103", "7", "");
  root.write("proc/100/task/109/children", "104 ");  // another thread started it
  process("104", "11", "");
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));

  SECTION("version 2: the limit of a group around it") {
    root.write("proc/100/cgroup", "0::/job/step\n");
    root.write("sys/fs/cgroup/job/memory.current", "700\n");
    root.write("sys/fs/cgroup/job/memory.max", "1000\n");
    root.write("sys/fs/cgroup/job/memory.events", "low 0\nhigh 3\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n");
    root.write("sys/fs/cgroup/job/step/memory.current", "600\n");
    root.write("sys/fs/cgroup/job/step/memory.max", "max\n");
    root.write("sys/fs/cgroup/job/step/memory.events", "oom_kill 0\n");
    const HostMemory now = HostProbe(100, root.at("")).read();
    CHECK(now.tree_rss == (50 + 20 + 5 + 7 + 11) * page);
    CHECK(now.cgroup_used == 700);
    CHECK(now.cgroup_limit == 1000);
    CHECK(now.kills == 1);
  }
  SECTION("version 2 without a limit: its own group") {
    root.write("proc/100/cgroup", "0::/job\n");
    root.write("sys/fs/cgroup/memory.current", "900\n");
    root.write("sys/fs/cgroup/job/memory.current", "700\n");
    root.write("sys/fs/cgroup/job/memory.max", "max\n");
    const HostMemory now = HostProbe(100, root.at("")).read();
    CHECK(now.cgroup_used == 700);
    CHECK_FALSE(now.cgroup_limit);
    CHECK_FALSE(now.kills);
  }
  SECTION("a container shows its own group at the top, under a path that only the host has") {
    root.write("proc/100/cgroup", "0::/kubepods/pod1/c1\n");
    root.write("sys/fs/cgroup/memory.current", "700\n");
    root.write("sys/fs/cgroup/memory.max", "1000\n");
    CHECK(HostProbe(100, root.at("")).read().cgroup_limit == 1000);
  }
  SECTION("version 1, where a limit near 2^63 is none") {
    root.write("proc/100/cgroup", "5:cpu,cpuacct:/\n4:memory:/slurm/job_7\n0::/\n");
    const std::string top = "sys/fs/cgroup/memory/";
    root.write(top + "memory.usage_in_bytes", "5000\n");
    root.write(top + "memory.limit_in_bytes", "9223372036854771712\n");
    root.write(top + "slurm/job_7/memory.usage_in_bytes", "700\n");
    root.write(top + "slurm/job_7/memory.limit_in_bytes", "1000\n");
    root.write(top + "slurm/job_7/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    const HostMemory now = HostProbe(100, root.at("")).read();
    CHECK(now.cgroup_used == 700);
    CHECK(now.cgroup_limit == 1000);
    CHECK(now.kills == 2);
  }
  SECTION("nothing is known of a process that is gone") {
    const HostMemory now = HostProbe(4711, root.at("")).read();
    CHECK_FALSE(now.tree_rss);
    CHECK_FALSE(now.cgroup_used);
  }
  SECTION("the machine, and the limits of the process with the most address space") {
    root.write("proc/meminfo",
               "MemTotal:       2000 kB\nMemAvailable:    500 kB\nSwapTotal:         0 kB\nSwapFree:          0 kB\n");
    root.write("proc/vmstat", "oom_kill_disabled 9\noom_kill 3\n");
    root.write("proc/103/statm", "20000 7 1 1 0 1 0\n");
    root.write("proc/103/limits",
               "Limit    Soft Limit  Hard Limit  Units\n"
               "Max data size             unlimited            unlimited            bytes\n"
               "Max address space         409600000            unlimited            bytes\n");
    const HostMemory now = HostProbe(100, root.at("")).read();
    CHECK(now.total == 2000 * 1024);
    CHECK(now.available == 500 * 1024);
    CHECK(now.swap_total == 0);
    CHECK(now.machine_kills == 3);
    CHECK(now.largest_rss == 50 * page);
    CHECK(now.address_space == 20000 * page);
    CHECK(now.address_limit == 409600000);
    CHECK_FALSE(now.data_limit);
  }
}

TEST_CASE("the files of the amdgpu driver become rows") {
  const testing::TemporaryFolder root;
  for (const auto& [card, used] : {std::pair("card0", "1073741824"), {"card1", "2147483648"}}) {
    const std::string folder = std::string("sys/class/drm/") + card + "/device/";
    root.write(folder + "mem_info_vram_used", std::string(used) + '\n');
    root.write(folder + "mem_info_vram_total", "68702699520\n");
  }
  root.write("sys/class/drm/card0-DP-1/device/mem_info_vram_used", "5\n");
  const testing::TemporaryFolder folder;
  const std::string path = folder.write("gpus.csv", "");
  const pid_t process = fork();
  if (process == 0) {
    setenv("PATH", "", 1);  // no other monitor
    dup2(open(path.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
    _exit(print_gpu_rows(root.at("")));
  }
  while (lines(path).size() < 3) usleep(10'000);
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  std::vector<std::string> rows = lines(path);
  rows.resize(3);
  CHECK(rows[0] == "timestamp, index, name, memory.total [MiB], memory.used [MiB]");
  CHECK(rows[1].substr(rows[1].find(',')) == ", 0, AMD GPU, 65520 MiB, 1024 MiB");
  CHECK(rows[2].substr(rows[2].find(',')) == ", 1, AMD GPU, 65520 MiB, 2048 MiB");
  const GpuColumns columns = GpuColumns::of(rows[0]);
  CHECK(find_cell(rows[2], columns.key) == "1");
  CHECK(find_cell(rows[2], columns.used) == "2048 MiB");
}

}  // namespace oomdoctor
