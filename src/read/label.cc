#include "read/label.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ascii.h"
#include "read/tokens.h"

namespace oomdoctor {
namespace {

/// A set for the hot path: each word of each candidate line is looked up. First letter and length reject nearly all
/// words.
template <std::size_t N>
class WordSet {
 public:
  explicit consteval WordSet(std::array<std::string_view, N> words) : words_(words) {
    std::sort(words_.begin(), words_.end());
    for (const std::string_view word : words_) {
      lengths_[first_of(word)] |= bit(word.size());
      for (std::size_t c = first_of(word) + 1; c < begins_.size(); ++c) ++begins_[c];
    }
  }

  bool contains(std::string_view word) const {
    if (word.empty() || (lengths_[first_of(word)] & bit(word.size())) == 0) return false;
    const auto begin = words_.begin() + begins_[first_of(word)], end = words_.begin() + begins_[first_of(word) + 1];
    return std::find(begin, end, word) != end;
  }

 private:
  static constexpr std::size_t first_of(std::string_view word) { return static_cast<unsigned char>(word[0]); }
  static constexpr std::uint32_t bit(std::size_t length) { return length < 32 ? std::uint32_t{1} << length : 0; }

  std::array<std::string_view, N> words_;     ///< sorted
  std::array<std::uint8_t, 257> begins_{};    ///< by first letter: index of its first word
  std::array<std::uint32_t, 256> lengths_{};  ///< by first letter: bit n is set if some word has n letters
};

constexpr auto label_words = WordSet(std::to_array<std::string_view>(
    {"gpu",      "cuda",    "cpu",      "device",   "vram",      "mem",     "memory",    "usage",       "used",
     "use",      "in",      "current",  "now",      "currently", "alloc",   "allocated", "reserved",    "cached",
     "cache",    "max",     "maximum",  "peak",     "torch",     "pytorch", "rss",       "pss",         "uss",
     "ram",      "host",    "process",  "proc",     "after",     "before",  "forward",   "backward",    "optimizer",
     "training", "train",   "eval",     "node",     "local",     "rank",    "free",      "available",   "active",
     "is",       "at",      "was",      "stats",    "status",    "info",    "footprint", "consumption", "hbm",
     "driver",   "tensor",  "tensors",  "xpu",      "npu",       "mps",     "hip",       "system",      "nvidia",
     "smi",      "avg",     "mean",     "end",      "start",     "of",      "highest",   "res",         "and",
     "gmem",     "by",      "consumed", "utilized", "step",      "optim",   "valid",     "occupied",    "rsvd",
     "resv",     "value",   "py",       "hwm",      "vm",        "working", "set",       "vmrss",       "maxrss",
     "nvml",     "resident"}));

constexpr auto spoiling_words = WordSet(std::to_array<std::string_view>(
    {"limit",      "limits",     "total",       "capacity",   "budget",   "threshold",     "fraction",    "request",
     "requested",  "requests",   "required",    "require",    "need",     "needed",        "needs",       "estimate",
     "estimated",  "expected",   "predicted",   "projected",  "size",     "sizes",         "model",       "models",
     "param",      "params",     "parameter",   "parameters", "weights",  "download",      "downloaded",  "downloading",
     "disk",       "file",       "files",       "dataset",    "data",     "bandwidth",     "tried",       "save",
     "saved",      "saves",      "saving",      "savings",    "wasted",   "waste",         "delta",       "increase",
     "increased",  "diff",       "difference",  "change",     "changed",  "growth",        "grew",        "leak",
     "leaked",     "swap",       "speed",       "throughput", "buffer",   "buffers",       "shared",      "bucket",
     "checkpoint", "ckpt",       "per",         "ratio",      "percent",  "util",          "utilization", "kv",
     "length",     "len",        "offload",     "offloaded",  "min",      "minimum",       "margin",      "headroom",
     "loss",       "lr",         "time",        "reduction",  "reduced",  "fragmentation", "fragmented",  "gradient",
     "grad",       "activation", "activations", "state",      "states",   "virtual",       "increment",   "dedicated",
     "physical",   "installed",  "out",         "exceeded",   "exceeds",  "freed",         "freeing",     "release",
     "released",   "copied",     "extra",       "additional", "overhead", "unallocated",   "sum"}));

constexpr auto prose_words = WordSet(std::to_array<std::string_view>(
    {"i",        "my",         "you",          "your",        "the",       "we",      "our",     "please",
     "why",      "how",        "because",      "but",         "should",    "would",   "could",   "can",
     "cannot",   "try",        "trying",       "tried",       "when",      "if",      "than",    "need",
     "needs",    "requires",   "require",      "recommended", "which",     "that",    "this",    "there",
     "have",     "has",        "only",         "about",       "it's",      "don't",   "not",     "thanks",
     "think",    "maybe",      "seems",        "even",        "though",    "however", "so",      "then",
     "also",     "still",      "error",        "errors",      "exception", "warning", "oom",     "runtimeerror",
     "allocate", "allocating", "attempting",   "unable",      "failed",    "failure", "exceeds", "hint",
     "fatal",    "exhausted",  "insufficient", "refused",     "killed",    "panic",   "crashed"}));

constexpr auto label_units =
    WordSet(std::to_array<std::string_view>({"gb", "gib", "mb", "mib", "kb", "kib", "bytes", "byte"}));

/// Parts of program code, command lines and failure messages.
constexpr auto code_fragments = std::to_array<std::string_view>({"print(",
                                                                 "(f\"",
                                                                 "(\"",
                                                                 "('",
                                                                 "(f'",
                                                                 "= f\"",
                                                                 "= f'",
                                                                 "{:",
                                                                 "%d",
                                                                 "%s",
                                                                 ".format(",
                                                                 "lambda ",
                                                                 " += ",
                                                                 " == ",
                                                                 "self.",
                                                                 "```",
                                                                 "logger.",
                                                                 "http://",
                                                                 "https://",
                                                                 "TRES=",
                                                                 "#SBATCH",
                                                                 "Tried to",
                                                                 "by PyTorch",
                                                                 "Total Tensors:",
                                                                 "already allocated",
                                                                 "non-PyTorch",
                                                                 "iB memory in use",
                                                                 "bytes memory in use",
                                                                 "total capac",
                                                                 "OutOfMemory",
                                                                 "out of memory",
                                                                 "torch.cuda.set",
                                                                 "Metaspace ",
                                                                 "NumGC",
                                                                 "class space ",
                                                                 "BlockManagerInfo: ",
                                                                 "MemoryStore: ",
                                                                 "//",
                                                                 " -> None",
                                                                 "Error:"});

/// The same for parts with digits. "12/1024" is a position, not a division: digits are before the slash.
constexpr auto computation_fragments =
    std::to_array<std::string_view>({":.1f", ":.2f", ":.3f", "%.1f", "%.2f", "%.3f", "/1024", "/ 1024", "/ (1024",
                                     "/(1024", "1e9", "1e6", "1024**", "2**", "2 ** "});

constexpr auto code_starts = std::to_array<std::string_view>(
    {"def ", "class ", "import ", "from ",  "return ", "if ", "elif ", "for ",   "while ",  "with ",
     "#",    "@",      "assert ", "raise ", ">",       "$ ",  "try:",  "except", "File \"", "wandb: "});

constexpr auto begins_code = [] {
  std::array<bool, 256> out{};
  for (const std::string_view start : code_starts) out[static_cast<unsigned char>(start.front())] = true;
  return out;
}();

}  // namespace

/// The text up to the next separator, which is skipped.
std::string_view IdentifierWords::cut() {
  const std::size_t begin = at_;
  for (; at_ < identifier_.size(); ++at_) {
    const char c = identifier_[at_];
    if (!(is_alnum(c) || c == '\'')) return lowered_.substr(begin, at_++ - begin);
    const bool unit = c == 'B' && !(at_ + 1 < identifier_.size() && is_lower(identifier_[at_ + 1]));  // GiB is one word
    const bool humps = is_upper(c) && at_ > begin && is_lower(identifier_[at_ - 1]) && !unit;
    if (humps) break;
  }
  return lowered_.substr(begin, at_ - begin);
}

std::optional<std::string_view> IdentifierWords::next() {
  if (mem_) return mem_ = false, "mem";
  while (at_ < identifier_.size()) {
    std::string_view word = cut();
    while (!word.empty() && is_digit(word.back()) && !is_digit(word.front())) word.remove_suffix(1);  // gpu0
    if (word.empty()) continue;
    mem_ = one_of(word, {"gpumem", "gpumemory", "cpumem"});
    return mem_ ? word.substr(0, 3) : word;
  }
  return std::nullopt;
}

bool names_moment(std::string_view word) { return one_of(word, {"after", "before"}); }

std::string_view parse_phase(std::string_view tag) {
  constexpr std::size_t max_bytes = 48;
  tag = trimmed(tag);
  const std::string first = lower(tag.substr(0, tag.find(' ')));
  const bool moment = names_moment(first) || one_of(first, {"start", "end", "begin", "pre", "post"});
  return moment && tag.size() <= max_bytes && std::none_of(tag.begin(), tag.end(), is_digit) ? tag : std::string_view{};
}

bool belongs_to_label(std::string_view word) { return label_words.contains(word); }
bool rejects_label(std::string_view word) { return spoiling_words.contains(word); }
bool belongs_to_prose(std::string_view word) { return prose_words.contains(word); }
bool is_label_unit(std::string_view word) { return label_units.contains(word); }

bool names_evaluation(std::string_view word) {
  return one_of(word, {"evaluating", "evaluation", "eval", "validating", "validation", "val", "test", "testing",
                       "predicting", "prediction", "inference"});
}

int step_rank(std::string_view name) {
  if (one_of(name, {"global_step", "globalstep", "train_step", "training_step", "optimizer_step", "num_updates"}))
    return global_rank;
  if (name == "step" || name == "steps") return 4;
  if (one_of(name, {"iteration", "iterations", "iter", "itr", "it", "update"})) return 3;
  return name == "batch" ? 2 : 0;
}

bool is_no_step(std::string_view before) {
  return one_of(before,
                {"total", "max",       "num",     "per",          "each",         "every",    "last",   "warmup",
                 "eval",  "save",      "logging", "accumulation", "optimization", "number",   "this",   "first",
                 "next",  "of",        "micro",   "for",          "in",           "and",      "to",     "the",
                 "optim", "optimizer", "opt",     "after",        "before",       "backward", "forward"});
}

namespace {

/// True if the part at `at` is a computation, not a position such as "12/1024".
bool is_computation(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t last = before.find_last_not_of(' ');
  return text[at] != '/' || last == before.npos || !is_digit(before[last]);
}

}  // namespace

std::string mask_numbers(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (!is_digit(c))
      out.push_back(c);
    else if (out.empty() || out.back() != '0')
      out.push_back('0');
  return out;
}

bool numbers_may_be_program(std::string_view line) {
  static const auto pieces = [] {
    std::array<std::string, computation_fragments.size()> out;
    std::transform(computation_fragments.begin(), computation_fragments.end(), out.begin(), mask_numbers);
    return out;
  }();
  const std::string text = mask_numbers(line);
  return std::any_of(pieces.begin(), pieces.end(), [&](std::string_view piece) {
    for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1))
      if (is_computation(text, at)) return true;
    return false;
  });
}

