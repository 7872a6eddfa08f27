// The reports that analyze and merge write, and the surveys: one on standard output, and any number in files.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "oomdoctor/report.h"
#include "render/terminal.h"
#include "render/writer.h"

namespace oomdoctor::cli {

/// The outputs of one command line, checked before any log is read. The result is a Report or a Survey.
template <class Result>
class OutputsOf {
 public:
  /// Throws Error for an invalid --output, so that a mistyped option does not cost the analysis of a large log.
  /// `inputs` are paths that an output must not overwrite.
  OutputsOf(const Arguments& arguments, const std::vector<std::string>& inputs);

  /// True if one of the outputs is a page.
  bool writes_page() const;
  /// Writes all outputs, in the order of the command line. One that fails does not keep the others; afterwards its
  /// exception is thrown, Error or BrokenPipe.
  void write(const Result& whole) const;

 private:
  static void print_text(const WriterOf<Result>& writer, const std::string& text);

  /// One --output: a format and its path.
  struct Output {
    const WriterOf<Result>* writer;
    std::string path;  ///< "-" is standard output
  };

  static Output parse_output(const std::string& text, const std::vector<std::string>& inputs);

  Arguments arguments_;
  RenderOptions view_, plain_;
  std::vector<Output> outputs_;
  const WriterOf<Result>* printed_ = nullptr;  ///< for standard output; null if an --output writes there
};
using Outputs = OutputsOf<Report>;

}  // namespace oomdoctor::cli
