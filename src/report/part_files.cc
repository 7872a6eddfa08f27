#include "report/part_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace oomdoctor {
namespace {

constexpr std::size_t longest_line = 48 << 20;  ///< the largest case that a scan makes stays under it
constexpr std::size_t piece = 1 << 16;

std::ifstream opened(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  return file;
}

}  // namespace

PartFiles::PartFiles(const std::vector<std::string>& paths) : paths_(paths) {
  for (std::size_t file = 0; file < paths_.size(); ++file) find_in(file);
  // A log may be in several parts, because a task ran twice: of lines that differ all the same the least one stands.
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.id < b.id; });
  std::vector<Part> once;
  for (Part& part : parts_) {
    if (once.empty() || !(once.back().id == part.id))
      once.push_back(std::move(part));
    else if (text_of(part) < text_of(once.back()))
      once.back() = std::move(part);
  }
  parts_ = std::move(once);
}

void PartFiles::find_in(std::size_t file) {
  std::ifstream in = opened(paths_[file]);
  std::string line, bytes(piece, '\0');
  long long offset = 0;
  std::size_t number = 1;
  const auto end_line = [&] {
    Part part{{}, file, offset, line.size(), number};
    offset += static_cast<long long>(line.size()) + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      part.id = read_part_id(line, where(part));
      parts_.push_back(std::move(part));
    }
    line.clear();
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
    if (line.size() > longest_line)
      throw Error(fmt::format("{}:{}: a line of more than {} MiB is no part of a case", paths_[file], number,
                              longest_line >> 20),
                  "", "parts are written by oomdoctor analyze --format partial");
  }
  if (in.bad()) throw Error(fmt::format("cannot read '{}'", paths_[file]));
  if (!line.empty()) end_line();
}

std::string PartFiles::where(const Part& part) const { return fmt::format("{}:{}", paths_[part.file], part.number); }

std::string PartFiles::text_of(const Part& part) const {
  std::ifstream in = opened(paths_[part.file]);
  in.seekg(part.offset);
  std::string line(part.bytes, '\0');
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  if (static_cast<std::size_t>(in.gcount()) != line.size())
    throw Error(fmt::format("{} became shorter while it was read", paths_[part.file]));
  return line;
}

std::string PartFiles::line(std::size_t log) const { return text_of(parts_[log]); }

Case PartFiles::read(std::size_t log) const {
  const std::string line = text_of(parts_[log]);
  Case file = read_part(line, where(parts_[log]));
  if (!(read_part_id(line, where(parts_[log])) == parts_[log].id))
    throw Error(fmt::format("{} was changed while it was read", paths_[parts_[log].file]));
  return file;
}

}  // namespace oomdoctor
