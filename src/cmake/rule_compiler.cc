// A program of the build. It checks the rules of a folder with the code that checks a user's rules, and writes them as
// the source file that defines shipped_rules(). An invalid rule stops the build, with its file, line and a caret.
//
//   rule_compiler rules/ shipped_rules.cc
#include <string>
#include <string_view>

#include "cmake/generated_source.h"
#include "judge/claims.h"
#include "judge/rule_archive.h"

namespace oomdoctor {
namespace {

constexpr std::size_t bytes_a_line = 96;

/// The bytes as string literals, one per line.
std::string literals(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += bytes_a_line)
    text += "      " + literal(bytes.substr(at, bytes_a_line)) + '\n';
  return text;
}

std::string make_source(const RulePack& pack) {
  return "// Written by src/cmake/rule_compiler.cc from rules/.\n"
         "#include \"judge/rule_archive.h\"\n\n"
         // The standard asks a compiler for 65536 bytes of one literal; g++ and clang take any number.
         "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\n"
         "namespace oomdoctor {\n\n"
         "RulePack shipped_rules() {\n"
         "  static constexpr char bytes[] =\n" +
         literals(archived(pack)) +
         "      ;\n"
         "  return restored({bytes, sizeof bytes - 1});\n"
         "}\n\n"
         "}  // namespace oomdoctor\n";
}

}  // namespace
}  // namespace oomdoctor

int main(int count, char** words) {
  return oomdoctor::run_compiler("rule_compiler", count, words, [](const std::string& folder) {
    oomdoctor::RulePack pack;
    pack.add_folder(folder);
    oomdoctor::check_claims(pack, oomdoctor::read_claims(folder + "/claims.toml"));
    oomdoctor::check_gaps(pack, folder + "/names.toml");
    return oomdoctor::make_source(pack);
  });
}
