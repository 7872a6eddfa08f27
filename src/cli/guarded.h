// The end of every command: exceptions become messages on standard error, and an exit status.
#pragma once

#include <functional>

namespace oomdoctor::cli {

inline constexpr int exit_error = 2;

/// Calls `work` and returns its exit status. Prints what it throws; then the status is that of an error, or of a death
/// by SIGPIPE if standard output was closed.
int guarded(const std::function<int()>& work);

/// Prints a message without allocating memory. Returns the exit status.
int report_out_of_memory();

}  // namespace oomdoctor::cli
