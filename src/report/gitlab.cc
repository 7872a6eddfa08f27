#include "report/gitlab.h"

#include <nlohmann/json.hpp>

#include "report/escape.h"
#include "report/findings.h"

namespace oomdoctor {

// GitLab compares the path with those of the merge request, so it must not be percent-encoded.
std::string gitlab_text(const Report& report, const std::string& folder) {
  using Json = nlohmann::ordered_json;
  Json entries = Json::array();
  for (const auto& finding : findings(report))
    entries.push_back(
        {{"description", plain_line(finding.title + ". " + finding.text)},
         {"check_name", finding.rule},
         {"fingerprint", finding.fingerprint},
         {"severity", finding.level == "error" ? "critical" : "major"},
         {"location",
          {{"path", plain_line(relative_path(finding.file, folder))}, {"lines", {{"begin", finding.line}}}}}});
  return entries.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace oomdoctor
