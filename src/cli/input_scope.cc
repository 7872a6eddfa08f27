#include "cli/input_scope.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace oomdoctor::cli {

namespace fs = std::filesystem;

std::string find_refusal(const std::string& path, const InputScope& scope) {
  if (scope.roots.empty()) return "";
  std::error_code error;
  const std::string whole = fs::weakly_canonical(fs::absolute(path, error), error).string();
  const auto is_above = [&](const std::string& root) {
    return whole == root || whole.starts_with(root.ends_with('/') ? root : root + '/');
  };
  if (error || std::none_of(scope.roots.begin(), scope.roots.end(), is_above))
    return fmt::format("it is outside of the folders that may be read, {}", fmt::join(scope.roots, " and "));
  const fs::file_type type = fs::status(whole, error).type();
  const bool may_be_opened =
      type == fs::file_type::regular || type == fs::file_type::directory || type == fs::file_type::not_found;
  return may_be_opened ? "" : "it is not a regular file";
}

}  // namespace oomdoctor::cli
