// Common parts of the programs of the build that check files and write them as C++ source.
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace oomdoctor {

/// A string literal. Any byte that is not a plain character becomes a three-digit octal escape, so that a following
/// digit is not part of it.
inline std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?')  // "??" could begin a trigraph
      out += c;
    else
      out += {'\\', static_cast<char>('0' + (code >> 6)), static_cast<char>('0' + (code >> 3 & 7)),
              static_cast<char>('0' + (code & 7))};
  }
  return out + '"';
}

/// Throws Error if the file cannot be written.
inline void write_source(const std::string& path, std::string_view source) {
  std::ofstream file(path, std::ios::binary);
  file << source;
  if (!file.flush()) throw Error(path + ": cannot be written");
}

/// Prints an error with an indented excerpt, so that the caret keeps its column.
inline void print_error(const Error& error) {
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

/// The main function of such a program: writes what `make_source` returns for the folder. Returns the exit status.
inline int run_compiler(const char* name, int count, char** words, std::string (*make_source)(const std::string&)) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s FOLDER SOURCE\n", name);
    return 2;
  }
  try {
    write_source(words[2], make_source(words[1]));
    return 0;
  } catch (const Error& error) {
    print_error(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}

}  // namespace oomdoctor
