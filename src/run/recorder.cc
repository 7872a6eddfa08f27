#include "run/recorder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include "run/gpu_probe.h"
#include "run/inherited.h"
#include "run/local_time.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_unfinished = 1 << 16;  ///< bytes of a line of one stream that waits for its end
constexpr std::size_t max_samples = 8192;        ///< more than two hours in full; about a megabyte
constexpr std::size_t max_gpu_rows = 16384;      ///< half an hour of eight GPUs in full; about 2 MB
constexpr std::size_t max_gpu_line = 4096;       ///< bytes; a longer line is not a row of a monitor
constexpr std::int64_t max_behind =
    64 << 20;  ///< bytes of a followed file that are read at once; before them, none are
constexpr std::chrono::milliseconds poll_pause{10};
constexpr int most_outputs = 256;  ///< in a row
/// More of them in a row are a flood. Then it pauses, because its work would slow the command down. The ring takes what
/// comes meanwhile, or the newest of it: only the end of a flood is kept anyway, and is left in the ring until the
/// flood ends.
constexpr int flood_outputs = 4;
constexpr int short_pause = 1, long_pause = 100;  ///< milliseconds
constexpr int most_recv_failures = 100;           ///< of recv() in a row
constexpr int second = 1000;                      ///< milliseconds
constexpr std::string_view sample_header =
    "time,process_tree_rss,cgroup_used,cgroup_limit,shm_used,shm_size,available,total,swap_free";

std::string joined(const std::vector<std::string>& words) {
  constexpr std::size_t longest = 200;
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return out.size() > longest ? out.substr(0, longest) + "…" : out;
}

/// The front of each line of ours in the output: a word that the command does not know, so it cannot print such a line.
std::string make_mark() {
  std::array<unsigned char, 8> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) < 0) {
    const std::int64_t now = std::time(nullptr) * 100'000 + getpid();
    std::memcpy(bytes.data(), &now, bytes.size());
  }
  std::string mark = "oomdoctor run ";
  for (const unsigned char byte : bytes) {
    mark += "0123456789abcdef"[byte >> 4];
    mark += "0123456789abcdef"[byte & 15];
  }
  return mark + ": ";
}

std::string counted(std::int64_t count, const char* noun, const char* plural) {
  return std::to_string(count) + ' ' + (count == 1 ? noun : plural);
}

/// A sample on its way from the probe.
struct SampleFrame {
  std::array<char, 32> time{};
  HostMemory memory;
};

/// In the process of the probe: a sample each second, and one at the end of its orders, which are the number of the
/// command. While the command neither takes nor frees memory, each other second is enough.
int print_host_samples() {
  HostProbe probe(getpid());
  bool known = false;
  std::optional<std::int64_t> resident, space;
  int pause = 0;  // milliseconds
  for (bool more = true; more;) {
    pollfd orders{STDIN_FILENO, POLLIN, 0};
    if (poll(&orders, 1, pause) > 0) {
      pid_t process = 0;
      more = uninterrupted([&] { return read(STDIN_FILENO, &process, sizeof process); }) == sizeof process;
      if (more) probe.set_process(process);
    }
    SampleFrame sample;
    const std::string time = local_time();
    time.copy(sample.time.data(), sample.time.size() - 1);
    sample.memory = probe.read(!known || !more);
    if (!known) sample.memory.tree_rss = sample.memory.largest_rss = sample.memory.address_space = std::nullopt;
    if (!write_all(STDOUT_FILENO, {reinterpret_cast<const char*>(&sample), sizeof sample})) return 0;
    known = true;
    const bool idle = sample.memory.tree_rss == std::exchange(resident, sample.memory.tree_rss) &&
                      sample.memory.address_space == std::exchange(space, sample.memory.address_space);
    pause = idle ? 2 * second : second;
  }
  return 0;
}

/// The last '\n' or '\r'; npos without one.
std::size_t last_line_end(std::string_view text) {
  if (text.empty()) return text.npos;
  const void* const line = memrchr(text.data(), '\n', text.size());
  const std::size_t begin =
      line != nullptr ? static_cast<std::size_t>(static_cast<const char*>(line) - text.data()) : 0;
  const void* const redrawn = memrchr(text.data() + begin, '\r', text.size() - begin);
  if (redrawn != nullptr) return static_cast<std::size_t>(static_cast<const char*>(redrawn) - text.data());
  return line != nullptr ? begin : text.npos;
}

