// The rank that a file's name or folder tells, for logs whose lines carry no tag.
#pragma once

#include <optional>
#include <string_view>

namespace oomdoctor {

/// "rank_3.log", "log-rank03.txt", "node2_rank17.err", "rank.7/stdout", "attempt_0/3/stderr.log" of torchelastic,
/// "worker-7.log". A number that may count something else is no rank: that of a node, a job, an array task, a device,
/// of a rank within its node, or a range of ranks.
std::optional<int> rank_in_path(std::string_view path);

}  // namespace oomdoctor
