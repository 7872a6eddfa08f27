// The reports that analyze and merge write: one on standard output and as many as wished in files.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "oomdoctor/report.h"
#include "report/terminal.h"
#include "report/writer.h"

namespace oomdoctor::cli {

class Outputs {
 public:
  /// Refused before anything is read: a mistyped option must not cost the analysis of a large log. `inputs` are paths
  /// that must not be overwritten. Throws Error.
  Outputs(const Arguments& arguments, const std::vector<std::string>& inputs);

  /// Throws Error and BrokenPipe.
  void write(const Report& whole) const;

 private:
  static void print_text(const Writer& writer, const std::string& text);

  /// One --output: a report in a format, to a place.
  struct Output {
    const Writer* writer;
    std::string path;  ///< "-" is standard output
  };

  static Output output_of(const std::string& text, const std::vector<std::string>& inputs);

  Arguments arguments_;
  RenderOptions view_, plain_;
  std::vector<Output> outputs_;
  const Writer* printed_ = nullptr;  ///< on standard output; null where an --output takes its place
};

}  // namespace oomdoctor::cli
