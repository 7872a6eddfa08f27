#include "read/line_ref.h"

#include <algorithm>

namespace oomdoctor {

Evidence LineRef::evidence() const {
  constexpr std::size_t before = 200;  ///< bytes of a long line kept before the marked part
  Evidence e;
  e.reader = std::string(reader);
  e.span.first_line = first_line;
  e.span.last_line = last_line;
  const std::size_t at = marked.empty() ? std::string_view::npos : line.text.find(marked);
  const bool found = at != std::string_view::npos;
  const std::size_t from = found && line.text.size() > Evidence::max_excerpt && at > before ? at - before : 0;
  e.excerpt = std::string(line.text.substr(from, Evidence::max_excerpt));
  const std::size_t lead = std::min(from, Evidence::max_lead);
  e.lead = std::string(line.text.substr(from - lead, lead));
  if (found) {
    e.span.column = static_cast<int>(at - from);
    e.span.end_column = static_cast<int>(std::min(at - from + marked.size(), e.excerpt.size()));
  }
  return e;
}

}  // namespace oomdoctor
