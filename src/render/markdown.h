// The report as GitHub-flavoured Markdown, for issues, job summaries and chats. All log text is escaped.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

std::string markdown_text(const Report& report);

}  // namespace oomdoctor
