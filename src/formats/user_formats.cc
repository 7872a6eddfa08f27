#include "formats/user_formats.h"

#include <algorithm>

#include "base/error.h"
#include "base/small_file.h"
#include "formats/format_table.h"

namespace oomdoctor {

struct UserFormats::File {
  TextStore texts;  ///< backing store for the views in `gauges` and `parser`
  std::vector<LineFormat> gauges;
  Parser parser{};
};

namespace {

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
  const TomlFile toml{std::string(path), std::string(text)};
  TomlTable top = toml.top();
  auto file = std::make_unique<File>();
  for (TomlTable& table : top.tables("format")) {
    LineFormat gauge = read_format(table, file->texts);
    if (gauge.source.empty()) gauge.source = file->texts.keep(std::string(path) + ':' + std::to_string(table.line()));
    if (const std::string owner = find_owner(gauge.name, file->gauges, parsers_); !owner.empty())
      table.fail("name", "there are two formats \"" + std::string(gauge.name) + '"', "the other is " + owner);
    file->gauges.push_back(gauge);
  }
  top.finish("a format file contains one [[format]] per line format");
  if (file->gauges.empty())
    throw Error(std::string(path) + ": there is no [[format]] in it", {},
                "a format file contains one [[format]] per line format");
  const std::string_view name = file->texts.keep(std::string(path));
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
