// Line formats that a user declares in TOML. Each becomes a gauge of an ordinary Parser, built at run time. Its
// example checks it as strictly as a shipped format. An invalid format throws an Error that shows the position.
//
//   [[format]]
//   name    = "trainer/step"
//   anchor  = "gpu_resident="            # a literal on every such line; at least four bytes
//   form    = "it={step} ~gpu_resident={allocated}"        # see LineFormat; or
//   regex   = 'it=(?<step>\d{1,9}) .{0,80}gpu_resident=(?<allocated>[\d.]{1,12})'
//   unit    = "MiB"
//   kind    = "gauge"                    # a SeriesKind; optional
//   label   = ""                         # optional
//   example = "it=40 loss=2.8 gpu_resident=5120.5"
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "read/parser.h"

namespace oomdoctor {

/// The file that oomdoctor reads in the working directory if the user names none. Links are refused, because somebody
/// else may have made the directory.
inline constexpr const char* own_formats = ".oomdoctor.toml";

/// Owns the parsers made from users' files.
class UserFormats {
 public:
  /// Keeps the shipped parsers next to the user's; DeclaredMemory resolves lines that both match.
  explicit UserFormats(std::span<const Parser* const> shipped);
  ~UserFormats();
  UserFormats(UserFormats&&) noexcept;

  /// Throw Error if the file cannot be read or a format is invalid. add() takes the file's content; `path` is for
  /// messages.
  void add_file(const std::string& path);
  void add(std::string_view path, std::string_view text);

  /// The shipped parsers, then one for each user file. The latter are valid as long as this object.
  const std::vector<const Parser*>& parsers() const { return parsers_; }

 private:
  struct File;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<const Parser*> parsers_;
};

}  // namespace oomdoctor
