// The reports that analyze and merge write: one on standard output, and any number in files.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "oomdoctor/report.h"
#include "render/terminal.h"
#include "render/writer.h"

namespace oomdoctor::cli {

/// The outputs of one command line, checked before any log is read.
class Outputs {
 public:
  /// Throws Error for an invalid --output, so that a mistyped option does not cost the analysis of a large log.
  /// `inputs` are paths that an output must not overwrite.
  Outputs(const Arguments& arguments, const std::vector<std::string>& inputs);

  /// Writes all outputs, in the order of the command line. Throws Error and BrokenPipe.
  void write(const Report& whole) const;

 private:
  static void print_text(const Writer& writer, const std::string& text);

  /// One --output: a format and its path.
  struct Output {
    const Writer* writer;
    std::string path;  ///< "-" is standard output
  };

  static Output output_of(const std::string& text, const std::vector<std::string>& inputs);

  Arguments arguments_;
  RenderOptions view_, plain_;
  std::vector<Output> outputs_;
  const Writer* printed_ = nullptr;  ///< for standard output; null if an --output writes there
};

}  // namespace oomdoctor::cli