namespace {

enum class FragmentKind { code, computation, option };

struct Fragment {
  std::string_view text;
  FragmentKind kind = FragmentKind::code;
};

/// Finds the parts above by their first two bytes.
class FragmentIndex {
 public:
  consteval FragmentIndex() {
    std::size_t used = 0;
    for (const std::string_view text : code_fragments) fragments_[used++] = {text, FragmentKind::code};
    for (const std::string_view text : computation_fragments) fragments_[used++] = {text, FragmentKind::computation};
    fragments_[used] = {" --", FragmentKind::option};
    std::sort(fragments_.begin(), fragments_.end(),
              [](const Fragment& a, const Fragment& b) { return slot(a.text, 0) < slot(b.text, 0); });
    for (std::size_t i = fragments_.size(); i > 0; --i)
      first_[slot(fragments_[i - 1].text, 0)] = static_cast<std::uint8_t>(i);
  }

  /// True if one of them is at `at`, which must not be the last byte.
  bool has_at(std::string_view line, std::size_t at) const {
    const std::size_t here = slot(line, at), first = first_[here];
    if (first == 0) return false;
    for (std::size_t i = first - 1; i < fragments_.size() && slot(fragments_[i].text, 0) == here; ++i)
      if (line.substr(at).starts_with(fragments_[i].text) && counts(fragments_[i], line, at)) return true;
    return false;
  }

