// The report as GitHub-flavoured Markdown, for issues, job summaries and chats. All text of the log is escaped.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

std::string markdown_text(const Report& report);

}  // namespace oomdoctor
