// Reads rank, job and program from the path of a log, for logs whose lines have no tags.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace oomdoctor {

/// The rank in a path: "rank_3.log", "log-rank03.txt", "node2_rank17.err", "rank.7/stdout", torchelastic's
/// "attempt_0/3/stderr.log", "worker-7.log". nullopt if the number may count something else: a node, a job, an array
/// task, a device, a rank within its node, or a range of ranks.
std::optional<int> rank_in_path(std::string_view path);

/// The scheduler's job number, with the array task if there is one: "4711" of slurm-4711.out, train.o4711 and
/// 4711.err, "4711_3" of slurm-4711_3.out. "" if neither file nor folder names contain one.
std::string job_in_path(std::string_view path);

/// A key that is equal for all logs of one program: the path without the rank, without the node of a rank, and without
/// the name of the output (.out, .err, stdout, stderr).
std::string program_in_path(std::string_view path);

/// The user whose folder a path is in: "alice" of /home/alice/train.py, /Users/alice/…, /scratch/users/alice/…; "" for
/// all other paths, and for folders that belong to all users.
std::string user_in_path(std::string_view path);

/// The words of a file name in lower case, without those that name a part of a job ("train", "stderr", "node",
/// "dmesg"): "llama", "sft" of runs/3/llama-sft.log. Empty if only such words or single letters are left.
std::set<std::string> words_in_name(std::string_view path);

}  // namespace oomdoctor