 private:
  static constexpr std::size_t slots = 1 << 12;

  static constexpr std::size_t slot(std::string_view text, std::size_t at) {
    constexpr unsigned low = 0x3F;  // the bits that tell the characters of a kind apart
    return static_cast<std::size_t>((static_cast<unsigned char>(text[at]) & low) << 6 |
                                    (static_cast<unsigned char>(text[at + 1]) & low));
  }

  static bool counts(const Fragment& fragment, std::string_view line, std::size_t at) {
    if (fragment.kind == FragmentKind::computation) return is_computation(line, at);
    const std::size_t end = at + fragment.text.size();  // of " --": a letter follows in a command line
    return fragment.kind == FragmentKind::code || (end < line.size() && is_lower(line[end]));
  }

  std::array<Fragment, code_fragments.size() + computation_fragments.size() + 1> fragments_;  ///< by slot
  std::array<std::uint8_t, slots> first_{};  ///< by slot: 1 + index of its first part, or 0
};

constexpr FragmentIndex fragments;

/// "Cached:          7107356 kB": a line of /proc/meminfo or /proc/PID/smaps. The kernel's cache is of files, not of
/// an allocator.
bool is_kernel_account(std::string_view text) {
  static constexpr auto keys = std::to_array<std::string_view>({"Cached:", "Active:", "Rss:", "Pss:"});
  const auto key = std::find_if(keys.begin(), keys.end(), [text](std::string_view k) { return text.starts_with(k); });
  if (key == keys.end()) return false;
  const std::size_t number = text.find_first_not_of(" \t", key->size());
  const std::size_t after = text.find_first_not_of("0123456789", std::min(number, text.size()));
  return after != text.npos && after > number && text.substr(after).starts_with(" kB") &&
         text.find_first_not_of(" \t\r", after + 3) == text.npos;
}

/// Amounts of a JVM's own report of its crash, what the kernel sets aside at its start, and what one phase of SGLang's
/// start took: "Init torch distributed ends. mem usage=1.67 GB". None is an allocator's in use.
bool is_runtime_account(std::string_view text) {
  const bool classes = text.starts_with("Metaspace ") || text.starts_with("class space ");
  if (classes && text.find(", committed ") != text.npos) return true;
  if (text.ends_with(" k") && text.find("_in_bytes: ") != text.npos) return true;
  if (text.find(" mem usage=") != text.npos && (text.find(" ends. ") != text.npos || text.find(" end. ") != text.npos))
    return true;
  // The second: the buffer of a disk in the RAM of the machine.
  return text.ends_with(" bytes of page_cgroup") || text.ends_with(" memory buffer.");
}

}  // namespace

