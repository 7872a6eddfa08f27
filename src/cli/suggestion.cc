#include "cli/suggestion.h"

#include "base/edit_distance.h"

namespace oomdoctor::cli {

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = did_you_mean(word, candidates);
  return near.empty() ? near : "did you mean '" + near + "'?";
}

}  // namespace oomdoctor::cli
