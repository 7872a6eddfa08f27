// The report as one HTML page that loads nothing: it works offline and from an archive. Everything is readable without
// its scripts, and, under a server that forbids inline styles, without its style sheet. All log text is escaped, and
// the page's Content-Security-Policy allows only its own script and style sheet, by their hashes.
#pragma once

#include <string>
#include <string_view>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// A file that the page embeds, and its hash for the policy ("sha256-…").
struct PageAsset {
  std::string_view text, hash;
};

struct PageAssets {
  PageAsset style, script, survey_script;
};

/// The files of src/render/page/, embedded by the build.
const PageAssets& shipped_page_assets();

std::string html_text(const Report& report, const PageAssets& assets = shipped_page_assets());

}  // namespace oomdoctor
