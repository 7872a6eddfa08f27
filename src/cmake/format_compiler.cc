// A program of the build. It checks parsers/*.toml, the step formats with the code that checks a user's, and writes
// them as the source file that defines all_parsers(). A wrong one stops the build, with its file, line and a caret.
//
// A family of formats is parsers/NAME.toml. The functions that it names are in parsers/NAME.cc, in the namespace
// oomdoctor::parsers::NAME. The generated source declares them, so a missing one stops the link.
//
// The words of the programs in rules/programs/ belong to the family "programs".
//
//   format_compiler PROJECT parser_table.cc
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/edit_distance.h"
#include "cmake/generated_source.h"
#include "facts/facts.h"
#include "formats/format_table.h"
#include "model/program.h"

namespace oomdoctor {
namespace {

struct Family {
  std::string title, source;
  std::vector<LineFormat> formats;
  std::vector<SettingFormat> settings;
  std::vector<MessageFormat> messages;
  std::vector<TableFormat> tables;
};
using Families = std::map<std::string, Family>;  ///< by name

std::string_view name_of(const LineFormat& format) { return format.name; }
std::string_view name_of(const SettingFormat& format) { return format.name; }
std::string_view name_of(const MessageFormat& format) { return format.pattern.name; }
std::string_view name_of(const TableFormat& format) { return format.table.name; }

/// The family's name, which is an identifier in the generated source.
std::string family_of(const std::filesystem::path& path) {
  const std::string name = path.stem();
  const auto allowed = [](char c) { return is_lower(c) || is_digit(c) || c == '_'; };
  if (name.empty() || !is_lower(name[0]) || !std::all_of(name.begin(), name.end(), allowed))
    throw Error(path.string() + ": the file's name is the parser's name, so it must be snake_case");
  return name;
}

/// Throws Error if the name is not one of the family's, or if it has a format of that name.
template <typename Format>
void add(std::vector<Format>& formats, const Format& format, const std::string& family, const TomlTable& table) {
  const std::string_view name = name_of(format);
  if (!name.starts_with(family + '/'))
    table.fail("name", "the name does not begin with that of its file", "write \"" + family + "/…\"");
  for (const Format& other : formats)
    if (name_of(other) == name) table.fail("name", "there are two formats \"" + std::string(name) + '"');
  formats.push_back(format);
}

/// Throws Error for a key whose setting is not a fact, because nothing would read it.
void check_fact(const SettingFormat& setting, const TomlTable& table) {
  const std::string fact = "settings." + std::string(setting.setting);
  if (setting.spelling == SettingSpelling::text || find_fact_spec(fact) != nullptr) return;
  std::vector<std::string> names;
  for (const FactSpec& spec : fact_specs()) names.emplace_back(spec.name);
  const std::string near = did_you_mean(fact, names);
  table.fail("sets", "there is no fact \"" + fact + '"', near.empty() ? near : "did you mean " + near + "?");
}

Family read_family(const std::filesystem::path& path, TextStore& texts) {
  const std::string name = family_of(path);
  const TomlFile file(path.string());
  TomlTable top = file.top();
  Family family;
  family.title = top.need_text("title");
  family.source = top.text("source");
  for (TomlTable& table : top.tables("format"))
    add(family.formats, read_format(table, texts, Expect::needed), name, table);
  for (TomlTable& table : top.tables("message")) add(family.messages, read_message(table, texts), name, table);
  for (TomlTable& table : top.tables("table")) add(family.tables, read_table(table, texts), name, table);
  for (TomlTable& table : top.tables("setting")) {
    const SettingFormat setting = read_setting(table, name, texts, Expect::needed);
    check_fact(setting, table);
    add(family.settings, setting, name, table);
  }
  top.finish("a file has a title, a source, and one [[format]], [[message]], [[setting]] or [[table]] per format");
  return family;
}

/// The TOML files of a folder. They are sorted, so that the first error does not depend on the file system.
std::vector<std::filesystem::path> list_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".toml") files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// The words of a program as settings: the engine or the program is its name.
void read_words(Family& family, const std::filesystem::path& path, TextStore& texts) {
  const TomlFile file(path.string());
  TomlTable table = file.top();
  const Program program = read_program(table);
  for (TomlTable& word : table.tables("words"))
    add(family.settings, read_word(word, "programs", program, texts), "programs", word);
}

Families read_families(const std::filesystem::path& project, TextStore& texts) {
  Families families;
  for (const auto& path : list_files(project / "parsers")) families.emplace(family_of(path), read_family(path, texts));
  if (const auto programs = project / "rules" / "programs"; std::filesystem::is_directory(programs))
    for (const auto& path : list_files(programs)) read_words(families["programs"], path, texts);
  return families;
}

/// One member of an initializer; "" for an empty value, which is the default.
std::string member(const char* name, std::string_view value) {
  return value.empty() ? "" : "     ." + std::string(name) + " = " + std::string(value) + ",\n";
}
std::string text_member(const char* name, std::string_view value) {
  return value.empty() ? "" : member(name, literal(value));
}
std::string flag_member(const char* name, bool value) { return value ? member(name, "true") : ""; }

std::string initializer(const LineFormat& format) {
  const auto kind = [](SeriesKind of) { return "SeriesKind::" + std::string(to_string(of)); };
  std::array<char, 32> unit{};
  std::snprintf(unit.data(), unit.size(), "%.17g", format.unit);
  return text_member("name", format.name) + text_member("anchor", format.anchor) + text_member("form", format.form) +
         member("unit", unit.data()) + text_member("unit_name", format.unit_name) +
         member("maxima", kind(format.maxima)) + member("current", kind(format.current)) +
         text_member("example", format.example) + text_member("label", format.label) +
         text_member("source", format.source) + text_member("regex", format.regex);
}

/// A named enumerator as the source writes it.
template <class Enum>
std::string enumerator(const char* type, Enum value) {
  return "static_cast<" + std::string(type) + ">(" + std::to_string(static_cast<int>(value)) + ')';
}

std::string initializer(const SettingFormat& format) {
  return text_member("name", format.name) + text_member("setting", format.setting) +
         member("type", enumerator("SettingType", format.type)) +
         member("spelling", enumerator("SettingSpelling", format.spelling)) + text_member("value", format.value) +
         text_member("unit", format.unit) + text_member("anchor", format.anchor) +
         text_member("second_anchor", format.second_anchor) +
         member("further_anchors",
                '{' + literal(format.further_anchors[0]) + ", " + literal(format.further_anchors[1]) + '}') +
         text_member("regex", format.regex) + text_member("example", format.example) +
         text_member("source", format.source);
}

/// The declarations of the functions that a family names.
class DeclaredFunctions {
 public:
  explicit DeclaredFunctions(std::string family) : family_(std::move(family)) {}

