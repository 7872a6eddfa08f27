#include "cli/ci_system.h"

#include "cli/console.h"

namespace oomdoctor::cli {

CiSystem ci_system() {
  struct CiVariable {
    const char* variable;
    CiSystem system;
  };
  constexpr CiVariable signs[] = {{"GITHUB_ACTIONS", CiSystem::github}, {"GITLAB_CI", CiSystem::gitlab},
                                  {"BUILDKITE", CiSystem::buildkite},   {"JENKINS_URL", CiSystem::jenkins},
                                  {"TF_BUILD", CiSystem::azure},        {"TEAMCITY_VERSION", CiSystem::teamcity}};
  for (const CiVariable& sign : signs)
    if (!environment(sign.variable).empty()) return sign.system;
  return CiSystem::none;
}

bool runs_in_ci() { return ci_system() != CiSystem::none || !environment("CI").empty(); }

bool shows_colour(CiSystem system) {
  return system == CiSystem::github || system == CiSystem::gitlab || system == CiSystem::buildkite ||
         system == CiSystem::azure || system == CiSystem::teamcity;
}

}  // namespace oomdoctor::cli
