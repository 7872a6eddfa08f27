// What the name and the folder of a log tell, for logs whose lines carry no tag.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace oomdoctor {

/// "rank_3.log", "log-rank03.txt", "node2_rank17.err", "rank.7/stdout", "attempt_0/3/stderr.log" of torchelastic,
/// "worker-7.log". A number that may count something else is no rank: that of a node, a job, an array task, a device,
/// of a rank within its node, or a range of ranks.
std::optional<int> rank_in_path(std::string_view path);

/// A scheduler's number of the job, with the array task where there is one: "4711" of slurm-4711.out, train.o4711 and
/// 4711.err, "4711_3" of slurm-4711_3.out; "" where the file's name or its folder tells none.
std::string job_in_path(std::string_view path);

/// The same for the logs of one program: its path without the rank and without what tells its outputs apart (.out,
/// .err, stdout, stderr).
std::string program_in_path(std::string_view path);

/// The words of a log's name, in lower case, without those that tell a part of a job ("train", "stderr", "node",
/// "dmesg"): "llama", "sft" of runs/3/llama-sft.log. None where the name is made of such words, or of single letters.
std::set<std::string> words_in_name(std::string_view path);

}  // namespace oomdoctor
