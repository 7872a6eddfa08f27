#include "parse/user_formats.h"

#include <algorithm>
#include <array>
#include <deque>

#include "base/edit_distance.h"
#include "base/error.h"
#include "base/small_file.h"
#include "parse/format_notation.h"
#include "parse/line_format.h"
#include "parse/scanner.h"
#include "text/toml_table.h"

namespace oomdoctor {

struct UserFormats::File {
  std::deque<std::string> texts;  ///< backing store for the views in `gauges` and `parser`; its elements never move
  std::vector<LineFormat> gauges;
  Parser parser{};

  std::string_view keep(std::string text) { return texts.emplace_back(std::move(text)); }
};

namespace {

constexpr std::size_t min_anchor_bytes = 4;

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 9> units{{{"B", 1},
                                     {"KB", 1e3},
                                     {"KiB", 1024},
                                     {"MB", 1e6},
                                     {"MiB", static_cast<double>(MiB)},
                                     {"GB", 1e9},
                                     {"GiB", static_cast<double>(GiB)},
                                     {"TB", 1e12},
                                     {"TiB", static_cast<double>(TiB)}}};
constexpr std::array<SeriesKind, 4> kinds{SeriesKind::gauge, SeriesKind::sampled_gauge, SeriesKind::running_maximum,
                                          SeriesKind::reset_maximum};

/// The row whose name is the key's value. Throws Error with the most similar name, or with all names.
template <typename Rows, typename NameOf>
const auto& find_row(TomlTable& table, std::string_view key, const Rows& rows, NameOf name_of) {
  const std::string word = table.need_text(key);
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (name_of(row) == word) return row;
    names.emplace_back(name_of(row));
  }
  table.fail(key, "there is no " + std::string(key) + " \"" + word + '"', nearest_or_all(word, names));
}

bool is_family_and_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/';
  };
  return slash != std::string_view::npos && slash > 0 && slash + 1 < name.size() && slash == name.rfind('/') &&
         std::all_of(name.begin(), name.end(), allowed);
}

bool is_maximum(SeriesKind kind) { return kind == SeriesKind::running_maximum || kind == SeriesKind::reset_maximum; }

/// A maximum kind applies to the max_… numbers, or to all numbers if none is named so. Any other kind applies to the
/// other numbers.
void set_kind(LineFormat& gauge, SeriesKind kind) {
  if (!is_maximum(kind)) {
    gauge.current = kind;
    return;
  }
  gauge.maxima = kind;
  const auto names = names_of(gauge);
  if (std::none_of(names.begin(), names.end(), [](std::string_view name) { return name.starts_with("max_"); }))
    gauge.current = kind;
}

/// Scans the example like a log: what fails here would fail in a log.
void check_example(const TomlTable& table, const LineFormat& gauge) {
  if (gauge.example.find(gauge.anchor) == std::string_view::npos)
    table.fail("example", "the example does not hold the anchor", "the anchor is " + std::string(gauge.anchor));
  std::vector<GaugeValue> values;
  const CompiledLineFormat form(gauge);
  const FormEnd read = form.read(gauge.example, 0, values);
  if (read.search == Search::too_costly)
    table.fail("regex", "the regex takes too many steps on the example", "limit its repetitions");
  if (!read) {
    const std::string notation = gauge.regex.empty() ? "form" : "regex";
    table.fail("example", "the " + notation + " does not read the example",
               "it is a whole line, as the program prints it");
  }
  const Parser alone{.name = "example", .title = "", .patterns = {}, .gauges = {&gauge, 1}};
  const Parser* const parsers[] = {&alone};
  std::vector<Source> sources;
  sources.push_back(Source::of_text("example", std::string(gauge.example)));
  const ScanResult scan = Scanner(parsers).scan(sources);
  if (scan.series.empty() && std::any_of(values.begin(), values.end(), [&](const GaugeValue& v) {
        return form.numbers()[v.number].kind == GaugeNumber::Kind::memory;
      }))
    table.fail("example", "no machine has the memory that the example says",
               "one is " + std::string(gauge.unit_name) + ": is that the unit?");
}

