// The parts of the HTML page, top to bottom. A part without content writes nothing; html.cc puts the parts into titled
// sections.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "oomdoctor/report.h"
#include "render/document.h"
#include "render/html.h"
#include "render/plot.h"
#include "report/words.h"

namespace oomdoctor::html {

/// The lines of the log that the page cites. The page shows each once, in the section Evidence, and links every mention
/// to it.
class Citations {
 public:
  /// Keeps a reference to the report, which must outlive this object.
  explicit Citations(const Report& report);

  /// For example "lines 32 and 156" as HTML, in the order of the log, at most `most` of them; "" for none.
  std::string links(std::vector<Location> all, std::size_t most) const;
  /// For example "lines 32–156".
  std::string links_of_range(const Location& first, const Location& last) const;
  /// The attribute ` id="line-1-32"` for the element that shows the line; "" if no mention links to it.
  std::string anchor(const Location& at) const;
  /// The lines that reasons and fixes cite, in the order of the log, without the lines of failures.
  const std::vector<const Location*>& lines() const { return lines_; }

 private:
  std::string id(const Location& at) const;
  std::string link(const Location& at, const std::string& text) const;
  void add(const Location& at, std::vector<const Location*>& to);

  const Report& report_;
  std::vector<const Location*> failures_, lines_;
};

/// The input of every part. Keeps a reference to the report, which must outlive it.
struct Content {
  explicit Content(const Report& of) : report(of), plots(make_plots(of)), citations(of) {}

  const Report& report;
  std::vector<Plot> plots;  ///< the first one is next to the verdict
  Citations citations;
};

/// The head of a page: its policy, title and style sheet. The page may run this script, which may draw pictures only if
/// `draws`.
void add_head(Document& page, const std::string& title, const PageAsset& style, const PageAsset& script,
              bool draws = false);

/// The GPU of a failure: "GPU 0, NVIDIA A100-SXM4-80GB".
std::string gpu_of_failure(const Report& report, const ReportIncident& of);
/// The GPU that the verdict is about: "GPU 0, NVIDIA A100-SXM4-80GB"; "" if it is about none. The card of the verdict
/// names it.
std::string verdict_gpu_words(const Report& report);
/// The failure that the verdict is about, else the first one; null without a failure. Points into the report.
const ReportIncident* main_incident(const Report& report);
/// A text of the report as HTML; text between backticks becomes code.
std::string with_code(const std::string& text);
/// The same, followed by links to its lines: "Memory grows by 48.0 MiB per step (lines 32 and 156)."
std::string cited(const std::string& text, const std::string& links);
/// A command or a line of code under a heading with its place. page.js adds a copy button. One with a gap to fill
/// cannot be pasted: it is a sentence with code.
void add_command(Document& page, const std::string& place, const std::string& text, bool gap);

inline constexpr std::size_t rows_shown = 8;  ///< of a long table; the others unfold
inline constexpr std::size_t max_rows = 256;  ///< only the JSON report has the rest

/// Shows `shown` rows and folds the others ("12 more"). Beyond the limit, refers to the JSON report. A few rows more
/// than `shown` are not worth a fold.
void add_folded(Document& page, std::size_t all, std::size_t shown, auto add_range) {
  const std::size_t written = std::min(all, max_rows), open = written <= shown + shown / 2 ? written : shown;
  add_range(0, open);
  if (written > open) {
    page.add("<details><summary>{} more</summary>\n", written - open);
    add_range(open, written);
    page.add("</details>\n");
  }
  if (all > written)
    page.add("<p class=\"muted\">{} more are in the JSON report.</p>\n",
             count_text(static_cast<std::int64_t>(all - written)));
}

void add_facts(Document& page, const Content& content);  ///< log, host, GPU, framework, version
std::string_view tone(const Report& report);             ///< class of the verdict: "bad", "warn" or "good"
void add_verdict(Document& page, const Content& content);
void add_first_fix(Document& page, const Content& content);
void add_fixes(Document& page, const Content& content);  ///< all but the first fix, what won't help, open questions
void add_account_bar(Document& page, const Content& content);  ///< where the memory was, drawn to scale
void add_account_table(Document& page, const Content& content);
void add_snapshots(Document& page, const Content& content);  ///< what they show
/// Pictures of a snapshot; nothing if it has none.
void add_memory_map(Document& page, const ReportSnapshot& of);
void add_live_memory(Document& page, const ReportSnapshot& of);
void add_chart(Document& page, const Plot& plot);
void add_series(Document& page, const Content& content);    ///< all but the first chart, every series, the ranks
void add_failures(Document& page, const Content& content);  ///< as the log printed them
void add_reasons(Document& page, const Content& content);   ///< causes, with the lines that support them
void add_inputs(Document& page, const Content& content);    ///< the inputs, and the notes on reading them

}  // namespace oomdoctor::html
