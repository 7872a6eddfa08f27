#include "serialize/part_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "serialize/partial_fields.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_line = 48 << 20;  ///< every case of a scan is smaller
constexpr std::size_t block_size = 1 << 16;

}  // namespace

std::ifstream open_lines(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  return file;
}

std::string left_out_words(std::string_view problem) { return fmt::format("left out: {}", problem); }

bool holds_parts(const std::string& path) {
  // Not the first line alone: it may be damaged, and the others are still parts.
  constexpr std::size_t enough = 1 << 20;
  const std::string begin = fmt::format("{{\"{}\":", part_version_field);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream in(path, std::ios::binary);
  std::string text(begin.size(), '\0');
  // Most logs do not begin with a brace, so that one small piece decides.
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text == begin) return true;
  if (!text.starts_with('{') && !path.ends_with(".jsonl")) return false;
  const std::size_t known = text.size();
  text.resize(enough);
  in.read(text.data() + known, static_cast<std::streamsize>(enough - known));
  text.resize(known + static_cast<std::size_t>(in.gcount()));
  return text.find('\n' + begin) != std::string::npos;
}

PartFiles::PartFiles(const std::vector<std::string>& paths) : paths_(paths) {
  for (std::size_t file = 0; file < paths_.size(); ++file) {
    try {
      find_in(file);
    } catch (const Error& error) {
      left_out(error);
    }
  }
  if (parts_.empty() && first_problem_) throw Error(*first_problem_);
  // A log may be in several parts, because a task ran twice. If the lines differ, one that can be read stays, of
  // several the smallest one, so that the result does not depend on the order of the files.
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.id < b.id; });
  std::vector<Part> once;
  for (Part& part : parts_) {
    if (once.empty() || !(once.back().id == part.id))
      once.push_back(std::move(part));
    else if (is_better(part, once.back()))
      once.back() = std::move(part);
  }
  parts_ = std::move(once);
}

/// Of two parts of one log.
bool PartFiles::is_better(const Part& part, const Part& known) const {
  const std::string text = read_text(part), other = read_text(known);
  if (text == other) return false;
  const auto is_whole = [&](const std::string& line, const Part& of) {
    try {
      read_part(line, where(of));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const bool whole = is_whole(text, part), other_whole = is_whole(other, known);
  return whole != other_whole ? whole : text < other;
}

void PartFiles::left_out(const Error& error) {
  problems_.emplace_back(error.what());
  if (!first_problem_) first_problem_ = error;
}

// Reads in blocks, so that a line without an end cannot fill memory. A line over the limit is skipped up to its end,
// and its offset still counts.
void PartFiles::find_in(std::size_t file) {
  std::ifstream in = open_lines(paths_[file]);
  std::string line, bytes(block_size, '\0');
  long long offset = 0;
  std::size_t number = 1;
  bool too_long = false;
  const auto end_line = [&] {
    Part part{{}, file, offset, line.size(), number};
    offset += static_cast<long long>(line.size()) + 1;
    ++number;
    if (too_long) {
      left_out(Error(fmt::format("{}: a line of more than {} MiB is not a part of a case", where(part), max_line >> 20),
                     "", "parts are written by oomdoctor analyze --format partial"));
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      try {
        part.id = read_part_id(line, where(part));
        parts_.push_back(std::move(part));
      } catch (const Error& error) {
        left_out(error);
      }
    }
    line.clear();
    too_long = false;
  };
  while (in) {
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    std::string_view rest(bytes.data(), static_cast<std::size_t>(in.gcount()));
    for (auto end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      line += rest.substr(0, end);
      end_line();
      rest.remove_prefix(end + 1);
    }
    line += rest;
    if (line.size() > max_line) {
      too_long = true;
      offset += static_cast<long long>(line.size());
      line.clear();
    }
  }
  if (in.bad()) throw Error(fmt::format("cannot read '{}'", paths_[file]));
  if (!line.empty() || too_long) end_line();
}

std::string PartFiles::where(const Part& part) const { return fmt::format("{}:{}", paths_[part.file], part.number); }

std::string PartFiles::read_text(const Part& part) const {
  std::ifstream in = open_lines(paths_[part.file]);
  in.seekg(part.offset);
  std::string line(part.bytes, '\0');
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  if (static_cast<std::size_t>(in.gcount()) != line.size())
    throw Error(fmt::format("{} became shorter while it was read", paths_[part.file]));
  return line;
}

std::string PartFiles::line(std::size_t log) const { return read_text(parts_[log]); }

// The file may have changed since find_in(): the part must still have the same id.
ScanResult PartFiles::read_checked(std::size_t log) const {
  const std::string line = read_text(parts_[log]);
  ScanResult file = read_part(line, where(parts_[log]));
  if (!(read_part_id(line, where(parts_[log])) == parts_[log].id))
    throw Error(fmt::format("{} was changed while it was read", paths_[parts_[log].file]));
  return file;
}

std::optional<Error> PartFiles::find_problem(std::size_t log) const {
  try {
    read_checked(log);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

ScanResult PartFiles::read(std::size_t log) const {
  try {
    return read_checked(log);
  } catch (const Error& error) {
    ScanResult nothing;
    nothing.inputs.emplace_back();
    nothing.inputs.front().path = parts_[log].id.path;
    nothing.inputs.front().unreadable = lost;
    nothing.lose({.what = "the part of the log", .why = error.what(), .path = parts_[log].id.path});
    return nothing;
  }
}

}  // namespace oomdoctor
