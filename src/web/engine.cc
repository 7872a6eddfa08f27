// What the page calls: the inputs of a case in, its report out. The inputs are files and folders in the working
// directory, which the worker fills with the user's (worker.js). All as oomdoctor analyze does it.
#include <emscripten.h>

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/inputs.h"
#include "cli/neighbours.h"
#include "oomdoctor/diagnose.h"
#include "oomdoctor/version.h"
#include "redact/redact.h"
#include "render/writer.h"
#include "text/source.h"

namespace oomdoctor::web {
namespace {

/// The case of the page.
class Case {
 public:
  void add(std::string word) { words_.push_back(std::move(word)); }

  /// Returns "" or why there is no report.
  std::string analyze() {
    try {
      Options options;
      options.jobs = 1;                  // a page has one thread
      set_folder_of_texts("/unpacked");  // by the browser
      const auto inputs = cli::resolve_inputs(words_, options, {});
      report_ = diagnose(inputs, options);
      cli::add_neighbours(*report_);
      return "";
    } catch (const Error& error) {
      return error.what() + (error.help().empty() ? "" : "\n" + error.help());
    } catch (const std::bad_alloc&) {
      return "there is not enough memory for this case: the page may use at most 4 GiB\n"
             "pass fewer logs, or use the program on the command line";
    }
  }

  /// The report in a format, with the redaction that the program applies to it by default.
  std::string write(std::string_view format) {
    const Writer* const writer = find_writer(format);
    if (writer == nullptr || !report_) return "";
    if (writer->local) return writer->write(*report_, {});
    if (!shared_) shared_ = redact(*report_, Redaction::secrets).report;
    return writer->write(*shared_, {});
  }

 private:
  std::vector<std::string> words_;
  std::optional<Report> report_, shared_;
};

Case& the_case() {
  static Case only;
  return only;
}

/// Keeps a text until the next call, so that the worker can copy it.
const char* kept(std::string text) {
  static std::string last;
  last = std::move(text);
  return last.c_str();
}

}  // namespace
}  // namespace oomdoctor::web

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* oomdoctor_version() { return oomdoctor::web::kept(std::string(oomdoctor::version)); }
EMSCRIPTEN_KEEPALIVE void oomdoctor_add(const char* word) { oomdoctor::web::the_case().add(word); }
EMSCRIPTEN_KEEPALIVE const char* oomdoctor_analyze() {
  return oomdoctor::web::kept(oomdoctor::web::the_case().analyze());
}
EMSCRIPTEN_KEEPALIVE const char* oomdoctor_write(const char* format) {
  return oomdoctor::web::kept(oomdoctor::web::the_case().write(format));
}
}
