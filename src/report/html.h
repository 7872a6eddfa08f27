// The report as one HTML page that loads nothing: it opens offline, from an archive, years later. Everything is
// readable without its scripts and, under a server that forbids inline styles, without its style sheet. All text of the
// log is escaped, and the page's own policy lets no script run but the one whose hash it names.
#pragma once

#include <string>
#include <string_view>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// A file that is written into the page, and the hash that its policy names ("sha256-…").
struct PageAsset {
  std::string_view text, hash;
};

struct PageAssets {
  PageAsset style, script;
};

/// Made by the build from src/report/page/.
const PageAssets& shipped_page_assets();

std::string html_text(const Report& report, const PageAssets& assets = shipped_page_assets());

}  // namespace oomdoctor
