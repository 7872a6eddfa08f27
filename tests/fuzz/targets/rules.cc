// Bytes as a user's rule file: an Error, or rules.
#include "../target.h"
#include "judge/rule_pack.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view text) {
  for (const std::string_view path :
       {"causes/fuzz.toml", "fixes/fuzz.toml", "myths/fuzz.toml", "places.toml", "questions.toml"})
    try {
      RulePack::load({{path, text}});
    } catch (const Error& error) {
      demand(error.what()[0] != '\0');
    }
}

constexpr std::size_t longest = 1500;
std::vector<std::string> seeds() { return file_seeds({"rules/causes", "rules/fixes", "rules/myths"}, longest); }

const Added target({.name = "rules", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
