// Line formats that a user declares in TOML: each becomes a gauge of an ordinary Parser, made while the program runs. A
// format is checked as strictly as a shipped one, by its own example; what is wrong with it is an Error that shows the
// place.
//
//   [[format]]
//   name    = "trainer/step"
//   anchor  = "gpu_resident="            # on every such line, as it stands; at least four bytes
//   form    = "it={step} ~gpu_resident={allocated}"        # see Gauge; or
//   regex   = 'it=(?<step>\d{1,9}) .{0,80}gpu_resident=(?<allocated>[\d.]{1,12})'
//   unit    = "MiB"
//   kind    = "gauge"                    # of a SeriesKind; may be left out
//   label   = ""                         # may be left out
//   example = "it=40 loss=2.8 gpu_resident=5120.5"
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parse/parser.h"

namespace oomdoctor {

/// The file that is read in the working directory where no other is named. Whoever made the directory made it, so that
/// it is never followed to another place.
inline constexpr const char* own_formats = ".oomdoctor.toml";

class UserFormats {
 public:
  /// The user's formats stand beside these; see DeclaredMemory for a line that both take.
  explicit UserFormats(std::span<const Parser* const> shipped);
  ~UserFormats();
  UserFormats(UserFormats&&) noexcept;

  /// Throw Error.
  void add_file(const std::string& path);
  void add(std::string_view path, std::string_view text);

  /// The shipped ones, then the user's, one for each file; these look into this object.
  const std::vector<const Parser*>& parsers() const { return parsers_; }

 private:
  struct File;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<const Parser*> parsers_;
};

}  // namespace oomdoctor