/// Where a new program would write into the file.
std::int64_t place_in(int file) {
  struct stat status {};
  if ((fcntl(file, F_GETFL) & O_APPEND) != 0 && fstat(file, &status) == 0) return status.st_size;
  return std::max<off_t>(lseek(file, 0, SEEK_CUR), 0);
}

}  // namespace

std::vector<std::string> RunFileNames::all() {
  std::vector<std::string> names;
  for (const std::string name : {output, samples, gpus})
    for (const char* end : {"", ".1", ".2", ".new"}) names.push_back(name + end);
  return names;
}

Recorder::Recorder(const RunFolder& folder, const std::vector<std::string>& words, Descriptor socket, OutputRing& ring)
    : folder_(folder),
      command_(joined(words)),
      mark_(make_mark()),
      socket_(std::move(socket)),
      ring_(ring),
      output_(folder, RunFileNames::output, mark_),
      rows_(folder, RunFileNames::samples, std::string(sample_header), max_samples),
      host_("samples of host RAM", print_host_samples),
      gpus_("samples of GPU memory", [] { return print_gpu_rows(); }) {
  say("output of the command: " + command_);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) follow(standard);
}

void Recorder::follow(int standard) {
  const Channel channel = output_channel(standard);
  const std::string name = standard == STDOUT_FILENO ? "standard output" : "standard error";
  struct stat status {
  }, other{};
  if (channel == Channel::direct && fstat(standard, &status) == 0 && S_ISCHR(status.st_mode) &&
      !inherited().is_closed(standard))
    lose(name, "it is a device, which cannot be read");
  if (channel != Channel::followed || fstat(standard, &status) != 0) return;
  for (const Followed& each : followed_)
    if (fstat(each.file.number(), &other) == 0 && other.st_dev == status.st_dev && other.st_ino == status.st_ino)
      return;
  const std::string path = "/proc/self/fd/" + std::to_string(standard);
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) return lose(name, std::strerror(errno));
  followed_.push_back({std::move(file), place_in(standard), static_cast<std::size_t>(standard)});
}

Wanted Recorder::record() {
  const pid_t relay = getppid();
  while (receive()) {
  }
  finish();
  if (end_) return end_->report ? Wanted::report : Wanted::nothing;
  return getppid() == relay ? Wanted::report : Wanted::files;
}

/// Waits for the next things to write down. False when the command has ended.
bool Recorder::receive() {
  std::array<pollfd, 3> events{
      {{socket_.number(), POLLIN, 0}, {host_.output(), POLLIN, 0}, {gpus_.output(), POLLIN, 0}}};
  // The samples wake it, so a file that is read next to the command is never far behind.
  const int longest = ring_.fall_asleep() ? 3 * second : 0;
  if (poll(events.data(), events.size(), longest) < 0) {  // the system has no memory for a moment
    for (pollfd& each : events) each.revents = 0;
    std::this_thread::sleep_for(poll_pause);
  }
  if (events[1].revents != 0) read_host();
  if (events[2].revents != 0) read_gpus();
  host_.check();
  gpus_.check();
  read_followed();
  int outputs = 0;
  const bool flooded = output_.keeps_end() && ring_.missing() > std::exchange(missing_, ring_.missing());
  while (!flooded && outputs < most_outputs && take_output()) ++outputs;  // then the probes have their turn
  if (flooded || outputs > flood_outputs) poll(events.data(), 1, output_.keeps_end() ? long_pause : short_pause);
  if (events[0].revents == 0) return true;
  std::array<char, max_payload + 1> frame;
  for (;;) {
    const ssize_t got = uninterrupted([&] { return recv(socket_.number(), frame.data(), frame.size(), MSG_DONTWAIT); });
    if (got < 0 && errno != EAGAIN && ++failures_ > most_recv_failures) {
      lose("output", std::strerror(errno));
      return false;
    }
    if (got < 0) return true;
    if (got == 0) return false;
    failures_ = 0;
    take(static_cast<FrameKind>(frame[0]), {frame.data() + 1, static_cast<std::size_t>(got) - 1});
    if (end_) return false;
  }
}

bool Recorder::take_output() {
  const auto output = ring_.pop();
  if (const std::int64_t missing = ring_.take_missing(); missing > 0) output_.skip(missing);
  missing_ = 0;
  if (!output) return false;
  keep(output->stream % unfinished_.size(), output->text, false);
  ring_.release(output->slot);
  return true;
}

void Recorder::take(FrameKind kind, std::string_view payload) {
  const auto value = [&](auto& into) { std::memcpy(&into, payload.data(), std::min(sizeof into, payload.size())); };
  switch (kind) {
    case FrameKind::output:
      break;
    case FrameKind::process:
      host_.write(payload);
      break;
    case FrameKind::problem:
      lost_.emplace_back(payload);
      break;
    case FrameKind::end:
      value(end_.emplace());
      break;
  }
}

