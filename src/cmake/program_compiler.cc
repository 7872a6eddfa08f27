// A program of the build. It writes the programs in rules/programs/*.toml as the source file that defines
// all_programs(). A wrong file stops the build, with its line and a caret.
//
//   program_compiler rules/programs/ programs.cc
#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "cmake/generated_source.h"
#include "model/program.h"

namespace oomdoctor {
namespace {

Program read_file(const std::filesystem::path& path) {
  const TomlFile file(path.string());
  TomlTable table = file.top();
  return read_program(table);  // the rules read the other keys, and check that there is none too many
}

std::string list(const std::vector<std::string>& texts) {
  std::string out = "{";
  for (const std::string& text : texts) out += literal(text) + ", ";
  return out + '}';
}

std::string make_source(const std::string& folder) {
  std::vector<Program> programs;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".toml") programs.push_back(read_file(file.path()));
  std::sort(programs.begin(), programs.end(),
            [](const Program& a, const Program& b) { return std::tie(a.work, a.name) < std::tie(b.work, b.name); });
  std::string rows;
  for (const Program& program : programs)
    rows += "      {.name = " + literal(program.name) + ",\n       .work = static_cast<Program::Work>(" +
            std::to_string(static_cast<int>(program.work)) +
            "),\n       .images = " + (program.images ? "true" : "false") +
            ",\n       .one_sample = " + (program.one_sample ? "true" : "false") +
            ",\n       .grows = " + (program.grows ? "true" : "false") +
            ",\n       .message = " + literal(program.message) + ",\n       .embeds = " + list(program.embeds) +
            ",\n       .files = " + list(program.files) + ",\n       .parsers = " + list(program.parsers) + "},\n";
  return "// Written by src/cmake/program_compiler.cc from the files in rules/programs/.\n"
         "#include \"facts/programs.h\"\n\n"
         "namespace oomdoctor {\n\n"
         "const std::vector<Program>& all_programs() {\n"
         "  static const std::vector<Program> all = {\n" +
         rows +
         "  };\n"
         "  return all;\n"
         "}\n\n"
         "}  // namespace oomdoctor\n";
}

}  // namespace
}  // namespace oomdoctor

int main(int count, char** words) {
  return oomdoctor::run_compiler("program_compiler", count, words, oomdoctor::make_source);
}
