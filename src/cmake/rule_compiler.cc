// A program of the build. It checks the rules of a folder with the code that checks a user's rules, and writes them as
// the source file that defines shipped_rules(). An invalid rule stops the build, with its file, line and a caret.
//
//   rule_compiler rules/ shipped_rules.cc
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "judge/rule_archive.h"

namespace oomdoctor {
namespace {

constexpr std::size_t bytes_a_line = 96;

/// The bytes as string literals, one per line. Any byte that is not a plain character becomes a three-digit octal
/// escape, so that a following digit is not part of it.
std::string literals(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += bytes_a_line) {
    text += "      \"";
    for (const char c : bytes.substr(at, bytes_a_line)) {
      const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';  // "??" could begin a trigraph
      const auto code = static_cast<unsigned char>(c);
      if (plain)
        text += c;
      else
        text += {'\\', static_cast<char>('0' + (code >> 6)), static_cast<char>('0' + (code >> 3 & 7)),
                 static_cast<char>('0' + (code & 7))};
    }
    text += "\"\n";
  }
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

void compile(const std::string& folder, const std::string& path) {
  RulePack pack;
  pack.add_folder(folder);
  std::ofstream file(path, std::ios::binary);
  file << make_source(pack);
  if (!file.flush()) throw Error(path + ": cannot be written");
}

/// Prints an error with an indented excerpt, so that the caret keeps its column.
void print(const Error& error) {
  std::string text = std::string(error.what()) + '\n';
  for (const std::string_view part : {error.excerpt(), error.help()}) {
    std::string_view rest = part;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += "  " + std::string(rest.substr(0, end)) + '\n';
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  std::fputs(text.c_str(), stderr);
}

}  // namespace
}  // namespace oomdoctor

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: rule_compiler FOLDER SOURCE\n", stderr);
    return 2;
  }
  try {
    oomdoctor::compile(words[1], words[2]);
    return 0;
  } catch (const oomdoctor::Error& error) {
    oomdoctor::print(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
