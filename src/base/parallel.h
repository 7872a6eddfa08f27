// Work on several threads. The result does not depend on their number.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace oomdoctor {

/// The default number of threads: as many as the machine runs at once, at least 1.
std::size_t default_jobs();

/// Starts up to `count` threads that each run `body` once, or fewer if the system refuses more. The threads join when
/// the result is destroyed.
std::vector<std::jthread> start_threads(std::size_t count, const std::function<void()>& body);

/// Calls `work` once for each of 0 … count - 1, in any order, on up to `jobs` threads, and returns when all calls are
/// done. If calls throw, it rethrows the exception of the lowest index after all threads have ended.
void for_each_index(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work);

/// Like for_each_index, with a second step: `then(i)` runs after `work(i)`, in the order of i and one at a time, on any
/// of the threads. `work` runs at most a few indexes ahead of `then`, which bounds the results between the two.
void for_each_in_order(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
                       const std::function<void(std::size_t)>& then);

}  // namespace oomdoctor
