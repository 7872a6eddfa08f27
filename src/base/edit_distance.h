// "Did you mean …": finds the nearest of a list of names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace oomdoctor {

/// The optimal string alignment distance. An insertion, a deletion, a replacement and a swap of neighbours cost 1 each.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`; "" if the distance exceeds a third of the word's length (at least 1).
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace oomdoctor
