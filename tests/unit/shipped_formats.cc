// The program of the build that checks parsers/*.toml: a wrong file stops the build and shows its position.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "catch.h"
#include "fold/scanner.h"
#include "formats/format_table.h"

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
expect = { step = "40", allocated = "5120.5" }
)";

constexpr std::string_view setting = R"(title = "Mine"
source = "mine.py"
setting = [
  { key = "my_batch", sets = "batch_size", type = "count", example = "my_batch: 8", expect = "8" },
]
)";

constexpr std::string_view message = R"(title = "Mine"
source = "mine.py"

[[message]]
name = "mine/killed"
anchor = "killed at"
regex = 'killed at (\d{1,9} MB)'
example = "mine: killed at 512 MB"
emit = "killed"
)";

constexpr std::string_view table = R"(title = "Mine"
source = "mine.py"

[[table]]
name = "mine/rows"
anchor = "used_mb"
header = "header"
row = "row"
example_header = "gpu,used_mb"
example_row = "0,512"
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

/// A folder with mine.toml.
class Folder {
 public:
  Folder() { fs::create_directories(formats()); }
  ~Folder() { fs::remove_all(root_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// The generated source, or the error without the path of the file.
  std::string compile(std::string_view text) const {
    const fs::path source = root_ / "table.cc", errors = root_ / "errors";
    fs::remove(source);
    std::ofstream(formats() / "mine.toml", std::ios::binary) << text;
    const std::string command = "\"" OOMDOCTOR_FORMAT_COMPILER "\" \"" + root_.string() + "\" \"" + source.string() +
                                "\" 2>\"" + errors.string() + '"';
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
  const TomlFile file{"mine.toml", text};
  TomlTable top = file.top();
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
        "    { key = \"my_batch\", sets = \"batch_sise\", type = \"count\", example = \"my_batch: 8\", expect = \"8\" "
        "},\n"
        "                               ^\n"
        "  did you mean settings.batch_size?\n");
  CHECK(folder.compile(replaced(setting, "my_batch: 8", "my_batch: full")) ==
        "mine.toml:4: the example does not set batch_size\n"
        "    { key = \"my_batch\", sets = \"batch_size\", type = \"count\", example = \"my_batch: full\", expect = "
        "\"8\" },\n"
        "                                                                       ^\n"
        "  it is a whole line, as a program prints it\n");
}

TEST_CASE("a format says what its example gives") {
  const Folder folder;
  CHECK(folder.compile(replaced(step_format, "\"5120.5\" }", "\"512\" }")) ==
        "mine.toml:10: the example says otherwise\n"
        "  expect = { step = \"40\", allocated = \"512\" }\n"
        "           ^\n"
        "  it gives { step = \"40\", allocated = \"5120.5\" }\n");
  CHECK(folder.compile(replaced(step_format, "expect = { step = \"40\", allocated = \"5120.5\" }\n", "")) ==
        "mine.toml:9: there is no expect\n"
        "  example = \"it=40 loss=2.8 gpu_resident=5120.5\"\n"
        "            ^\n"
        "  the example gives { step = \"40\", allocated = \"5120.5\" }\n");
  CHECK(folder.compile(replaced(setting, "expect = \"8\"", "expect = \"9\"")) ==
        "mine.toml:4: the example says otherwise\n"
        "    { key = \"my_batch\", sets = \"batch_size\", type = \"count\", example = \"my_batch: 8\", expect = \"9\" "
        "},\n"
        "                                                                                               ^\n"
        "  it sets batch_size to \"8\"\n");
  CHECK(folder.compile(replaced(setting, ", expect = \"8\"", "")).find("there is no expect") != std::string::npos);
}

TEST_CASE("a message becomes a pattern that names its function") {
  const Folder folder;
  const std::string source = folder.compile(message);
  CHECK(source.find("namespace mine {\nvoid killed(const Match&, EventSink&);\n}") != std::string::npos);
  CHECK(source.find(".emit = mine::killed") != std::string::npos);
  const std::string remark = folder.compile(replaced(message, "emit = \"killed\"", "remark = \"handled/skipped\""));
  CHECK(remark.find("namespace mine") == std::string::npos);
  CHECK(remark.find(".remark = \"handled/skipped\"") != std::string::npos);
  const std::string shared = folder.compile(replaced(message, "\"killed\"", "\"oomdoctor::emit_step\""));
  CHECK(shared.find(".emit = oomdoctor::emit_step") != std::string::npos);
  CHECK(shared.find("namespace mine") == std::string::npos);
}

TEST_CASE("a wrong message stops the build and shows its position") {
  const Folder folder;
  CHECK(folder.compile(replaced(message, "\"mine: killed at 512 MB\"", "\"mine: killed at ten MB\"")) ==
        "mine.toml:8: the regex does not match the example\n"
        "  example = \"mine: killed at ten MB\"\n"
        "            ^\n"
        "  it is a whole line, as a program prints it\n");
  CHECK(folder.compile(replaced(message, "MB)'", "MB'")) ==
        "mine.toml:7: the regex cannot be read: Unmatched marking parenthesis ( or \\(\n"
        "  regex = 'killed at (\\d{1,9} MB'\n"
        "                                ^\n");
  CHECK(folder.compile(replaced(message, "emit = \"killed\"", "remark = \"handled/skiped\"")) ==
        "mine.toml:9: there is no remark \"handled/skiped\"\n"
        "  remark = \"handled/skiped\"\n"
        "           ^\n"
        "  did you mean handled/skipped?\n");
  CHECK(folder.compile(replaced(message, "emit =", "remark = \"handled/skipped\"\nemit =")) ==
        "mine.toml:9: a message has emit, oom or a remark, and one of them only\n"
        "  remark = \"handled/skipped\"\n"
        "           ^\n");
  CHECK(folder.compile(replaced(message, "\"killed\"", "\"killed()\"")) ==
        "mine.toml:9: this is not the name of a function\n"
        "  emit = \"killed()\"\n"
        "         ^\n");
  CHECK(folder.compile(replaced(message, "emit =", "reach = \"message\"\nemit =")) ==
        "mine.toml:7: there is a blank\n"
        "  regex = 'killed at (\\d{1,9} MB)'\n"
        "                 ^\n"
        "  the text of a message has none\n");
}

TEST_CASE("a message that only copies its numbers is declared, with what its example says") {
  const Folder folder;
  const std::string oom =
      "oom = { kind = \"host\", format = \"mine\", traits = [\"pinned\"], request = \"1\" }\n"
      "expect = { request = \"512 MB\" }\n";
  const std::string declared = replaced(message, "emit = \"killed\"\n", oom);
  const std::string source = folder.compile(declared);
  CHECK(source.find("{{{&Oom::request, 1, \"\"}, }}") != std::string::npos);
  CHECK(source.find(".oom = &mine_ooms[0]") != std::string::npos);
  CHECK(folder.compile(replaced(declared, "\"512 MB\" }", "\"512 GB\" }")) ==
        "mine.toml:10: request is read as 536870912 bytes\n"
        "  expect = { request = \"512 GB\" }\n"
        "           ^\n");
  CHECK(folder.compile(replaced(declared, "request = \"512 MB\"", "limit = \"512 MB\"")) ==
        "mine.toml:10: request is read as 536870912 bytes\n"
        "  expect = { limit = \"512 MB\" }\n"
        "           ^\n");
  CHECK(folder.compile(replaced(declared, "request = \"512 MB\"", "request = \"512 MB\", pid = \"7\"")) ==
        "mine.toml:10: pid is not read\n"
        "  expect = { request = \"512 MB\", pid = \"7\" }\n"
        "           ^\n");
  CHECK(folder.compile(replaced(declared, "request = \"1\"", "request = \"one\"")) ==
        "mine.toml:9: this is not a group of the regex\n"
        "  oom = { kind = \"host\", format = \"mine\", traits = [\"pinned\"], request = \"one\" }\n"
        "                                                                         ^\n"
        "  as in \"1\" or, for a number without a unit, \"1 MiB\"\n");
  CHECK(folder.compile(replaced(declared, "\"pinned\"", "\"pined\"")) ==
        "mine.toml:9: there is no traits \"pined\"\n"
        "  oom = { kind = \"host\", format = \"mine\", traits = [\"pined\"], request = \"1\" }\n"
        "                                                   ^\n"
        "  did you mean pinned?\n");
}

TEST_CASE("a table names the functions that read its header and its rows") {
  const Folder folder;
  const std::string source = folder.compile(table);
  CHECK(source.find("bool header(std::string_view, Layout&);") != std::string::npos);
  CHECK(source.find("bool row(std::string_view, const Layout&, EventSink&);") != std::string::npos);
  CHECK(source.find(".rows = recorded_rows<mine::row>") != std::string::npos);
  CHECK(folder.compile(replaced(table, "row = \"row\"\n", "")) ==
        "mine.toml:5: a table has row or rows, and not both\n"
        "  name = \"mine/rows\"\n"
        "         ^\n");
  CHECK(folder.compile(replaced(table, "\"gpu,used_mb\"", "\"gpu,free_mb\"")) ==
        "mine.toml:9: the example does not hold the anchor\n"
        "  example_header = \"gpu,free_mb\"\n"
        "                   ^\n"
        "  the anchor is used_mb\n");
}

TEST_CASE("a size is emitted with its unit") {
  TextStore texts;
  const auto read = [&](const char* line) {
    const SettingFormat format = read_row(
        R"({ name = "mine/request", anchor = "request ", regex = 'request (\w{1,9})', sets = "job_memory", type = "size", unit = "MB", example = "request 8" })",
        texts);
    const Pattern pattern = make_pattern(format);
    const Parser parser{.name = "mine", .title = "", .patterns = {&pattern, 1}};
    const Parser* const parsers[] = {&parser};
    std::vector<Source> sources;
    sources.push_back(Source::of_text("log", line));
    return Scanner(parsers).scan(sources).settings.at("job_memory").value;
  };
  CHECK(read("request 4000") == "4000 MB");
  CHECK(read("request 16G") == "16 GiB");
  CHECK(read("request 512k") == "512 KiB");
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