/// Keeps whole lines, so that two streams do not break each other's.
void Recorder::keep(std::size_t stream, std::string_view text, bool at_end) {
  std::string& rest = unfinished_[stream];
  const std::size_t last = last_line_end(text);
  if (last == text.npos && rest.size() + text.size() < max_unfinished && !at_end) {
    rest += text;
    return;
  }
  const std::size_t whole = at_end || last == text.npos ? text.size() : last + 1;
  output_.add(rest);
  output_.add(text.substr(0, whole));
  rest = text.substr(whole);
}

/// A file that became shorter is read from its beginning: the command has emptied it.
void Recorder::read_followed() {
  std::array<char, 1 << 16> buffer;
  for (Followed& each : followed_) {
    struct stat status {};
    if (fstat(each.file.number(), &status) != 0) continue;
    if (status.st_size < each.at) each.at = 0;
    if (status.st_size - each.at > 2 * max_behind) {
      keep(each.stream, "", true);
      output_.skip(status.st_size - max_behind - each.at);
      each.at = status.st_size - max_behind;
    }
    while (each.at < status.st_size) {
      const ssize_t got =
          uninterrupted([&] { return pread(each.file.number(), buffer.data(), buffer.size(), each.at); });
      if (got <= 0) break;
      keep(each.stream, {buffer.data(), static_cast<std::size_t>(got)}, false);
      each.at += got;
    }
  }
}

void Recorder::read_host() {
  host_.read(host_bytes_);
  SampleFrame sample;
  while (host_bytes_.size() >= sizeof sample) {
    std::memcpy(static_cast<void*>(&sample), host_bytes_.data(), sizeof sample);
    host_bytes_.erase(0, sizeof sample);
    take_sample(sample.time.data(), sample.memory);
  }
}

void Recorder::take_sample(std::string_view time, const HostMemory& now) {
  if (!first_) first_ = now;
  if (!first_->kills) first_->kills = now.kills;
  if (now.kills) kills_ = *now.kills - *first_->kills;
  if (now.machine_kills && first_->machine_kills) machine_kills_ = *now.machine_kills - *first_->machine_kills;
  if (now.available) lowest_available_ = std::min(lowest_available_.value_or(*now.available), *now.available);
  if (now.cgroup_used && now.cgroup_limit.value_or(0) > 0)
    highest_group_share_ = std::max(highest_group_share_.value_or(0),
                                    static_cast<double>(*now.cgroup_used) / static_cast<double>(*now.cgroup_limit));
  if (now.address_space) largest_space_ = std::max(largest_space_.value_or(0), *now.address_space);
  if (!now.tree_rss && last_ && last_->tree_rss) return;  // the command has ended
  last_ = now;
  std::string row(time);
  for (const auto& number : {now.tree_rss, now.cgroup_used, now.cgroup_limit, now.shared_used, now.shared_size,
                             now.available, now.total, now.swap_free})
    row += ',' + (number ? std::to_string(*number) : std::string());
  if (now.tree_rss || now.cgroup_used)
    rows_.add(row, "", static_cast<double>(std::max(now.tree_rss.value_or(0), now.cgroup_used.value_or(0))));
}

void Recorder::read_gpus() {
  gpus_.read(gpu_bytes_);
  std::size_t begin = 0;
  for (std::size_t end = gpu_bytes_.find('\n'); end != gpu_bytes_.npos; end = gpu_bytes_.find('\n', begin)) {
    std::string_view line = std::string_view(gpu_bytes_).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take_gpu_line(line);
    begin = end + 1;
  }
  gpu_bytes_.erase(0, begin);
  if (gpu_bytes_.size() > max_gpu_line) gpu_bytes_.clear();
}

/// A monitor without a GPU prints a sentence instead of a header and rows.
void Recorder::take_gpu_line(std::string_view line) {
  if (line.size() > max_gpu_line) return;
  if (gpu_header_.empty()) {
    gpu_header_ = line;
    return;
  }
  const GpuColumns columns = GpuColumns::of(gpu_header_);
  const std::string_view used = find_cell(line, columns.used);
  if (used.empty()) return;
  if (!gpu_rows_) gpu_rows_.emplace(folder_, RunFileNames::gpus, gpu_header_, max_gpu_rows);
  gpu_rows_->add(line, find_cell(line, columns.key), std::strtod(std::string(used).c_str(), nullptr));
}

