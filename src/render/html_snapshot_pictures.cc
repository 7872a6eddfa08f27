// The pictures of an allocator snapshot: where the blocks are, and live memory over the trace. Each area has a texture
// of its own, so that nobody needs to tell colours apart. The pictures stretch with the page, so that their texts are
// outside of them.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "model/memory_snapshot.h"
#include "render/html_chart.h"
#include "render/html_sections.h"
#include "render/ticks.h"
#include "report/escape.h"
#include "report/snapshot_words.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

// --- Textures

/// Lines on an area of 8 × 8 units; an area without lines is one as well.
constexpr std::array<std::string_view, SnapshotPictures::curves> textures = {"",
                                                                             "M-2 2L2-2M0 8L8 0M6 10L10 6",
                                                                             "M4 0V8",
                                                                             "M-2 6L2 10M0 0L8 8M6-2L10 2",
                                                                             "M0 4H8",
                                                                             "M3 4H5",
                                                                             "M0 4H8M4 0V8",
                                                                             "M0 0L8 8M8 0L0 8",
                                                                             "M2 0V8M6 0V8"};

/// Of a curve, or of a kind of blocks: `name` is unique on the page.
void add_texture(Document& page, const std::string& name, int colour_index, std::string_view lines) {
  page.add(
      R"_(<pattern id="{}" width="8" height="8" patternUnits="userSpaceOnUse"><rect class="f{}" width="8" height="8" fill="{}"/>)_",
      name, colour_index, colour(colour_index));
  page.add(R"_(<path class="texture" d="{}" stroke="#ffffff" stroke-width="1.5"/></pattern>)_", lines);
}

void add_swatch(Document& page, std::string_view fill) {
  page.add(R"(<svg class="swatch" width="24" height="12" aria-hidden="true"><rect {} width="24" height="12"/></svg>)",
           fill);
}

std::string textured(const std::string& name) { return fmt::format(R"_(fill="url(#{})")_", name); }

// --- Where the blocks are

constexpr double map_width = 720, row_height = 14, row_gap = 4;  // units of the picture

/// The class and the fill of a kind of blocks.
std::string look_of(DrawnBlock kind) {
  switch (kind) {
    case DrawnBlock::live:
      return R"(class="f0" fill="#0072b2")";
    case DrawnBlock::pending:
      return textured("blocks-pending");
    case DrawnBlock::pinner:
      return textured("blocks-pinner");
    case DrawnBlock::free:
      break;
  }
  return R"(class="free" fill="#d8dee4")";
}

/// A rectangle of a row as a path.
std::string box(double left, std::size_t row, double width) {
  const double top = static_cast<double>(row) * (row_height + row_gap);
  return fmt::format("M{0:.1f} {1:.0f}h{2:.1f}v{3:.0f}h-{2:.1f}z", left, top, width, row_height);
}

/// A picture of so many rows; its height does not depend on the width of the page.
void begin_rows(Document& page, std::size_t rows, const std::string& label) {
  const double height = static_cast<double>(rows) * (row_height + row_gap);
  page.add(
      R"(<svg class="rows" viewBox="0 0 {:.0f} {:.0f}" width="100%" height="{:.0f}" preserveAspectRatio="none" role="img" aria-label="{}">)",
      map_width, height, height, html_inline(label));
}

/// One size, to scale.
void add_scale(Document& page, const ReportMemoryMap& map, const std::string& words, std::int64_t bytes,
               std::string_view look) {
  const double share = static_cast<double>(bytes) / static_cast<double>(map.row_bytes);
  page.add("<p>{}{}</p>\n", words, share > 1 ? ", more than a row" : "");
  begin_rows(page, 1, words);
  page.add(R"(<path {} d="{}"/></svg>)", look, box(0, 0, std::clamp(share * map_width, 1.0, map_width)));
  page.add("\n");
}

std::string list_words(const ReportMapList& of) {
  std::string text = of.small ? "Blocks of up to 1 MiB" : "Blocks of more than 1 MiB";
  if (of.private_pool) text += " of a private pool";
  if (of.stream != 0) text += fmt::format(", stream {:#x}", of.stream);
  text += fmt::format(": {} in {}, {} of it free", bytes_text(of.bytes), plural(of.segments, "segment", "segments"),
                      bytes_text(of.free_bytes));
  return of.of_request ? text + "; the request could use these" : text;
}

void add_list(Document& page, const ReportMemoryMap& map, const ReportMapList& list) {
  constexpr std::size_t most_rows = SnapshotPictures::rows + 1;
  std::array<std::string, enum_names<DrawnBlock>.size()> paths;
  std::string begins;
  const double row_bytes = static_cast<double>(map.row_bytes);
  constexpr double almost = 1e-9;  // sums of doubles
  double at = 0;                   // in rows
  for (const ReportMapPiece& piece : list.pieces) {
    double left = static_cast<double>(piece.bytes) / row_bytes;
    if (const double row = std::floor(at + almost); piece.begins_segment && row < most_rows)
      begins += fmt::format("M{:.1f} {:.0f}v{:.0f}", (at - row) * map_width, row * (row_height + row_gap),
                            row_height + row_gap);
    while (left > almost && at < most_rows) {
      const double row = std::floor(at + almost), part = std::min(left, row + 1 - at);
      paths[static_cast<std::size_t>(piece.kind)] +=
          box((at - row) * map_width, static_cast<std::size_t>(row), part * map_width);
      at += part, left -= part;
    }
  }
  const std::string words = list_words(list);
  page.add("<p>{}</p>\n", words);
  begin_rows(page, std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(at - almost)), 1, most_rows), words);
  for (std::size_t kind = 0; kind < paths.size(); ++kind)
    if (!paths[kind].empty())
      page.add(R"(<path {} d="{}" stroke="#ffffff" stroke-width="0.5" {}/>)", look_of(static_cast<DrawnBlock>(kind)),
               paths[kind], constant_width);
  page.add(R"(<path class="mark" d="{}" stroke="{}" stroke-width="1.5" {}/></svg>)", begins, grey, constant_width);
  page.add("\n");
}

bool has(const ReportMemoryMap& map, DrawnBlock kind) {
  return std::any_of(map.lists.begin(), map.lists.end(), [&](const ReportMapList& list) {
    return std::any_of(list.pieces.begin(), list.pieces.end(),
                       [&](const ReportMapPiece& piece) { return piece.kind == kind; });
  });
}

void add_legend(Document& page, const ReportSnapshot& of) {
  page.add("<ul class=\"legend\">");
  for (const DrawnBlock kind : {DrawnBlock::live, DrawnBlock::pinner, DrawnBlock::pending, DrawnBlock::free}) {
    if (!has(*of.map, kind)) continue;
    page.add("<li>");
    add_swatch(page, look_of(kind));
    switch (kind) {
      case DrawnBlock::live:
        page.add("live");
        break;
      case DrawnBlock::pending:
        page.add("freed, but in use by a stream");
        break;
      case DrawnBlock::free:
        page.add("free");
        break;
      case DrawnBlock::pinner:
        page.add("{}",
                 html_inline(of.pinners.empty() ? "between free blocks"
                                                : owner_words(of.pinners.front().at, "") + ", between free blocks"));
    }
    page.add("</li>");
  }
  page.add("</ul>\n");
}

// --- Live memory over the trace

constexpr double area_width = 600, area_height = 200;  // units of the picture

std::string curve_texture(std::size_t curve) { return fmt::format("curve-{}", curve); }

/// The values of the axis: from 0, evenly spaced, the last one above all memory.
struct ByteScale {
  std::int64_t unit = 1;
  std::string_view name;
  std::vector<double> ticks;  ///< in units
};

ByteScale make_byte_scale(std::int64_t most) {
  ByteScale scale{1, "B", {}};
  for (const auto& [unit, name] :
       {std::pair{std::int64_t{1} << 10, "KiB"}, {std::int64_t{1} << 20, "MiB"}, {std::int64_t{1} << 30, "GiB"}})
    if (most >= unit) scale.unit = unit, scale.name = name;
  const double top = static_cast<double>(most) / static_cast<double>(scale.unit);
  scale.ticks = ticks(0, top, 4, 0);
  const double step = scale.ticks.size() > 1 ? scale.ticks[1] - scale.ticks[0] : top;
  while (scale.ticks.back() < top) scale.ticks.push_back(scale.ticks.back() + step);
  return scale;
}

std::int64_t value_at(const ReportLiveCurve& curve, std::size_t point) {
  return point < curve.bytes.size() ? curve.bytes[point] : 0;
}

/// The areas on top of each other. Each is drawn down to the axis, and the next one covers its lower part.
void add_areas(Document& page, const ReportLiveMemory& live, double top) {
  const std::size_t points = live.curves.front().bytes.size();
  std::vector<double> sums(points);
  for (const ReportLiveCurve& curve : live.curves)
    for (std::size_t i = 0; i < points; ++i) sums[i] += static_cast<double>(value_at(curve, i));
  for (std::size_t curve = live.curves.size(); curve-- > 0;) {
    page.add(R"(<path {} d="M0 {:.0f})", textured(curve_texture(curve)), area_height);
    for (std::size_t i = 0; i < points; ++i)
      page.add("L{:.1f} {:.1f}",
               static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(points - 1, 1)) * area_width,
               area_height * (1 - std::min(sums[i] / top, 1.0)));
    page.add(R"(V{:.0f}z" stroke="#ffffff" stroke-width="0.75" {}/>)", area_height, constant_width);
    for (std::size_t i = 0; i < points; ++i) sums[i] -= static_cast<double>(value_at(live.curves[curve], i));
  }
}

void add_curves_table(Document& page, const ReportSnapshot& of) {
  page.add(
      "<table>\n<thead><tr><th>line of code</th><th class=\"n\">max</th><th class=\"n\">{}</th></tr></thead>\n"
      "<tbody>\n",
      when_words(of));
  const std::vector<ReportLiveCurve>& curves = of.live_memory->curves;
  for (std::size_t i = curves.size(); i-- > 0;) {  // in the order of the picture
    const ReportLiveCurve& curve = curves[i];
    if (curve.bytes.empty()) continue;
    page.add("<tr><th scope=\"row\">");
    add_swatch(page, textured(curve_texture(i)));
    page.add("{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
             html_inline(owner_words(curve.at, curve.category)),
             bytes_text(*std::max_element(curve.bytes.begin(), curve.bytes.end())), bytes_text(curve.bytes.back()));
  }
  page.add("</tbody>\n</table>\n");
}

}  // namespace

