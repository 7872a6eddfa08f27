// nvidia-smi -q, as text and as XML: the section of the frame buffer of each whole card.
//
// The same three or four amounts stand in other sections, too: BAR1 is address space, "Conf Compute Protected" a
// reserved part. Under MIG each instance has a copy of its own, which is what a job inside it has. Neither form numbers
// the cards: they are named by their bus id, and the only card of a machine is card 0.
#include <string>

#include "parse/context.h"
#include "parse/device_export.h"

namespace oomdoctor::parsers {
namespace {

constexpr int most_lines = 600;    ///< between a card's name and its memory, seven MIG instances included
constexpr int most_sections = 24;  ///< of other cards and instances in between

struct Section {
  std::optional<i64> total, used;
};

/// "1812 MiB"; nullopt for N/A.
std::optional<i64> mebibytes(std::string_view text) {
  text = trimmed(text);
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == text.npos || digits > 9 || !trimmed(text.substr(digits)).starts_with("MiB"))
    return std::nullopt;
  return leading_integer(text);
}

struct Place {
  std::string bus;
  bool alone = false;
  bool divided = false;                        ///< the card has MIG instances
  std::string gpu_instance, compute_instance;  ///< of a MIG instance
  std::optional<double> time;
};

/// What stands behind the colon of "Timestamp       : Tue …".
std::string_view value_of(std::string_view body) {
  const std::size_t colon = body.find(" : ");
  return colon == body.npos ? std::string_view{} : trimmed(body.substr(colon + 3));
}

bool is_card_heading(std::string_view text) { return text.starts_with("GPU 0") && text.find(" : ") == text.npos; }

Place text_place(const Cursor& cursor) {
  Place place;
  const bool shared = trimmed(cursor.line().body()).starts_with("Shared");
  int sections = 0;
  cursor.backward(most_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    const bool own = place.bus.empty();
    if (own && is_card_heading(text))
      place.bus = std::string(text.substr(4));
    else if (own && text.starts_with("MIG Device") && text.ends_with("Device"))
      place.divided = true;
    else if (own && shared && text.starts_with("GPU Instance ID") && place.gpu_instance.empty())
      place.gpu_instance = std::string(value_of(text));
    else if (own && shared && text.starts_with("Compute Instance ID") && place.compute_instance.empty())
      place.compute_instance = std::string(value_of(text));
    else if (own && shared && text.starts_with("Index") && place.gpu_instance.empty())
      place.gpu_instance = std::string(value_of(text));  // an old driver that prints no instance
    else if (text.starts_with("Attached GPUs"))
      place.alone = value_of(text) == "1";
    else if (text.starts_with("Timestamp") && text.find(" : ") != text.npos)
      place.time = read_calendar_time(text);
    sections += text.ends_with("FB Memory Usage");
    return !text.starts_with("====") && !place.time && sections < most_sections;
  });
  return place;
}

Section text_section(const Cursor& cursor) {
  Section section;
  cursor.forward(4, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (text.starts_with("Total"))
      section.total = mebibytes(value_of(text));
    else if (text.starts_with("Used"))
      section.used = mebibytes(value_of(text));
    else if (!text.starts_with("Reserved") && !text.starts_with("Free"))
      return false;
    return true;
  });
  return section;
}

Place xml_place(const Cursor& cursor) {
  Place place;
  bool inside = true, closed = false;
  std::string index;
  int sections = 0;
  cursor.backward(most_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (place.bus.empty()) {
      closed = closed || text.starts_with("</mig_device>");
      place.divided = place.divided || text.starts_with("<mig_device>");
      if (inside && !closed && text.starts_with("<gpu_instance_id>"))
        place.gpu_instance = std::string(between(text, ">", "<"));
      if (inside && !closed && text.starts_with("<compute_instance_id>"))
        place.compute_instance = std::string(between(text, ">", "<"));
      if (inside && !closed && text.starts_with("<index>")) index = std::string(between(text, ">", "<"));
      if (text.starts_with("<mig_device>")) {
        if (inside && !closed && place.gpu_instance.empty()) place.gpu_instance = index.empty() ? "?" : index;
        inside = false;
      }
      if (text.starts_with("<gpu id=")) place.bus = std::string(between(text, "\"", "\""));
    }
    if (text.starts_with("<attached_gpus>")) place.alone = between(text, ">", "<") == "1";
    if (text.starts_with("<timestamp>")) place.time = read_calendar_time(between(text, ">", "<"));
    sections += text.starts_with("<fb_memory_usage>");
    return !place.time && sections < most_sections && !text.starts_with("<nvidia_smi_log");
  });
  return place;
}

Section xml_section(const Cursor& cursor) {
  Section section;
  cursor.forward(5, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (text.starts_with("<total>")) section.total = mebibytes(between(text, ">", "<"));
    if (text.starts_with("<used>")) section.used = mebibytes(between(text, ">", "<"));
    return !text.starts_with("</");
  });
  return section;
}

void emit(EventSink& sink, const Place& place, const Section& section) {
  if (place.bus.empty()) return;
  const std::string name = place.alone ? "0" : place.bus;
  const bool part = !place.gpu_instance.empty();
  const std::string label = part ? instance_name(name, place.gpu_instance, place.compute_instance) : place.bus;
  Card card{.device = {}, .label = label};
  if (!part && place.alone) card.device = 0;
  if (section.used) emit_amount(sink, card, {.number = static_cast<double>(*section.used)}, place.time);
  card.alone = place.alone && !part && !place.divided;
  if (section.total) emit_capacity(sink, card, *section.total, "MiB");
}

void text_form(const Match& m, EventSink& sink) { emit(sink, text_place(m.cursor), text_section(m.cursor)); }
void xml_form(const Match& m, EventSink& sink) { emit(sink, xml_place(m.cursor), xml_section(m.cursor)); }

bool is_heading(std::string_view line) { return trimmed(line).ends_with("FB Memory Usage"); }

constexpr Pattern patterns[] = {
    checked({.name = "smi_query/text",
             .anchor = "FB Memory Usage",
             .regex = R"(^ {1,24}(?:Shared )?FB Memory Usage)",
             .example = "GPU 00000000:31:00.0\n"
                        "    FB Memory Usage\n"
                        "        Total                             : 46068 MiB\n"
                        "        Used                              : 1812 MiB\n",
             .emit = text_form,
             .accepts = is_heading}),
    checked({.name = "smi_query/xml",
             .anchor = "<fb_memory_usage>",
             .example = "<gpu id=\"00000000:31:00.0\">\n"
                        "  <fb_memory_usage>\n"
                        "    <total>46068 MiB</total>\n"
                        "    <used>1812 MiB</used>\n",
             .emit = xml_form}),
};

}  // namespace

extern const Parser smi_query;
const Parser smi_query{.name = "smi_query",
                       .title = "nvidia-smi -q",
                       .source = "nvidia-smi -q, -q -x (nvsmi_device_v4 to v13.dtd); real logs",
                       .patterns = patterns};

}  // namespace oomdoctor::parsers
