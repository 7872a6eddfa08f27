// A program of the build. It checks the step formats and settings in parsers/*.toml with the code that checks a user's
// formats, and writes them as the source file that defines all_parsers(). A wrong one stops the build, with its file,
// line and a caret.
//
// A family of formats is parsers/NAME.toml, parsers/NAME.cc, which defines oomdoctor::parsers::NAME, or both.
//
//   format_compiler parsers/ parser_table.cc
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts.h"
#include "base/ascii.h"
#include "base/edit_distance.h"
#include "base/small_file.h"
#include "cmake/generated_source.h"
#include "parse/format_table.h"

namespace oomdoctor {
namespace {

struct Family {
  bool has_code = false;      ///< there is a .cc, which has the title and the source
  std::string title, source;  ///< of a .toml alone
  std::vector<LineFormat> formats;
  std::vector<SettingFormat> settings;
};
using Families = std::map<std::string, Family>;  ///< by name

/// The family's name, which is an identifier in the generated source.
std::string name_of(const std::filesystem::path& path) {
  const std::string name = path.stem();
  const auto allowed = [](char c) { return is_lower(c) || is_digit(c) || c == '_'; };
  if (name.empty() || !is_lower(name[0]) || !std::all_of(name.begin(), name.end(), allowed))
    throw Error(path.string() + ": the file's name is the parser's name, so it must be snake_case");
  return name;
}

/// Throws Error if the name is not one of the family's, or if it has a format of that name.
template <typename Format>
void add(std::vector<Format>& formats, const Format& format, const std::string& family, const TomlTable& table) {
  if (!format.name.starts_with(family + '/'))
    table.fail("name", "the name does not begin with that of its file", "write \"" + family + "/…\"");
  for (const Format& other : formats)
    if (other.name == format.name) table.fail("name", "there are two formats \"" + std::string(format.name) + '"');
  formats.push_back(format);
}

/// Throws Error for a key whose setting is no fact, because nothing would read it.
void check_fact(const SettingFormat& setting, const TomlTable& table) {
  const std::string fact = "settings." + std::string(setting.setting);
  if (setting.spelling == SettingSpelling::text || find_fact_spec(fact) != nullptr) return;
  std::vector<std::string> names;
  for (const FactSpec& spec : fact_specs()) names.emplace_back(spec.name);
  const std::string near = did_you_mean(fact, names);
  table.fail("sets", "there is no fact \"" + fact + '"', near.empty() ? near : "did you mean " + near + "?");
}

void read_family(Family& family, const std::filesystem::path& path, TextStore& texts) {
  const std::string text = read_small_file(path), shown = path.string();
  const TomlText toml{shown, text};
  const TomlNode tree = read_toml(toml);
  TomlTable top(toml, tree);
  if (!family.has_code) {
    family.title = top.need_text("title");
    family.source = top.need_text("source");
  }
  const std::string name = path.stem();
  for (TomlTable& table : top.tables("format")) add(family.formats, read_format(table, texts), name, table);
  for (TomlTable& table : top.tables("setting")) {
    if (family.has_code) table.fail("setting", "a family with a .cc has no settings", "write it into settings.toml");
    const SettingFormat setting = read_setting(table, name, texts);
    check_fact(setting, table);
    add(family.settings, setting, name, table);
  }
  top.finish(family.has_code ? "the title and the source are in the .cc of the same name"
                             : "a file has a title, a source, and one [[format]] or [[setting]] per format");
}

Families read_families(const std::filesystem::path& folder, TextStore& texts) {
  Families families;
  std::vector<std::filesystem::path> format_files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path& path = file.path();
    if (path.extension() == ".cc") families[name_of(path)].has_code = true;
    if (path.extension() == ".toml") format_files.push_back(path);
  }
  std::sort(format_files.begin(), format_files.end());  // the first error does not depend on the file system
  for (const auto& path : format_files) read_family(families[name_of(path)], path, texts);
  return families;
}

std::string text_field(const char* name, std::string_view value) {
  return "     ." + std::string(name) + " = " + literal(value) + ",\n";
}

std::string initializer(const LineFormat& format) {
  const auto kind = [](SeriesKind of) { return "SeriesKind::" + std::string(to_string(of)); };
  std::array<char, 32> unit{};
  std::snprintf(unit.data(), unit.size(), "%.17g", format.unit);
  return "    {\n" + text_field("name", format.name) + text_field("anchor", format.anchor) +
         text_field("form", format.form) + "     .unit = " + unit.data() + ",\n" +
         text_field("unit_name", format.unit_name) + "     .maxima = " + kind(format.maxima) +
         ",\n     .current = " + kind(format.current) + ",\n" + text_field("example", format.example) +
         text_field("label", format.label) + text_field("source", format.source) + text_field("regex", format.regex) +
         "    },\n";
}

std::string initializer(const SettingFormat& format) {
  return "    {\n" + text_field("name", format.name) + text_field("setting", format.setting) +
         "     .type = static_cast<SettingType>(" + std::to_string(static_cast<int>(format.type)) +
         "),\n     .spelling = static_cast<SettingSpelling>(" + std::to_string(static_cast<int>(format.spelling)) +
         "),\n" + text_field("value", format.value) + text_field("anchor", format.anchor) +
         text_field("second_anchor", format.second_anchor) + text_field("regex", format.regex) +
         text_field("example", format.example) + "    },\n";
}

template <typename Format>
std::string array_of(const std::vector<Format>& formats, const std::string& type, const std::string& name) {
  std::string text = "constexpr " + type + ' ' + name + "[] = {\n";
  for (const Format& format : formats) text += initializer(format);
  return text + "};\n";
}

/// The declaration of a family's C++ part, the tables of its formats, and the parser with both.
struct FamilySource {
  std::string declaration, tables, parser;
};

FamilySource make_source(const std::string& name, const Family& family) {
  FamilySource source;
  std::string patterns = "{}", gauges = "{}";
  if (!family.formats.empty()) {
    gauges = name + "_formats";
    source.tables += array_of(family.formats, "LineFormat", gauges);
  }
  if (!family.settings.empty()) {
    patterns = name + "_patterns";
    source.tables += array_of(family.settings, "SettingFormat", name + "_settings") + "constexpr auto " + patterns +
                     " = make_patterns(" + name + "_settings);\n";
  }
  if (family.has_code) {
    source.declaration = "extern const Parser " + name + ";\n";
    source.parser = "parsers::" + name;
    if (!family.formats.empty()) source.parser = "with_formats(" + source.parser + ", " + gauges + ')';
  } else {
    source.parser = "{.name = " + literal(name) + ", .title = " + literal(family.title) +
                    ", .source = " + literal(family.source) + ", .patterns = " + patterns + ", .gauges = " + gauges +
                    '}';
  }
  return source;
}

std::string make_source(const Families& families) {
  FamilySource all;
  for (const auto& [name, family] : families) {
    const FamilySource one = make_source(name, family);
    all.declaration += one.declaration;
    all.tables += one.tables;
    all.parser += "      " + one.parser + ",\n";
  }
  const std::string count = std::to_string(families.size());
  return "// Written by src/cmake/format_compiler.cc from the files in parsers/.\n"
         "#include <array>\n"
         "#include <span>\n\n"
         "#include \"parse/setting_format.h\"\n\n"
         "namespace oomdoctor {\n\n"
         "namespace parsers {\n" +
         all.declaration +
         "}  // namespace parsers\n\n"
         "namespace {\n\n" +
         all.tables +
         "\nParser with_formats(Parser parser, std::span<const LineFormat> formats) {\n"
         "  parser.gauges = formats;\n"
         "  return parser;\n"
         "}\n\n"
         "}  // namespace\n\n"
         "std::span<const Parser* const> all_parsers() {\n"
         "  static const std::array<Parser, " +
         count + "> all = {\n" + all.parser +
         "  };\n"
         "  static const auto table = [] {\n"
         "    std::array<const Parser*, " +
         count +
         "> pointers{};\n"
         "    for (std::size_t i = 0; i < pointers.size(); ++i) pointers[i] = &all[i];\n"
         "    return pointers;\n"
         "  }();\n"
         "  return table;\n"
         "}\n\n"
         "}  // namespace oomdoctor\n";
}

}  // namespace
}  // namespace oomdoctor

int main(int count, char** words) {
  return oomdoctor::run_compiler("format_compiler", count, words, [](const std::string& folder) {
    oomdoctor::TextStore texts;
    return oomdoctor::make_source(oomdoctor::read_families(folder, texts));
  });
}