void add_memory_map(Document& page, const ReportSnapshot& of) {
  if (!of.map || of.map->lists.empty()) return;
  const ReportMemoryMap& map = *of.map;
  page.add("<h3>Where the blocks are {}</h3>\n<figure class=\"map\">\n", when_words(of));
  page.add("<svg class=\"textures\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>");
  add_texture(page, "blocks-pending", 1, textures[7]);
  add_texture(page, "blocks-pinner", 5, textures[8]);
  page.add("</defs></svg>\n");
  if (of.request_bytes)
    add_scale(page, map, bytes_text(*of.request_bytes) + " requested", *of.request_bytes,
              R"(class="asked" fill="#c0262d")");
  if (of.request_bytes && of.largest_free_bytes)
    add_scale(page, map, "The largest free block of its list: " + bytes_text(*of.largest_free_bytes),
              *of.largest_free_bytes, look_of(DrawnBlock::free));
  for (const ReportMapList& list : map.lists) add_list(page, map, list);
  add_legend(page, of);
  page.add("<figcaption class=\"muted\">A row is {}, by address. A dark line marks the beginning of a segment.",
           bytes_text(map.row_bytes));
  if (map.joined_blocks > 0)
    page.add(" {} too small for it, and drawn together with neighbours, as what most of their bytes are{}.",
             plural(map.joined_blocks, "block is", "blocks are"),
             has(map, DrawnBlock::pinner) ? "; a block between free blocks stays in sight" : "");
  if (map.more_lists > 0)
    page.add(" {} not drawn.", plural(map.more_lists, "smaller list of blocks is", "smaller lists of blocks are"));
  page.add("</figcaption>\n</figure>\n");
}

void add_live_memory(Document& page, const ReportSnapshot& of) {
  if (!of.live_memory || of.live_memory->curves.empty() || of.live_memory->peak_bytes <= 0) return;
  const ReportLiveMemory& live = *of.live_memory;
  const ByteScale scale = make_byte_scale(live.peak_bytes);
  page.add("<h3>Live memory over the trace</h3>\n<figure class=\"curves\">\n");
  page.add("<svg class=\"textures\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>");
  for (std::size_t i = 0; i < std::min(live.curves.size(), textures.size()); ++i)
    add_texture(page, curve_texture(i), static_cast<int>(i) % Plot::colours, textures[i]);
  page.add("</defs></svg>\n<div class=\"axis\">");
  for (std::size_t i = scale.ticks.size(); i-- > 0;)
    page.add("<span>{} {}</span>", tick_text(scale.ticks[i]), scale.name);
  page.add(
      R"(</div><svg class="areas" viewBox="0 0 {:.0f} {:.0f}" width="100%" height="240" preserveAspectRatio="none" role="img" aria-label="Live memory by line of code">)",
      area_width, area_height);
  add_areas(page, live, scale.ticks.back() * static_cast<double>(scale.unit));
  page.add("</svg>\n<p class=\"ends\"><span>first event</span><span>{}, after {}</span></p>\n", when_words(of),
           plural(live.events, "event", "events"));
  add_curves_table(page, of);
  page.add("<figcaption class=\"muted\">At most {} at event {}.", bytes_text(live.peak_bytes),
           count_text(live.peak_event));
  const auto points = static_cast<std::int64_t>(live.curves.front().bytes.size()) - 1;
  if (points > 0 && live.events / points > 1)
    page.add(" Each point is the fullest moment of about {}.", plural(live.events / points, "event", "events"));
  if (of.history == "cut")
    page.add(" The trace has lost its beginning: memory from before has no line, or is not in the picture.");
  page.add("</figcaption>\n</figure>\n");
}

}  // namespace oomdoctor::html
