#include "cli/formats.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/utf8.h"

namespace oomdoctor::cli {
namespace {

/// The source of more than half of a family's formats, "" if there is none. Formats with another source print their
/// own.
std::string find_common_source(const FormatFamily& family) {
  const auto count = [&](const FormatInfo& format) {
    return std::count_if(family.begin(), family.end(),
                         [&](const auto& other) { return other.source == format.source; });
  };
  for (const auto& format : family)
    if (2 * count(format) > static_cast<std::ptrdiff_t>(family.size())) return format.source;
  return "";
}

/// For example "2 memory lines, 1 message".
std::string count_text(const FormatFamily& family) {
  std::string text;
  const auto add = [&](std::ptrdiff_t n, const char* noun) {
    if (n > 0) text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", n, noun, n == 1 ? "" : "s");
  };
  const auto of_kind = [&](std::string_view kind) {
    return std::count_if(family.begin(), family.end(),
                         [&](const auto& format) { return format.kind.starts_with(kind); });
  };
  add(static_cast<std::ptrdiff_t>(family.size()) - of_kind("message") - of_kind("table"), "memory line");
  add(of_kind("message"), "message");
  add(of_kind("table"), "table");
  return text;
}

/// Prints the source of most formats once, after the title, and the others with their format.
void add_family(Page& page, const FormatFamily& family) {
  const std::string source = find_common_source(family);
  page.text("", page.paint.bold(plain_line(family.front().title)) + "  " +
                    page.paint.dim(plain_line(family.front().parser + (source.empty() ? "" : ", from " + source))));
  int names = 0, kinds = 0;
  for (const auto& format : family) {
    names = std::max(names, count_columns(format.name));
    kinds = std::max(kinds, count_columns(format.kind));
  }
  for (const auto& format : family) {
    std::string row = format.unit.empty() ? format.kind : pad(format.kind, kinds) + "  " + format.unit;
    if (format.source != source) row += "  " + page.paint.dim("from " + plain_line(format.source));
    page.text("  " + pad(format.name, std::min(names, page.width() / 2)) + "  ", row);
    page.line("      " + page.paint.dim(clip_end(plain_line(format.example), page.width() - 6)));
  }
}

}  // namespace

std::vector<FormatFamily> group_by_family(const std::vector<FormatInfo>& formats) {
  std::vector<FormatFamily> families;
  for (const auto& format : formats) {
    if (families.empty() || families.back().front().parser != format.parser) families.emplace_back();
    families.back().push_back(format);
  }
  return families;
}

void add_formats(Page& page, const std::vector<FormatFamily>& families) {
  for (const auto& family : families) {
    if (&family != &families.front()) page.blank();
    add_family(page, family);
  }
}

std::string formats_page(const std::vector<FormatFamily>& families) {
  std::string text =
      "# Every format that oomdoctor reads\n\n"
      "Printed by `oomdoctor list formats --format markdown`. The letters of a unit do not define its size: where a "
      "tool\n"
      "prints one and means another, the unit says both. A gauge is read at one phase of the step, a running maximum "
      "is\n"
      "never reset, a reset maximum is that of one window. Where a program prints sizes with changing units, the unit "
      "is that of the example.\n\n"
      "| family | reads | formats |\n|---|---|---|\n";
  for (const auto& family : families)
    text += fmt::format("| [{0}](#{0}) | {1} | {2} |\n", family.front().parser, markdown_inline(family.front().title),
                        count_text(family));
  for (const auto& family : families) {
    const std::string source = find_common_source(family);
    text += fmt::format("\n## {}\n\n{}.", family.front().parser, markdown_inline(family.front().title));
    if (!source.empty()) text += fmt::format(" Printed by {}.", markdown_inline(source));
    text += '\n';
    for (const auto& format : family) {
      text += fmt::format("\n**`{}`**: {}", format.name, format.kind);
      if (!format.unit.empty()) text += fmt::format("; {}", markdown_inline(format.unit));
      if (format.source != source) text += fmt::format("; printed by {}", markdown_inline(format.source));
      text += "\n\n" + markdown_fence(format.example, "text");
      if (text.back() != '\n') text += '\n';
    }
  }
  return text;
}

}  // namespace oomdoctor::cli