bool is_no_measurement(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == line.npos) return true;
  const std::string_view text = line.substr(start);
  if (begins_code[static_cast<unsigned char>(text.front())] &&
      std::any_of(code_starts.begin(), code_starts.end(), [&](std::string_view s) { return text.starts_with(s); }))
    return true;
  if (is_kernel_account(text) || is_runtime_account(text)) return true;
  for (std::size_t at = 0; at + 1 < line.size(); ++at)
    if (fragments.has_at(line, at)) return true;
  return text.starts_with("--") && text.size() > 2 && is_lower(text[2]);
}

/// The order of the tests matters: the more specific word decides. A word of the GPU wins over one of the host.
std::optional<Label> read_label(std::span<const std::string_view> words) {
  const auto has = [&](std::initializer_list<std::string_view> any) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return one_of(w, any); });
  };
  if (std::any_of(words.begin(), words.end(), rejects_label)) return std::nullopt;
  const bool device = has({"gpu", "cuda", "device", "vram", "hbm", "xpu", "npu", "mps", "hip", "gmem"});
  const bool host = !device && has({"cpu", "ram", "host", "system", "node"});
  const bool process = !device && has({"process", "proc"});
  const bool peak = has({"max", "peak", "maximum", "highest"});
  const bool memory = has({"mem", "memory", "vram", "gmem", "hbm", "ram"});
  const SeriesKind kind = peak ? SeriesKind::running_maximum : SeriesKind::gauge;
  const SeriesKind sampled = peak ? SeriesKind::running_maximum : SeriesKind::sampled_gauge;
  const bool usage = peak || has({"used", "usage", "use", "current", "currently", "now", "consumption", "consumed",
                                  "footprint", "utilized", "occupied", "after", "before"});
  // Linux: VmHWM, getrusage
  if (has({"hwm", "maxrss"})) return Label{Metric::host_rss, SeriesKind::running_maximum, true};
  if (has({"rss", "uss", "pss", "vmrss", "resident"})) return Label{Metric::host_rss, sampled, true};
  if (has({"free"})) return Label{host || process ? Metric::host_free : Metric::free, SeriesKind::sampled_gauge, true};
  if (has({"available"}))
    return Label{host || process ? Metric::host_available : Metric::free, SeriesKind::sampled_gauge, false};
  if (process && memory) return Label{Metric::host_rss, sampled, true};
  if (has({"alloc", "allocated"}))
    return Label{host   ? Metric::host_used
                 : peak ? Metric::max_allocated
                        : Metric::allocated,
                 host ? sampled : kind, true};
  if (has({"reserved", "cached", "rsvd", "resv"}))
    return Label{peak ? Metric::max_reserved : Metric::reserved, kind, true};
  if (has({"active"}) && (memory || device)) return Label{Metric::active, kind, true};
  if (has({"cache"})) return std::nullopt;
  if ((memory || usage) && has({"smi", "nvml"}))
    return Label{Metric::used, sampled, true};  // the whole GPU, by any process
  if (memory && !device && has({"working"}))
    return Label{Metric::host_used, sampled, true};  // a container's working set
  if (memory)
    return Label{host ? Metric::host_used : Metric::memory, host ? sampled : kind,
                 usage || has({"vram", "mem", "gmem"})};
  if (device && usage) return Label{Metric::memory, kind, true};
  return std::nullopt;
}

}  // namespace oomdoctor
