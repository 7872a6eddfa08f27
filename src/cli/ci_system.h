// The CI system that runs the job, detected by environment variables.
#pragma once

namespace oomdoctor::cli {

enum class CiSystem { none, github, gitlab, buildkite, jenkins, azure, teamcity };

/// The first system whose variable is not empty; `none` outside CI and on other systems.
CiSystem ci_system();

/// True on any CI system, including unknown ones that set CI. The output is then visible to others.
bool runs_in_ci();

/// Whether the system's log viewer renders colours, although its output is not a terminal.
bool shows_colour(CiSystem system);

}  // namespace oomdoctor::cli