void Recorder::lose(std::string what, std::string why) {
  lost_.push_back(std::move(what) + (what.ends_with('s') ? " were lost: " : " was lost: ") + std::move(why));
}

void Recorder::say(const std::string& words) { output_.add(mark_ + words + '\n'); }

/// The last lines of the output: what was lost, the memory at the end, and how the command ended. parsers/run.toml
/// reads them.
void Recorder::finish() {
  constexpr int most_waits = 3;
  host_.finish();  // one sample more, for the kills; the command's memory is free by now
  for (int i = 0; i < most_waits && host_.output() >= 0; ++i) {
    pollfd sample{host_.output(), POLLIN, 0};
    if (poll(&sample, 1, second) > 0) read_host();
  }
  if (gpus_.output() >= 0) read_gpus();
  if (output_.keeps_end() && ring_.missing() > 0) {  // the rest follows the beginning at once
    output_.skip(ring_.take_missing());
    output_.join();
  }
  while (take_output()) {
  }
  read_followed();
  for (std::size_t i = 0; i < unfinished_.size(); ++i) keep(i, "", true);
  output_.join();
  if (output_.lost() > 0) lose("output of " + counted(output_.lost(), "byte", "bytes"), std::strerror(output_.error()));
  for (BoundedRows* rows : {&rows_, gpu_rows_ ? &*gpu_rows_ : nullptr})
    if (rows != nullptr && !rows->rescue()) lose("samples on the disk", std::strerror(rows->error()));
  for (const Probe* probe : {&host_, &gpus_})
    if (!probe->problem().empty()) lose(probe->name(), probe->problem());
  if (!end_) lose("the end of the command", "oomdoctor itself was killed before it");
  output_.add("\n");  // ends a line of the command
  for (const std::string& words : lost_) say(words);
  say_memory();
  if (end_ && end_->end.signal != 0) {
    const char* name = sigabbrev_np(end_->end.signal);
    say("signal " + std::to_string(end_->end.signal) + " (SIG" +
        (name != nullptr ? name : std::to_string(end_->end.signal)) + ") ended the command: " + command_);
  } else if (end_) {
    say("the command ended with exit status " + std::to_string(end_->end.status) + ": " + command_);
  }
  saved_ = output_.rescue();
}

/// Whether the machine and the cgroup had memory left at each sample, and the kernel killed nothing. Programs that kill
/// before the kernel does begin at 5 to 10% of free RAM.
bool Recorder::memory_was_free() const {
  constexpr double free_share = 0.1;
  if (machine_kills_ != 0 || kills_ > 0 || !lowest_available_ || !last_ || !last_->total) return false;
  if (static_cast<double>(*lowest_available_) < free_share * static_cast<double>(*last_->total)) return false;
  return !highest_group_share_ || *highest_group_share_ < 1 - free_share;
}

void Recorder::say_memory() {
  if (kills_ > 0) {
    const auto limit = last_ ? last_->cgroup_limit : std::nullopt;
    say("the kernel killed " + counted(kills_, "process", "processes") + " of this cgroup for memory" +
        (limit ? "; its limit is " + std::to_string(*limit) + " bytes" : ""));
  }
  if (machine_kills_) say("OOM kills on this machine: " + std::to_string(*machine_kills_));
  if (memory_was_free()) say("memory was not short");
  if (!last_) return;
  const auto pair = [&](const char* name, std::optional<std::int64_t> part, std::optional<std::int64_t> whole) {
    if (part && whole) say(name + std::to_string(*part) + " of " + std::to_string(*whole) + " bytes");
  };
  pair("largest process at the last sample: ", last_->largest_rss, last_->tree_rss);
  pair("least RAM available: ", lowest_available_, last_->total);
  pair("cgroup at the last sample: ", last_->cgroup_used, last_->cgroup_limit);
  pair("largest address space: ", largest_space_, last_->address_limit);
  pair("largest address space, with a limit of data: ", largest_space_, last_->data_limit);
}

RunEvidence Recorder::evidence() const {
  RunEvidence evidence;
  const auto add = [&](const char* name, const std::optional<std::string>& text) {
    evidence.logs.push_back({folder_.path_of(name), text});
  };
  add(RunFileNames::output, output_.text());
  if (!saved_) evidence.incomplete = std::strerror(output_.error());
  add(RunFileNames::samples, rows_.text());
  if (gpu_rows_) add(RunFileNames::gpus, gpu_rows_->text());
  return evidence;
}

}  // namespace oomdoctor
