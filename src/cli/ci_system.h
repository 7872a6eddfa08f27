// The system that runs the job, as its environment says.
#pragma once

namespace oomdoctor::cli {

enum class CiSystem { none, github, gitlab, buildkite, jenkins, azure, teamcity };

CiSystem ci_system();

/// On a system of these or another one: others will read what is printed.
bool runs_in_ci();

/// Its log viewer shows colours although it is no terminal.
bool shows_colour(CiSystem system);

}  // namespace oomdoctor::cli
