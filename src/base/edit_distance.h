// "Did you mean …": the nearest of a list of names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace oomdoctor {

/// Optimal string alignment distance (insert, delete, replace, swap of neighbours each cost 1).
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, or "" when none is near enough to be meant (a third of the word's length).
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace oomdoctor