  /// The function as the tables name it. `before` and `after` are its type, without the name.
  std::string use(const std::string& function, const char* before, const char* after) {
    if (function.empty() || function.find(':') != function.npos) return function;  // a header declares the latter
    declarations_.insert(std::string(before) + ' ' + function + after + ";\n");
    return family_ + "::" + function;
  }

  std::string declarations() const {
    if (declarations_.empty()) return "";
    std::string text = "namespace " + family_ + " {\n";
    for (const std::string& one : declarations_) text += one;
    return text + "}\n";
  }

 private:
  std::string family_;
  std::set<std::string> declarations_;
};

std::string initializer(const OomTemplate& as) {
  std::string traits, sizes, words;
  for (const auto& trait : as.traits)
    if (trait) traits += enumerator("OomTrait", *trait) + ", ";
  for (const OomTemplate::PrintedSize& size : as.sizes) {
    if (size.group == 0) continue;
    const auto of =
        std::find_if(oom_sizes.begin(), oom_sizes.end(), [&](const OomSize& s) { return s.field == size.field; });
    sizes += "{&Oom::" + std::string(of->name) + ", " + std::to_string(size.group) + ", " + literal(size.unit) + "}, ";
  }
  for (const std::string_view word : as.unless_near)
    if (!word.empty()) words += literal(word) + ", ";
  const auto array = [](const char* name, const std::string& items) {
    return items.empty() ? "" : member(name, "{{" + items + "}}");
  };
  const auto number = [](const char* name, auto value) {
    return value == 0 ? "" : member(name, std::to_string(value));
  };
  return member("kind", enumerator("OomKind", as.kind)) + member("agent", enumerator("Agent", as.agent)) +
         text_member("framework", as.framework) + text_member("format", as.format) +
         text_member("program", as.program) + array("traits", traits) + array("sizes", sizes) +
         number("device", as.device) + number("pid", as.pid) + number("process_name", as.process_name) +
         flag_member("caught", as.caught) + flag_member("described", as.described) +
         flag_member("not_in_code", as.not_in_code) + number("back", as.back) + number("ahead", as.ahead) +
         array("unless_near", words) + text_member("remark", as.remark);
}

std::string initializer(const MessageFormat& format, const std::string& anchors, const std::string& oom,
                        DeclaredFunctions& functions) {
  const Pattern& p = format.pattern;
  return text_member("name", p.name) + text_member("anchor", p.anchor) + text_member("second_anchor", p.second_anchor) +
         member("more_anchors", anchors) + text_member("regex", p.regex) +
         (p.reach == Reach::message ? member("reach", "Reach::message") : "") + text_member("example", p.example) +
         member("emit", functions.use(format.emit, "void", "(const Match&, EventSink&)")) + member("oom", oom) +
         text_member("remark", p.remark) + flag_member("fallback", p.fallback) + flag_member("fold_case", p.fold_case) +
         member("accepts", functions.use(format.accepts, "bool", "(std::string_view)")) +
         member("accepts_parsed", functions.use(format.accepts_parsed, "bool", "(const FreeformLine&)")) +
         member("may_match", functions.use(format.may_match, "bool", "(std::string_view, std::size_t)")) +
         (p.before_anchor ? member("before_anchor", std::to_string(*p.before_anchor)) : "") +
         flag_member("digits_are_numbers", p.digits_are_numbers) + flag_member("non_exclusive", p.non_exclusive) +
         text_member("source", p.source);
}

std::string initializer(const TableFormat& format, DeclaredFunctions& functions) {
  const Table& t = format.table;
  const std::string row = functions.use(format.row, "bool", "(std::string_view, const Layout&, EventSink&)");
  const std::string rows = functions.use(format.rows, "std::unique_ptr<Rows>", "(const Layout&)");
  return text_member("name", t.name) + text_member("anchor", t.anchor) +
         text_member("example_header", t.example_header) + text_member("example_row", t.example_row) +
         member("header", functions.use(format.header, "bool", "(std::string_view, Layout&)")) +
         member("sniff", functions.use(format.sniff, "bool", "(const FirstLines&, Layout&)")) +
         member("rows", row.empty() ? rows : "recorded_rows<" + row + '>') + text_member("source", t.source);
}

/// An array of `initializers`, or nothing if there are none.
std::string make_array(const std::string& type, const std::string& name, const std::string& initializers) {
  return initializers.empty() ? "" : "constexpr " + type + ' ' + name + "[] = {\n" + initializers + "};\n";
}

std::string row(const std::string& members) { return "    {\n" + members + "    },\n"; }

/// The declarations of a family's functions, the arrays of its formats, and the parser with both.
struct FamilySource {
  std::string functions, arrays, parser;
};

FamilySource make_source(const std::string& name, const Family& family) {
  DeclaredFunctions functions(name);
  FamilySource source;
  std::string patterns, ooms, formats, settings, tables;
  std::size_t ooms_count = 0;
  for (const MessageFormat& format : family.messages) {
    std::string anchors, texts;
    for (const std::string& anchor : format.more_anchors) texts += "    " + literal(anchor) + ",\n";
    if (!texts.empty()) anchors = name + "_anchors_" + std::to_string(&format - family.messages.data());
    source.arrays += make_array("std::string_view", anchors, texts);
    std::string oom;
    if (format.oom) {
      oom = '&' + name + "_ooms[" + std::to_string(ooms_count++) + ']';
      ooms += row(initializer(*format.oom));
    }
    patterns += row(initializer(format, anchors, oom, functions));
  }
  for (const SettingFormat& format : family.settings) {
    patterns += "    make_pattern(" + name + "_settings[" + std::to_string(&format - family.settings.data()) + "]),\n";
    settings += row(initializer(format));
  }
  for (const LineFormat& format : family.formats) formats += row(initializer(format));
  for (const TableFormat& format : family.tables) tables += row(initializer(format, functions));
  const auto add = [&](const char* member_name, const std::string& type, const std::string& array,
                       const std::string& rows) {
    source.arrays += make_array(type, array, rows);
    return rows.empty() ? "" : member(member_name, array);
  };
  add("", "SettingFormat", name + "_settings", settings);
  add("", "OomTemplate", name + "_ooms", ooms);
  source.parser =
      row(text_member("name", name) + text_member("title", family.title) + text_member("source", family.source) +
          add("patterns", "Pattern", name + "_patterns", patterns) +
          add("gauges", "LineFormat", name + "_formats", formats) + add("tables", "Table", name + "_tables", tables));
  source.functions = functions.declarations();
  return source;
}

std::string make_source(const Families& families) {
  FamilySource all;
  for (const auto& [name, family] : families) {
    const FamilySource one = make_source(name, family);
    all.functions += one.functions;
    all.arrays += one.arrays;
    all.parser += one.parser;
  }
  return "// Written by src/cmake/format_compiler.cc from the files in parsers/.\n"
         "#include <array>\n"
         "#include <iterator>\n"
         "#include <span>\n\n"
         "#include \"read/freeform.h\"\n"
         "#include \"read/oom_template.h\"\n"
         "#include \"read/recorded_rows.h\"\n"
         "#include \"read/setting_format.h\"\n\n"
         "namespace oomdoctor {\n"
         "namespace parsers {\n\n" +
         all.functions + "\nnamespace {\n\n" + all.arrays + "\nconstexpr Parser all[] = {\n" + all.parser +
         "};\n\n"
         "constexpr auto pointers = [] {\n"
         "  std::array<const Parser*, std::size(all)> list{};\n"
         "  for (std::size_t i = 0; i < list.size(); ++i) list[i] = &all[i];\n"
         "  return list;\n"
         "}();\n\n"
         "}  // namespace\n"
         "}  // namespace parsers\n\n"
         "std::span<const Parser* const> all_parsers() { return parsers::pointers; }\n\n"
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
