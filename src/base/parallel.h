// Work on several threads whose result does not depend on how many there are.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace oomdoctor {

/// Threads to use where nobody says how many: as many as the machine runs at once, at least 1.
std::size_t default_jobs();

/// Starts up to `count` threads that run `body` once each, fewer where the system has no more. They are joined when the
/// result goes.
std::vector<std::jthread> start_threads(std::size_t count, const std::function<void()>& body);

/// Calls `work` once for each of 0 … count - 1, in any order, on up to `jobs` threads; returns when all are done.
/// Where calls throw, the exception of the lowest number is thrown again, after the others have ended.
void for_each_index(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work);

/// The same with a second half: `then(i)` is called in the order of i, one at a time, after `work(i)`. `work` stays no
/// more than a few numbers ahead of it, so that what lies between the two is bounded.
void for_each_in_order(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
                       const std::function<void(std::size_t)>& then);

}  // namespace oomdoctor
