// Bytes as a user's format file, TOML with forms and regexes: an Error, or formats that read their own examples.
#include "../target.h"
#include "base/error.h"
#include "fold/scanner.h"
#include "formats/user_formats.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view text) {
  UserFormats formats({});
  try {
    formats.add("fuzz.toml", text);
  } catch (const Error& error) {
    demand(error.what()[0] != '\0');
    return;
  }
  const Scanner scanner(formats.parsers());
  for (const Parser* parser : formats.parsers())
    for (const LineFormat& gauge : parser->gauges) demand(!scanner.matching_formats(gauge.example).empty());
}

constexpr std::size_t longest = 1024;

/// One format in each notation, and more syntax of TOML.
std::vector<std::string> seeds() {
  std::vector<std::string> all = file_seeds({"docs/own_formats/oomdoctor.toml"}, longest);
  const std::string begin = "[[format]]\nname = \"a/b\"\nanchor = \"gpu_resident=\"\nunit = \"MiB\"\n";
  const std::string end = "example = \"it=40 loss=2.8 gpu_resident=5120.5\"\n";
  all.push_back(begin + "form = \"it={step} ~gpu_resident={allocated}\"\n" + end);
  all.push_back(begin + "form = \"it={step}[ loss={skip}] ~gpu_resident={allocated}\"\n" + end);
  all.push_back(begin + "regex = 'it=(?<step>\\d{1,9}) .{0,80}gpu_resident=(?<allocated>[\\d.]{1,12})'\n" + end);
  all.push_back(begin + "kind = \"gauge\"\nlabel = '''x'''\nform.a.b = [1, 2.5, {c = true}]\n" + end);
  return all;
}

const Added target({.name = "formats", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
