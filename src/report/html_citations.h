// The lines of the log that the page cites. The page shows each once, in the section Evidence, and links every mention
// to it.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor::html {

class Citations {
 public:
  /// Keeps a reference to the report, which must outlive this object.
  explicit Citations(const Report& report);

  /// For example "lines 32 and 156" as HTML, in the order of the log, at most `most` of them; "" for none.
  std::string links(std::vector<Location> all, std::size_t most) const;
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

}  // namespace oomdoctor::html
