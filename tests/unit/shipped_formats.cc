// The program of the build that checks parsers/*.toml: a wrong file stops the build and shows its position.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "catch.h"
#include "parse/format_table.h"

namespace fs = std::filesystem;
using namespace oomdoctor;

namespace {

constexpr std::string_view step_format = R"(title = "Mine"
source = "mine.py"

[[format]]
name = "mine/step"
anchor = "gpu_resident="
form = "it={step} ~gpu_resident={allocated}"
unit = "MiB"
example = "it=40 loss=2.8 gpu_resident=5120.5"
)";

constexpr std::string_view setting = R"(title = "Mine"
source = "mine.py"
setting = [
  { key = "my_batch", sets = "batch_size", type = "count", example = "my_batch: 8" },
]
)";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const auto at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder with mine.toml, and with mine.cc after add_code().
class Folder {
 public:
  Folder() { fs::create_directories(formats()); }
  ~Folder() { fs::remove_all(root_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void add_code() const { std::ofstream(formats() / "mine.cc").put('\n'); }

  /// The generated source, or the error without the path of the file.
  std::string compile(std::string_view text) const {
    const fs::path source = root_ / "table.cc", errors = root_ / "errors";
    fs::remove(source);
    std::ofstream(formats() / "mine.toml", std::ios::binary) << text;
    const std::string command = "\"" OOMDOCTOR_FORMAT_COMPILER "\" \"" + formats().string() + "\" \"" +
                                source.string() + "\" 2>\"" + errors.string() + '"';
    if (std::system(command.c_str()) == 0) return read_file(source);
    CHECK_FALSE(fs::exists(source));
    const std::string error = read_file(errors), path = formats().string() + '/';
    return error.starts_with(path) ? error.substr(path.size()) : error;
  }

 private:
  fs::path formats() const { return root_ / "parsers"; }

  fs::path root_ = fs::temp_directory_path() / "oomdoctor_format_compiler_test";
};

SettingFormat read_row(std::string_view row, TextStore& texts) {
  const std::string text = "setting = [" + std::string(row) + "]\n";
  const TomlText file{"mine.toml", text};
  const TomlNode tree = read_toml(file);
  TomlTable top(file, tree);
  return read_setting(top.tables("setting").front(), "mine", texts);
}

}  // namespace

TEST_CASE("a step format becomes a row of the table of parsers") {
  const std::string source = Folder().compile(step_format);
  CHECK(source.find(".form = \"it={step} ~gpu_resident={allocated}\"") != std::string::npos);
  CHECK(source.find(".gauges = mine_formats") != std::string::npos);
}

TEST_CASE("a wrong step format stops the build and shows its position") {
  const Folder folder;
  CHECK(folder.compile(replaced(step_format, "{allocated}", "{alocated}")) ==
        "mine.toml:7: there is no number \"alocated\"\n"
        "  form = \"it={step} ~gpu_resident={alocated}\"\n"
        "                                   ^\n"
        "  did you mean allocated?\n");
  CHECK(folder.compile(replaced(step_format, "it=40", "step 40")) ==
        "mine.toml:9: the form does not read the example\n"
        "  example = \"step 40 loss=2.8 gpu_resident=5120.5\"\n"
        "            ^\n"
        "  it is a whole line, as the program prints it\n");
  CHECK(folder.compile(replaced(step_format, "mine/step", "mime/step")) ==
        "mine.toml:5: the name does not begin with that of its file\n"
        "  name = \"mime/step\"\n"
        "         ^\n"
        "  write \"mine/…\"\n");
  CHECK(folder.compile(replaced(step_format, "title", "tilte")) ==
        "mine.toml:1: the key \"title\" is missing\n"
        "  tilte = \"Mine\"\n"
        "  ^\n"
        "  did you write \"tilte\" for it?\n");
}

TEST_CASE("a wrong setting stops the build and shows its position") {
  const Folder folder;
  CHECK(folder.compile(setting).find(".setting = \"batch_size\"") != std::string::npos);
  CHECK(folder.compile(replaced(setting, "\"batch_size\"", "\"batch_sise\"")) ==
        "mine.toml:4: there is no fact \"settings.batch_sise\"\n"
        "    { key = \"my_batch\", sets = \"batch_sise\", type = \"count\", example = \"my_batch: 8\" },\n"
        "                               ^\n"
        "  did you mean settings.batch_size?\n");
  CHECK(folder.compile(replaced(setting, "my_batch: 8", "my_batch: full")) ==
        "mine.toml:4: the example does not set batch_size\n"
        "    { key = \"my_batch\", sets = \"batch_size\", type = \"count\", example = \"my_batch: full\" },\n"
        "                                                                       ^\n"
        "  it is a whole line, as a program prints it\n");
}

TEST_CASE("a title belongs to the code of a family, if it has code") {
  const Folder folder;
  folder.add_code();
  CHECK(folder.compile(step_format) ==
        "mine.toml:2: unknown key \"source\"\n"
        "  source = \"mine.py\"\n"
        "  ^\n"
        "  the title and the source are in the .cc of the same name\n");
  const std::string source = folder.compile(step_format.substr(step_format.find("[[")));
  CHECK(source.find("with_formats(parsers::mine, mine_formats)") != std::string::npos);
}

TEST_CASE("a setting is a key in all its spellings, an option only, or a text") {
  TextStore texts;
  const SettingFormat key =
      read_row(R"({ key = "my_batch", sets = "batch_size", type = "count", example = "--my-batch 8" })", texts);
  CHECK(key.name == "mine/my_batch");
  CHECK(key.anchor == "my_batch");
  CHECK(key.second_anchor == "my-batch");
  const SettingFormat option = read_row(
      R"({ key = "my_batch", option_only = true, sets = "batch_size", type = "count", example = "--my_batch 8" })",
      texts);
  CHECK(option.anchor == "--my_batch");
  CHECK_THROWS(read_row(
      R"({ key = "my_batch", option_only = true, sets = "batch_size", type = "count", example = "--x my_batch: 8" })",
      texts));
  const SettingFormat text = read_row(
      R"({ name = "mine/start", anchor = "Mine v", sets = "program", value = "mine", example = "Mine v2" })", texts);
  CHECK(text.regex.empty());
  CHECK(text.value == "mine");
}
