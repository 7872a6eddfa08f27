// The survey as one HTML page, under the same rules as the report's: it loads nothing, and it needs no scripts.
#pragma once

#include <string>

#include "oomdoctor/survey.h"
#include "render/html.h"

namespace oomdoctor {

/// Uses the style sheet of the assets alone.
std::string survey_html(const Survey& survey, const PageAssets& assets = shipped_page_assets());

}  // namespace oomdoctor