LineFormat read_format(TomlTable& table, const TomlText& file, const auto& keep) {
  LineFormat gauge;
  gauge.name = keep(table.need_text("name"));
  if (!is_family_and_name(gauge.name))
    table.fail("name", "a name is two words of letters, digits, _, - and . with a slash between them",
               "as in \"trainer/step\"");
  gauge.anchor = keep(table.need_text("anchor"));
  if (gauge.anchor.size() < min_anchor_bytes)
    table.fail("anchor", "an anchor has at least four bytes", "take a text that is on every such line and on no other");
  gauge.form = keep(table.text("form"));
  gauge.regex = keep(table.text("regex"));
  if (gauge.form.empty() == gauge.regex.empty())
    table.fail(gauge.form.empty() ? "name" : "form", "a format has a form or a regex, and not both");
  check_notation(table, gauge);
  const Unit& unit = find_row(table, "unit", units, [](const Unit& u) { return u.name; });
  gauge.unit = unit.bytes;
  gauge.unit_name = unit.name;
  if (!table.text("kind").empty())
    set_kind(gauge, find_row(table, "kind", kinds, [](SeriesKind k) { return to_string(k); }));
  gauge.label = keep(table.text("label"));
  gauge.example = keep(table.need_text("example"));
  gauge.source = keep(std::string(file.path) + ':' + std::to_string(table.line()));
  table.finish("a format has name, anchor, form or regex, unit, kind, label and example");
  check_example(table, gauge);
  return gauge;
}

/// The format that already uses this name; "" if the name is free.
std::string find_owner(std::string_view name, const std::vector<LineFormat>& here,
                       std::span<const Parser* const> parsers) {
  for (const LineFormat& gauge : here)
    if (gauge.name == name) return std::string(gauge.source);
  for (const Parser* parser : parsers) {
    const auto has = [&](const auto& row) { return row.name == name; };
    for (const LineFormat& gauge : parser->gauges)
      if (has(gauge)) return parser->declared ? std::string(gauge.source) : "a shipped one";
    if (std::any_of(parser->patterns.begin(), parser->patterns.end(), has) ||
        std::any_of(parser->tables.begin(), parser->tables.end(), has))
      return "a shipped one";
  }
  return "";
}

}  // namespace

UserFormats::UserFormats(std::span<const Parser* const> shipped) : parsers_(shipped.begin(), shipped.end()) {}
UserFormats::~UserFormats() = default;
UserFormats::UserFormats(UserFormats&&) noexcept = default;

void UserFormats::add_file(const std::string& path) {
  add(path, read_small_file(path, path == own_formats ? Links::refuse : Links::follow));
}

void UserFormats::add(std::string_view path, std::string_view text) {
  const TomlText toml{path, text};
  const TomlNode tree = read_toml(toml);
  TomlTable top(toml, tree);
  auto file = std::make_unique<File>();
  for (TomlTable& table : top.tables("format")) {
    LineFormat gauge = read_format(table, toml, [&](std::string kept) { return file->keep(std::move(kept)); });
    if (const std::string owner = find_owner(gauge.name, file->gauges, parsers_); !owner.empty())
      table.fail("name", "there are two formats \"" + std::string(gauge.name) + '"', "the other is " + owner);
    file->gauges.push_back(gauge);
  }
  top.finish("a format file contains one [[format]] per line format");
  if (file->gauges.empty())
    throw Error(std::string(path) + ": there is no [[format]] in it", {},
                "a format file contains one [[format]] per line format");
  const std::string_view name = file->keep(std::string(path));
  file->parser = {.name = name,
                  .title = "your own line formats",
                  .source = name,
                  .patterns = {},
                  .gauges = file->gauges,
                  .tables = {},
                  .declared = true};
  parsers_.push_back(&file->parser);
  files_.push_back(std::move(file));
}

}  // namespace oomdoctor
