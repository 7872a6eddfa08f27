#include "base/edit_distance.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace oomdoctor {

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: a swap of neighbours needs the row before the previous one.
  std::vector<int> two_back(b.size() + 1), back(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_back, back);
    std::swap(back, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = back[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, back[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_back[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  int best_distance = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  for (const auto& candidate : candidates) {
    const auto length_difference =
        static_cast<std::ptrdiff_t>(candidate.size()) - static_cast<std::ptrdiff_t>(word.size());
    if (std::abs(length_difference) >= best_distance) continue;  // the distance is at least the difference in length
    const int distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best ? *best : std::string{};
}

}  // namespace oomdoctor
