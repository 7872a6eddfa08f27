// A captured screen, played back from pieces.
#pragma once

#include <string>
#include <string_view>

#include "text/screen.h"

namespace oomdoctor::testing {

/// The text that the screen shows, with input pieces of `piece` bytes.
inline std::string played(std::string_view raw, std::size_t piece) {
  ScreenPlayer player;
  std::string text;
  for (std::size_t at = 0; at < raw.size(); at += piece) player.feed(raw.substr(at, piece), text);
  player.finish(text);
  return text;
}

}  // namespace oomdoctor::testing
