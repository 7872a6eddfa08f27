// Lines of the log that the page cites: each is shown once, in the section Evidence, and every mention is a link to it.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor::html {

class Citations {
 public:
  /// Keeps a reference to the report.
  explicit Citations(const Report& report);

  /// "lines 32 and 156" as HTML, in the order of the log, at most `most` of them by name; "" for none.
  std::string links(std::vector<Location> all, std::size_t most) const;
  /// ` id="line-1-32"` for the element that shows the line; "" where no mention leads to it.
  std::string anchor(const Location& at) const;
  /// What reasons and fixes cite, in the order of the log, without the lines of failures.
  const std::vector<const Location*>& lines() const { return lines_; }

 private:
  std::string id(const Location& at) const;
  std::string link(const Location& at, const std::string& text) const;
  void add(const Location& at, std::vector<const Location*>& to);

  const Report& report_;
  std::vector<const Location*> failures_, lines_;
};

}  // namespace oomdoctor::html
