#include "formats/format_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "fold/scanner.h"
#include "formats/format_notation.h"
#include "model/program.h"
#include "model/remark_ids.h"
#include "read/lexicon.h"
#include "read/line_format.h"
#include "read/sizes.h"

namespace oomdoctor {
namespace {

constexpr double most_lines_around = 400;  ///< of a message: a traceback and a summary of memory fit

struct SizeUnit {
  std::string_view name;
  double bytes;
};
constexpr std::array<SizeUnit, 9> units{{{"B", 1},
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

/// The row with this name, which is the key's value. Throws Error with the nearest name, or with all of them.
template <typename Rows, typename NameOf>
const auto& find_row(const TomlTable& table, std::string_view key, std::string_view word, const Rows& rows,
                     NameOf name_of) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (name_of(row) == word) return row;
    names.emplace_back(name_of(row));
  }
  table.fail(key, "there is no " + std::string(key) + " \"" + std::string(word) + '"', nearest_or_all(word, names));
}

/// Sets the unit to one row of the table, or to several: "1000 KiB".
void set_unit(LineFormat& gauge, TomlTable& table, TextStore& texts) {
  const std::string_view text = texts.keep(table.need_text("unit"));
  const std::size_t blank = text.find(' ');
  unsigned count = 1;
  if (blank != text.npos)
    if (std::from_chars(text.data(), text.data() + blank, count).ptr != text.data() + blank || count == 0)
      table.fail("unit", "the unit does not begin with a number", "as in \"MiB\" or \"1000 KiB\"");
  const std::string_view name = blank == text.npos ? text : text.substr(blank + 1);
  gauge.unit = count * find_row(table, "unit", name, units, [](const SizeUnit& unit) { return unit.name; }).bytes;
  gauge.unit_name = table.has("printed") ? texts.keep(table.text("printed")) : text;
}

bool is_family_and_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  const auto allowed = [](char c) { return is_dashed_name_char(c) || c == '.' || c == '/'; };
  return slash != std::string_view::npos && slash > 0 && slash + 1 < name.size() && slash == name.rfind('/') &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string_view read_name(TomlTable& table, TextStore& texts) {
  const std::string_view name = texts.keep(table.need_text("name"));
  if (!is_family_and_name(name))
    table.fail("name", "a name is two words of letters, digits, _, - and . with a slash between them",
               "as in \"trainer/step\"");
  return name;
}

std::string_view read_anchor(TomlTable& table, TextStore& texts) {
  const std::string_view anchor = texts.keep(table.need_text("anchor"));
  if (anchor.size() < shortest_anchor)
    table.fail("anchor", "an anchor has at least four bytes", "take a text that is on every such line and on no other");
  return anchor;
}

bool is_maximum(SeriesKind kind) { return kind == SeriesKind::running_maximum || kind == SeriesKind::reset_maximum; }

/// A maximum is what the max_… numbers are, or all of them where none is called so; another kind is what the others
/// are. `current` is the kind of the others where both are maxima.
void set_kinds(LineFormat& gauge, TomlTable& table) {
  const auto read_kind = [&](std::string_view key) {
    return find_row(table, key, table.text(key), kinds, [](SeriesKind kind) { return to_string(kind); });
  };
  if (!table.text("kind").empty()) {
    const SeriesKind kind = read_kind("kind");
    const auto names = list_names(gauge);
    const bool maxima = std::any_of(names.begin(), names.end(), [](auto name) { return name.starts_with("max_"); });
    if (is_maximum(kind)) gauge.maxima = kind;
    if (!is_maximum(kind) || !maxima) gauge.current = kind;
  }
  if (!table.text("current").empty()) gauge.current = read_kind("current");
}

constexpr std::array<std::pair<std::string_view, Reach>, 2> reaches{
    {{"line", Reach::line}, {"message", Reach::message}}};
constexpr std::array<std::pair<std::string_view, SettingType>, 8> types{{{"count", SettingType::count},
                                                                         {"first_count", SettingType::first_count},
                                                                         {"longest_side", SettingType::longest_side},
                                                                         {"ratio", SettingType::ratio},
                                                                         {"truth", SettingType::truth},
                                                                         {"word", SettingType::word},
                                                                         {"precision", SettingType::precision},
                                                                         {"size", SettingType::size}}};

SettingType read_type(TomlTable& table) {
  return find_row(table, "type", table.need_text("type"), types, [](const auto& row) { return row.first; }).second;
}

void check_anchor(const TomlTable& table, std::string_view example, std::string_view anchor,
                  std::string_view key = "example") {
  if (example.find(anchor) == std::string_view::npos)
    table.fail(key, "the example does not hold the anchor", "the anchor is " + std::string(anchor));
}

ScanResult scan_example(const Parser& alone, std::string_view example) {
  const Parser* const parsers[] = {&alone};
  std::vector<Source> sources;
  sources.push_back(Source::of_text("example", std::string(example)));
  return Scanner(parsers).scan(sources);
}

/// Compares what an example gives with the key `expect`: names and values, each as a text, and no others.
void check_expectation(TomlTable& table, const std::vector<std::pair<std::string, std::string>>& found, Expect need) {
  std::string given = "{ ";
  for (const auto& [name, value] : found) given += (given.size() > 2 ? ", " : "") + name + " = \"" + value + '"';
  given += " }";
  std::optional<TomlTable> expect = table.table("expect");
  for (const auto& [name, value] : found)
    if (expect && expect->text(name) != value) table.fail("expect", "the example says otherwise", "it gives " + given);
  if (expect) expect->finish("the example gives " + given);
  if (!expect && need == Expect::needed) table.fail("example", "there is no expect", "the example gives " + given);
}

/// The example goes the way of a log: what is not read there would not be read in one.
void check_example(TomlTable& table, const LineFormat& gauge, Expect need) {
  check_anchor(table, gauge.example, gauge.anchor);
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
  std::vector<std::pair<std::string, std::string>> found;
  for (const GaugeValue& v : values)
    if (const auto name = form.numbers()[v.number].name; name != "skip")
      found.emplace_back(name, gauge.example.substr(v.at, v.end - v.at));
  check_expectation(table, found, need);
  const ScanResult scan =
      scan_example({.name = "example", .title = "", .patterns = {}, .gauges = {&gauge, 1}}, gauge.example);
  if (scan.series.empty() && std::any_of(values.begin(), values.end(), [&](const GaugeValue& v) {
        return form.numbers()[v.number].kind == GaugeNumber::NumberKind::memory;
      }))
    table.fail("example", "no machine has the memory that the example says",
               "one is " + std::string(gauge.unit_name) + ": is that the unit?");
}

void check_example(TomlTable& table, const SettingFormat& format, Expect need) {
  const Pattern pattern = make_pattern(format);
  const std::string example = pattern.fold_case ? lower(format.example) : std::string(format.example);
  const auto holds = [&](std::string_view anchor) {
    return !anchor.empty() && example.find(anchor) != std::string::npos;
  };
  if (!holds(format.second_anchor) && std::none_of(format.further_anchors.begin(), format.further_anchors.end(), holds))
    check_anchor(table, example, format.anchor);
  const ScanResult scan = scan_example({.name = "example", .title = "", .patterns = {&pattern, 1}}, format.example);
  const auto set = scan.settings.find(format.setting);
  if (set == scan.settings.end())
    table.fail("example", "the example does not set " + std::string(format.setting),
               "it is a whole line, as a program prints it");
  const std::string& value = set->second.value;
  if (table.has("expect") && table.text("expect") != value)
    table.fail("expect", "the example says otherwise",
               "it sets " + std::string(format.setting) + " to \"" + value + '"');
  if (!table.has("expect") && need == Expect::needed)
    table.fail("example", "there is no expect", "the example gives \"" + value + '"');
}

/// A key in its spellings, and what its values are.
void read_key(TomlTable& table, std::string_view family, SettingFormat& format, TextStore& texts) {
  const std::string key = table.need_text("key");
  format.spelling = table.truth("option_only") ? SettingSpelling::option : SettingSpelling::key;
  const std::size_t dashes = format.spelling == SettingSpelling::option ? 2 : 0;  // they belong to the anchor
  if (key.size() + dashes < shortest_anchor || !std::all_of(key.begin(), key.end(), is_word_char))
    table.fail("key", "a key is at least four letters, digits and _", "a _ in it also matches a dash");
  format.name = texts.keep(std::string(family) + '/' + key);
  format.type = read_type(table);
  KeyTexts built = texts_of_key(key, format.type, format.spelling);
  format.anchor = texts.keep(std::move(built.anchor));
  format.second_anchor = texts.keep(std::move(built.dashed_anchor));
  format.further_anchors = {texts.keep(std::move(built.spaced_anchor)), texts.keep(std::move(built.joined_anchor))};
  format.regex = texts.keep(std::move(built.regex));
}

/// A compiled regex, or its error. Users' regexes have further limits; see check_regex().
void check_message_regex(const TomlTable& table, std::string_view regex, Reach reach) {
  try {
    if (const Regex compiled(regex); compiled.captures() >= max_captures)
      table.fail("regex", "the regex has too many groups", "write (?:…) for a group that no function reads");
  } catch (const BadExpression& error) {
    table.fail("regex", "the regex cannot be read: " + error.reason, {}, regex, std::min(error.at, regex.size()));
  }
  const std::size_t blank = regex.find(' ');
  if (reach == Reach::message && blank != regex.npos)
    table.fail("regex", "there is a blank", "the text of a message has none", regex, blank);
}

/// The name of a C++ function; "" if the key is missing.
std::string read_function(TomlTable& table, std::string_view key) {
  const std::string name = table.text(key);
  const bool valid = std::all_of(name.begin(), name.end(), [](char c) { return is_word_char(c) || c == ':'; });
  if (!valid) table.fail(key, "this is not the name of a function");
  return name;
}

/// The number of a group of the regex; 0 if the key is missing.
std::size_t read_group(TomlTable& table, std::string_view key) {
  return static_cast<std::size_t>(table.number(key, 0, 1, max_captures - 1));
}

/// "1" or "1 MiB".
OomTemplate::PrintedSize read_template_size(const TomlTable& table, const OomSize& of, std::string text,
                                            TextStore& texts) {
  OomTemplate::PrintedSize size{of.field};
  const std::size_t blank = std::min(text.find(' '), text.size());
  const auto read = std::from_chars(text.data(), text.data() + blank, size.group);
  if (read.ptr != text.data() + blank || size.group == 0 || size.group >= max_captures)
    table.fail(of.name, "this is not a group of the regex", "as in \"1\" or, for a number without a unit, \"1 MiB\"");
  if (blank == text.size()) return size;
  size.unit = texts.keep(text.substr(blank + 1));
  find_row(table, of.name, size.unit, units, [](const SizeUnit& unit) { return unit.name; });
  return size;
}

template <class Enum>
Enum read_named(const TomlTable& table, std::string_view key, const std::string& name) {
  return *from_string<Enum>(find_row(table, key, name, enum_names<Enum>, [](std::string_view row) { return row; }));
}

template <class Item, class Array>
void fill(const TomlTable& table, std::string_view key, const std::vector<Item>& items, Array& array) {
  if (items.size() > array.size()) table.fail(key, "there are more than " + std::to_string(array.size()) + " of them");
  std::copy(items.begin(), items.end(), array.begin());
}

OomTemplate read_oom_template(TomlTable table, TextStore& texts) {
  OomTemplate as;
  if (table.has("kind")) as.kind = read_named<OomKind>(table, "kind", table.text("kind"));
  as.agent = table.has("agent") ? read_named<Agent>(table, "agent", table.text("agent")) : as.agent;
  as.framework = texts.keep(table.text("framework"));
  as.format = table.has("format") ? texts.keep(table.text("format")) : as.framework;
  as.program = texts.keep(table.text("program"));
  std::vector<OomTrait> traits;
  for (const std::string& name : table.texts("traits")) traits.push_back(read_named<OomTrait>(table, "traits", name));
  fill(table, "traits", traits, as.traits);
  std::vector<OomTemplate::PrintedSize> sizes;
  for (const OomSize& size : oom_sizes)
    if (const std::string text = table.text(size.name); !text.empty())
      sizes.push_back(read_template_size(table, size, text, texts));
  fill(table, sizes.empty() ? "kind" : oom_sizes.front().name, sizes, as.sizes);
  as.device = read_group(table, "device");
  as.pid = read_group(table, "pid");
  as.process_name = read_group(table, "process_name");
  as.caught = table.truth("caught");
  as.described = table.truth("described");
  as.not_in_code = table.truth("not_in_code");
  std::vector<std::string_view> words;
  for (const std::string& word : table.texts("unless_near")) words.push_back(texts.keep(word));
  fill(table, "unless_near", words, as.unless_near);
  as.back = static_cast<int>(table.number("back", 0, 0, most_lines_around));
  as.ahead = static_cast<int>(table.number("ahead", 0, 0, most_lines_around));
  as.remark = texts.keep(table.text("remark"));
  if (!as.remark.empty())
    find_row(table, "remark", as.remark, remark_specs, [](const RemarkSpec& spec) { return spec.id; });
  table.finish("the keys of an oom are the members of OomTemplate in src/read/oom_template.h");
  return as;
}

/// Compares what the example says with the key `expect`: each number that is read, and no other.
void check_expectation(TomlTable& table, const Pattern& format, const OomTemplate& as) {
  Pattern alone = format;
  alone.oom = &as;
  const ScanResult scan = scan_example({.name = "example", .title = "", .patterns = {&alone, 1}}, format.example);
  if (scan.incidents.empty()) table.fail("example", "the example reports no failure", "it is a whole line");
  const Incident& found = scan.incidents.front();
  std::optional<TomlTable> expect = table.table("expect");
  const auto expected = [&](std::string_view key) { return expect ? expect->text(key) : std::string(); };
  const auto differ = [&](std::string_view key, const std::string& value) {
    table.fail("expect", std::string(key) + (value.empty() ? " is not read" : " is read as " + value));
  };
  for (const OomSize& size : oom_sizes) {
    const std::string text = expected(size.name);
    const std::optional<Bytes>& read = found.oom.*size.field;
    const auto wanted = read_size(dense(text));
    if (wanted.has_value() != read.has_value() || (read && read->count != wanted->count))
      differ(size.name, read ? std::to_string(read->count) + " bytes" : "");
  }
  const auto compare = [&](std::string_view key, const std::string& read) {
    if (expected(key) != read) differ(key, read);
  };
  compare("device", found.origin.device ? std::to_string(*found.origin.device) : "");
  compare("pid", found.origin.pid ? std::to_string(*found.origin.pid) : "");
  compare("process_name", found.oom.process_name);
  if (expect) expect->finish("expect has the sizes of the oom, device, pid and process_name");
}

void check_example(const TomlTable& table, const MessageFormat& message) {
  const Pattern& format = message.pattern;
  const auto folded = [&](std::string_view text) { return format.fold_case ? lower(text) : std::string(text); };
  if (format.reach == Reach::line) check_anchor(table, folded(format.example), folded(format.anchor));
  Pattern alone = format;  // without the functions, which are not known here
  alone.remark = remark_specs.front().id;
  if (scan_example({.name = "example", .title = "", .patterns = {&alone, 1}}, format.example).remarks.empty())
    table.fail("example", "the regex does not match the example", "it is a whole line, as a program prints it");
}

}  // namespace

std::vector<std::string_view> list_units() {
  std::vector<std::string_view> names;
  for (const SizeUnit& unit : units) names.push_back(unit.name);
  return names;
}

std::vector<std::string_view> list_kinds() {
  std::vector<std::string_view> names;
  for (const SeriesKind kind : kinds) names.push_back(to_string(kind));
  return names;
}

LineFormat read_format(TomlTable& table, TextStore& texts, Expect need) {
  const auto keep = [&](std::string text) { return texts.keep(std::move(text)); };
  LineFormat gauge;
  gauge.name = read_name(table, texts);
  gauge.anchor = read_anchor(table, texts);
  gauge.form = keep(table.text("form"));
  gauge.regex = keep(table.text("regex"));
  if (gauge.form.empty() == gauge.regex.empty())
    table.fail(gauge.form.empty() ? "name" : "form", "a format has a form or a regex, and not both");
  check_notation(table, gauge);
  set_unit(gauge, table, texts);
  set_kinds(gauge, table);
  gauge.label = keep(table.text("label"));
  gauge.example = keep(table.need_text("example"));
  gauge.source = keep(table.text("source"));
  table.has("expect");  // check_example() reads it
  table.finish("a format has name, anchor, form or regex, unit, kind, label, example and expect");
  check_example(table, gauge, need);
  return gauge;
}

SettingFormat read_setting(TomlTable& table, std::string_view family, TextStore& texts, Expect need) {
  SettingFormat format;
  if (table.has("key")) {
    read_key(table, family, format, texts);
  } else {
    format.name = read_name(table, texts);
    format.anchor = read_anchor(table, texts);
    format.second_anchor = texts.keep(table.text("second_anchor"));
    format.regex = texts.keep(table.text("regex"));
    if (!format.regex.empty()) check_regex(table, format.regex);
    if (format.regex.empty() && !table.has("value"))
      table.fail("anchor", "there is no value", "write value = \"…\", or a regex whose first group is the value");
    if (table.has("type")) format.type = read_type(table);
    format.unit = texts.keep(table.text("unit"));
    format.source = texts.keep(table.text("source"));
  }
  format.setting = texts.keep(table.need_text("sets"));
  format.value = texts.keep(table.text("value"));
  format.example = texts.keep(table.need_text("example"));
  table.has("expect");  // check_example() reads it
  table.finish(
      "a setting has key and type, or name, anchor, second_anchor, regex, type, unit and source; and sets, value, "
      "example and expect");
  check_example(table, format, need);
  return format;
}

SettingFormat read_word(TomlTable& table, std::string_view family, const Program& program, TextStore& texts) {
  SettingFormat format;
  format.name = texts.keep(std::string(family) + '/' + table.need_text("name"));
  format.anchor = read_anchor(table, texts);
  format.setting = program.is_engine() ? "engine" : "program";
  format.value = texts.keep(program.name);
  format.example = texts.keep(table.need_text("example"));
  check_example(table, format, Expect::optional);  // its value is the program's name
  return format;
}

MessageFormat read_message(TomlTable& table, TextStore& texts) {
  MessageFormat message;
  Pattern& pattern = message.pattern;
  pattern.name = read_name(table, texts);
  if (table.text("anchors_from") == "lexicon") {
    message.more_anchors = failure_lexicon().anchors();
    pattern.anchor = texts.keep(message.more_anchors.front());
  } else {
    pattern.anchor = read_anchor(table, texts);
  }
  pattern.second_anchor = texts.keep(table.text("second_anchor"));
  pattern.regex = texts.keep(table.text("regex"));
  if (message.more_anchors.empty()) message.more_anchors = table.texts("more_anchors");
  if (table.has("reach"))
    pattern.reach =
        find_row(table, "reach", table.text("reach"), reaches, [](const auto& row) { return row.first; }).second;
  check_message_regex(table, pattern.regex, pattern.reach);
  pattern.fallback = table.truth("fallback");
  pattern.fold_case = table.truth("fold_case");
  pattern.digits_are_numbers = table.truth("digits_are_numbers");
  pattern.non_exclusive = table.truth("non_exclusive");
  if (table.has("before_anchor"))
    pattern.before_anchor = static_cast<std::size_t>(table.need_number("before_anchor", 0, max_window));
  pattern.example = texts.keep(table.need_text("example"));
  pattern.source = texts.keep(table.text("source"));
  pattern.remark = texts.keep(table.text("remark"));
  if (auto oom = table.table("oom")) message.oom = read_oom_template(*oom, texts);
  message.emit = read_function(table, "emit");
  message.accepts = read_function(table, "accepts");
  message.accepts_parsed = read_function(table, "accepts_parsed");
  message.may_match = read_function(table, "may_match");
  table.has("expect");  // check_expectation() reads it
  table.finish("the keys of a message are the members of Pattern in src/read/parser.h");
  if (!pattern.remark.empty() + !message.emit.empty() + message.oom.has_value() != 1)
    table.fail(!pattern.remark.empty() ? "remark"
               : message.oom           ? "oom"
                                       : "name",
               "a message has emit, oom or a remark, and one of them only");
  if (!pattern.remark.empty())
    find_row(table, "remark", pattern.remark, remark_specs, [](const RemarkSpec& spec) { return spec.id; });
  check_example(table, message);
  if (message.oom) check_expectation(table, pattern, *message.oom);
  return message;
}

TableFormat read_table(TomlTable& table, TextStore& texts) {
  TableFormat format;
  format.table.name = read_name(table, texts);
  format.table.anchor = read_anchor(table, texts);
  format.table.example_header = texts.keep(table.need_text("example_header"));
  format.table.example_row = texts.keep(table.text("example_row"));
  format.table.source = texts.keep(table.text("source"));
  format.header = read_function(table, "header");
  format.sniff = read_function(table, "sniff");
  format.row = read_function(table, "row");
  format.rows = read_function(table, "rows");
  table.finish("a table has name, anchor, header, sniff, row or rows, example_header, example_row and source");
  if (format.header.empty()) table.fail("header", "there is no function for the header");
  if (format.row.empty() == format.rows.empty())
    table.fail(format.row.empty() ? "name" : "row", "a table has row or rows, and not both");
  check_anchor(table, format.table.example_header, format.table.anchor, "example_header");
  return format;
}

}  // namespace oomdoctor
