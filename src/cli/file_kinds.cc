#include "cli/file_kinds.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "evidence/evidence_reader.h"
#include "text/source.h"

namespace oomdoctor::cli {
namespace {

constexpr auto log_suffixes = std::to_array<std::string_view>({".log", ".out", ".err"});
constexpr auto log_names = std::to_array<std::string_view>(
    {"stdout", "stderr", "output", "console", "log", "messages", "syslog", "dmesg", "journal"});
constexpr auto text_suffixes = std::to_array<std::string_view>({".txt", ".csv", ".tsv", ".json", ".jsonl", ".ndjson"});
/// Each may hold a log.
constexpr auto packings = std::to_array<std::string_view>({".gz", ".zst", ".xz", ".bz2", ".lz4"});
/// Each may hold logs, but in a folder of a job most of them are data.
constexpr auto archive_suffixes =
    std::to_array<std::string_view>({".tar", ".tgz", ".txz", ".tbz2", ".tbz", ".tzst", ".zip", ".7z"});

constexpr auto foreign_suffixes = std::to_array<std::string_view>(
    {// source code and documents
     ".py", ".pyc", ".pyi", ".pyx", ".ipynb", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".rs", ".go", ".java",
     ".js", ".ts", ".css", ".html", ".htm", ".sh", ".bash", ".slurm", ".sbatch", ".sub", ".jl", ".r", ".m", ".lua",
     ".pl", ".md", ".rst", ".tex", ".pdf", ".patch", ".diff",
     // settings
     ".yaml", ".yml", ".toml", ".cfg", ".conf", ".ini", ".lock", ".env", ".xml", ".sarif", ".prom", ".pid", ".gin",
     ".properties", ".service",
     // tensors, checkpoints, models, data
     ".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".onnx", ".pb", ".h5", ".hdf5", ".keras", ".tflite", ".gguf",
     ".ggml", ".npy", ".npz", ".pkl", ".pickle", ".joblib", ".parquet", ".arrow", ".feather", ".tfrecord", ".lmdb",
     ".mdb", ".db", ".sqlite", ".idx", ".model", ".bpe", ".index", ".distcp", ".metadata", ".msgpack", ".mat",
     // images, sound, video, programs
     ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".wav", ".flac", ".mp3", ".mp4", ".whl", ".so", ".o", ".a",
     ".nsys-rep", ".qdrep", ".ncu-rep", ".wandb"});
constexpr auto foreign_names =
    std::to_array<std::string_view>({"makefile", "dockerfile", "license", "readme", "copying", "authors", "notice",
                                     "changelog", "gl-code-quality.json", "tokenizer.json", "vocab.json"});
constexpr auto foreign_folders =
    std::to_array<std::string_view>({".git", ".hg", ".svn", ".venv", "venv", ".cache", "node_modules", "__pycache__",
                                     "site-packages", ".ipynb_checkpoints", "oomdoctor-out"});

bool is_one_of(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view suffix_of(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? std::string_view() : name.substr(dot);
}

/// What logrotate and others add to a name: "", ".1", "-20260101", ".2026-01-01_12-00", ".old".
bool is_rotation(std::string_view tail) {
  if (tail.empty() || tail == ".old" || tail == ".prev" || tail == ".bak" || tail == "~") return true;
  constexpr std::size_t longest = 32;
  if (tail.size() > longest || (tail[0] != '.' && tail[0] != '-' && tail[0] != '_')) return false;
  return std::all_of(tail.begin(), tail.end(),
                     [](char c) { return is_digit(c) || c == '.' || c == '-' || c == '_' || c == ':' || c == 't'; }) &&
         std::any_of(tail.begin(), tail.end(), is_digit);
}

/// "train.log.1", "slurm-4711.out", "stderr-20260101".
bool has_log_name(std::string_view name) {
  for (const std::string_view suffix : log_suffixes)
    if (const auto at = name.rfind(suffix); at != name.npos && is_rotation(name.substr(at + suffix.size())))
      return true;
  return std::any_of(log_names.begin(), log_names.end(), [&](std::string_view known) {
    return name.starts_with(known) && is_rotation(name.substr(known.size()));
  });
}

/// The outputs of PBS and Grid Engine: "train.o4711", "train.e4711.3", "train.pe4711".
bool is_scheduler_output(std::string_view name) {
  for (const std::string_view stream : {".o", ".e", ".po", ".pe"}) {
    const auto at = name.rfind(stream);
    if (at == name.npos || at == 0) continue;
    const std::string_view number = name.substr(at + stream.size());
    const auto digits = std::find_if_not(number.begin(), number.end(), is_digit) - number.begin();
    if (digits > 0 && is_rotation(number.substr(static_cast<std::size_t>(digits)))) return true;
  }
  return false;
}

/// True for the name of an archive, without its suffix, that says logs: "train.log", "logs_4711", "job-logs".
bool names_logs(std::string_view stem) {
  if (has_log_name(stem)) return true;
  for (std::size_t at = 0; (at = stem.find("log", at)) != stem.npos; ++at) {
    std::size_t end = at + 3;
    if (end < stem.size() && stem[end] == 's') ++end;
    if ((at == 0 || !is_letter(stem[at - 1])) && (end == stem.size() || !is_letter(stem[end]))) return true;
  }
  return false;
}

/// True for the beginning of a report by one of oomdoctor's writers.
bool is_own_report(std::string_view first) {
  const std::string_view line = first.substr(0, first.find('\n'));
  if (line.starts_with("{\"oomdoctor_jsonl\"") || line.starts_with("{\"oomdoctor_survey\"")) return true;
  // The verbose report has its inputs first, or after its headline.
  constexpr std::size_t headline = 512;  // bytes; it wraps
  if (const std::size_t end = first.substr(0, headline).find(" of them recognised\n"); end != first.npos) {
    const std::string_view above = first.substr(0, end);
    if (above.substr(above.rfind('\n') + 1).find(": ") != above.npos) return true;
  }
  if (first.find("\n── -v shows the evidence") != first.npos) return true;  // the short one
  const auto tool = first.find("\"tool\":");
  return first.starts_with("{") && first.find("\"schema_version\":") < tool && tool != first.npos &&
         first.substr(tool, 64).find("\"oomdoctor\"") != std::string_view::npos;
}

/// The first bytes of a regular file; false if it is none or cannot be read.
bool read_first(const std::string& path, std::string& first) {
  constexpr std::size_t enough = 4096;
  const Descriptor file(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  first.resize(enough);
  std::size_t used = 0;
  while (used < enough) {
    const ssize_t got = uninterrupted([&] { return ::read(file.number(), first.data() + used, enough - used); });
    if (got < 0) return false;
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  first.resize(used);
  return true;
}

/// True for a name that an allocator snapshot may have.
bool may_name_snapshot(std::string_view name) {
  constexpr auto suffixes = std::to_array<std::string_view>({".pickle", ".pkl", ".html", ".htm"});
  if (is_one_of(packings, suffix_of(name))) name.remove_suffix(suffix_of(name).size());
  return is_one_of(suffixes, suffix_of(name));
}

/// True for a file whose name says that it may be an allocator snapshot, and whose content says that it is one.
bool is_snapshot_file(std::string_view name, const std::string& path) {
  if (!may_name_snapshot(name)) return false;
  try {
    return is_snapshot(Source::open(path).peek());
  } catch (const Error&) {
    return false;
  }
}

bool has_utf16_mark(std::string_view first) { return first.starts_with("\xFF\xFE") || first.starts_with("\xFE\xFF"); }

}  // namespace

FileKind kind_of_name(std::string_view given) {
  std::string name = lower(given);
  bool packed = false;
  if (is_one_of(packings, suffix_of(name))) name.resize(name.rfind('.')), packed = true;
  if (has_log_name(name) || is_scheduler_output(name)) return FileKind::log;
  const std::string_view suffix = suffix_of(name);
  if (is_one_of(archive_suffixes, suffix))
    return names_logs(std::string_view(name).substr(0, name.size() - suffix.size())) ? FileKind::log
                                                                                     : FileKind::foreign;
  if (is_one_of(foreign_suffixes, suffix) || is_one_of(foreign_names, name)) return FileKind::foreign;
  if (name.starts_with("events.out.tfevents")) return FileKind::foreign;
  if (packed || is_one_of(text_suffixes, suffix)) return FileKind::text;
  return name.starts_with('.') ? FileKind::foreign : FileKind::unknown;  // a hidden file is a setting of a program
}

bool may_name_log(std::string_view name) {
  return kind_of_name(name) != FileKind::foreign || may_name_snapshot(lower(name));
}

namespace {

/// By the first bytes, where the name alone does not decide.
FileKind kind_of_content(FileKind by_name, std::string_view first) {
  if (is_own_report(first)) return FileKind::own;
  if (by_name == FileKind::text) return by_name;
  if (first.empty()) return FileKind::empty;
  const bool zeros = first.substr(0, 1024).find('\0') != std::string::npos;
  return (zeros && !has_utf16_mark(first)) || is_binary(first) ? FileKind::binary : FileKind::text;
}

}  // namespace

FileKind kind_of_file(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const FileKind kind = kind_of_name(name);
  if (kind == FileKind::foreign && is_snapshot_file(lower(name), path)) return FileKind::log;
  if (kind == FileKind::log || kind == FileKind::foreign) return kind;
  std::string first;
  return read_first(path, first) ? kind_of_content(kind, first) : FileKind::text;
}

FileKind kind_of_member(std::string_view path, std::string_view first) {
  for (std::size_t end = path.find('/'); end != path.npos; end = path.find('/')) {
    if (is_foreign_folder(path.substr(0, end))) return FileKind::foreign;
    path.remove_prefix(end + 1);
  }
  const FileKind kind = kind_of_name(path);
  if (kind == FileKind::foreign && may_name_snapshot(lower(path)) && is_snapshot(first)) return FileKind::log;
  return kind == FileKind::log || kind == FileKind::foreign ? kind : kind_of_content(kind, first);
}

bool is_archive_name(std::string_view name) {
  std::string lowered = lower(name);
  if (is_one_of(packings, suffix_of(lowered))) lowered.resize(lowered.rfind('.'));
  return is_one_of(archive_suffixes, suffix_of(lowered));
}

bool is_packed_name(std::string_view name) {
  const std::string lowered = lower(name);
  return is_one_of(packings, suffix_of(lowered)) || is_one_of(archive_suffixes, suffix_of(lowered));
}

bool is_foreign_folder(std::string_view name) { return is_one_of(foreign_folders, name); }

}  // namespace oomdoctor::cli
