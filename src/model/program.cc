#include "model/program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"

namespace oomdoctor {

namespace {

Program::Work read_work(TomlTable& table) {
  using Work = Program::Work;
  static constexpr auto works = std::to_array<std::pair<std::string_view, Work>>({{"serves", Work::serves},
                                                                                  {"runs", Work::runs},
                                                                                  {"paints", Work::paints},
                                                                                  {"boosts", Work::boosts},
                                                                                  {"simulates", Work::simulates},
                                                                                  {"trains", Work::trains}});
  const std::string word = table.need_text("work");
  const auto work = std::find_if(works.begin(), works.end(), [&](const auto& row) { return row.first == word; });
  if (work == works.end())
    table.fail("work", "there is no work \"" + word + '"', "it serves, runs, paints, boosts, simulates or trains");
  return work->second;
}

}  // namespace

bool Program::owns(std::string_view file) const {
  return std::any_of(files.begin(), files.end(), [&](const std::string& part) { return path_contains(file, part); });
}

Program read_program(TomlTable& table) {
  Program program;
  program.name = table.need_text("name");
  program.work = read_work(table);
  program.images = table.truth("images");
  program.one_sample = table.truth("one_sample");
  program.grows = table.truth("grows");
  program.message = table.text("message");
  program.embeds = table.texts("embeds");
  program.files = table.texts("files");
  program.parsers = table.texts("parsers");
  for (TomlTable& word : table.tables("words")) {
    program.words.push_back({word.need_text("name"), word.need_text("anchor"), word.need_text("example")});
    word.finish("a word has name, anchor and example");
  }
  return program;
}

}  // namespace oomdoctor
