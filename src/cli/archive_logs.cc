#include "cli/archive_logs.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "cli/file_kinds.h"
#include "report/words.h"
#include "text/decoder.h"
#include "text/members.h"

namespace oomdoctor::cli {
namespace {

/// Far above a job with thousands of ranks.
constexpr std::size_t max_members = 200'000;

/// True for an archive as a member: by its first bytes, or by its name if it is compressed as a whole.
bool is_archive_inside(const Member& member) {
  return has_members(member.first) || (find_packing(member.first) != Packing::none && is_archive_name(member.name));
}

}  // namespace

ArchiveLogs find_logs_in_archive(const std::string& path) {
  ArchiveLogs found;
  std::map<std::string, std::size_t> places;  // in found.logs, by path
  std::size_t members = 0;
  const auto lose = [&](std::string what, std::string why, const std::string& where) {
    found.lost.push_back({std::move(what), std::move(why), where, std::nullopt});
  };
  const auto add = [&](const Member& member) {
    if (++members > max_members) {
      lose("the rest of the archive", fmt::format("more than {} members", count_text(max_members)), path);
      return false;
    }
    const std::string name = path + "/" + member.name;
    const FileKind kind = kind_of_member(member.name, member.first);
    const bool may_be_log = kind == FileKind::log || kind == FileKind::text;
    if (!member.unreadable.empty()) {
      if (may_be_log || kind == FileKind::empty) lose("the log", member.unreadable, name);
    } else if (may_be_log && is_archive_inside(member)) {
      found.left_out.push_back(fmt::format("{} (an archive in an archive)", name));
    } else if (may_be_log) {
      const auto [place, added] = places.try_emplace(name, found.logs.size());
      if (added) found.logs.push_back({.path = name});
      found.logs[place->second].member = ArchiveMember{path, member.index};
    } else if (kind == FileKind::binary) {
      found.left_out.push_back(fmt::format("{} (binary)", name));
    }
    return true;
  };
  try {
    visit_members(path, add);
  } catch (const FileError& error) {
    lose(found.logs.empty() ? "the logs" : "the rest of the archive", error.reason(), path);
  }
  return found;
}

}  // namespace oomdoctor::cli
