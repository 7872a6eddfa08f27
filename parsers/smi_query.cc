// nvidia-smi -q, as text and as XML: the frame buffer section of each whole GPU.
//
// Other sections contain the same three or four amounts: BAR1 is address space, and "Conf Compute Protected" is a
// reserved part. Under MIG each instance prints its own section, which is the memory of a job inside it. Neither form
// numbers the GPUs. Their bus ids name them, and the only GPU of a machine is GPU 0.
#include <string>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"

namespace oomdoctor::parsers::smi_query {
namespace {

constexpr int max_lines = 600;    ///< between a GPU's heading and its memory, including seven MIG instances
constexpr int max_sections = 24;  ///< of other GPUs and instances in between

/// The amounts of one section, in MiB.
struct MemorySection {
  std::optional<i64> total, used;
};

/// Parses "1812 MiB"; nullopt for N/A.
std::optional<i64> parse_mebibytes(std::string_view text) {
  text = trimmed(text);
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == text.npos || digits > 9 || !trimmed(text.substr(digits)).starts_with("MiB"))
    return std::nullopt;
  return leading_integer(text);
}

/// The GPU or MIG instance of a section, and the time of the report.
struct SectionOwner {
  std::string bus;
  bool alone = false;
  bool divided = false;                        ///< the GPU has MIG instances
  std::string gpu_instance, compute_instance;  ///< empty for a whole GPU
  std::optional<double> time;
};

/// The value in "Timestamp       : Tue …"; empty if the line has none.
std::string_view find_value(std::string_view body) {
  const std::size_t colon = body.find(" : ");
  return colon == body.npos ? std::string_view{} : trimmed(body.substr(colon + 3));
}

bool is_card_heading(std::string_view text) { return text.starts_with("GPU 0") && text.find(" : ") == text.npos; }

/// Scans upwards from the section. Until the heading of this section's GPU (`own`), lines name the instance. Further up
/// are the other GPUs, their count, and the time of the report.
SectionOwner find_text_owner(const Cursor& cursor) {
  SectionOwner owner;
  const bool shared = trimmed(cursor.line().body()).starts_with("Shared");
  int sections = 0;
  cursor.backward(max_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    const bool own = owner.bus.empty();
    if (own && is_card_heading(text))
      owner.bus = std::string(text.substr(4));
    else if (own && text.starts_with("MIG Device") && text.ends_with("Device"))
      owner.divided = true;
    else if (own && shared && text.starts_with("GPU Instance ID") && owner.gpu_instance.empty())
      owner.gpu_instance = std::string(find_value(text));
    else if (own && shared && text.starts_with("Compute Instance ID") && owner.compute_instance.empty())
      owner.compute_instance = std::string(find_value(text));
    else if (own && shared && text.starts_with("Index") && owner.gpu_instance.empty())
      owner.gpu_instance = std::string(find_value(text));  // an old driver, which prints no instance ids
    else if (text.starts_with("Attached GPUs"))
      owner.alone = find_value(text) == "1";
    else if (text.starts_with("Timestamp") && text.find(" : ") != text.npos)
      owner.time = read_calendar_time(text);
    sections += text.ends_with("FB Memory Usage");
    return !text.starts_with("====") && !owner.time && sections < max_sections;
  });
  return owner;
}

MemorySection read_text_section(const Cursor& cursor) {
  MemorySection section;
  cursor.forward(4, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (text.starts_with("Total"))
      section.total = parse_mebibytes(find_value(text));
    else if (text.starts_with("Used"))
      section.used = parse_mebibytes(find_value(text));
    else if (!text.starts_with("Reserved") && !text.starts_with("Free"))
      return false;
    return true;
  });
  return section;
}

/// Scans upwards like text_place(). `inside` is true until the opening tag of the first MIG device above; `closed` is
/// true above the end of another MIG device. Only lines before both belong to this section's instance.
SectionOwner find_xml_owner(const Cursor& cursor) {
  SectionOwner owner;
  bool inside = true, closed = false;
  std::string index;
  int sections = 0;
  cursor.backward(max_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (owner.bus.empty()) {
      closed = closed || text.starts_with("</mig_device>");
      owner.divided = owner.divided || text.starts_with("<mig_device>");
      if (inside && !closed && text.starts_with("<gpu_instance_id>"))
        owner.gpu_instance = std::string(between(text, ">", "<"));
      if (inside && !closed && text.starts_with("<compute_instance_id>"))
        owner.compute_instance = std::string(between(text, ">", "<"));
      if (inside && !closed && text.starts_with("<index>")) index = std::string(between(text, ">", "<"));
      if (text.starts_with("<mig_device>")) {
        if (inside && !closed && owner.gpu_instance.empty()) owner.gpu_instance = index.empty() ? "?" : index;
        inside = false;
      }
      if (text.starts_with("<gpu id=")) owner.bus = std::string(between(text, "\"", "\""));
    }
    if (text.starts_with("<attached_gpus>")) owner.alone = between(text, ">", "<") == "1";
    if (text.starts_with("<timestamp>")) owner.time = read_calendar_time(between(text, ">", "<"));
    sections += text.starts_with("<fb_memory_usage>");
    return !owner.time && sections < max_sections && !text.starts_with("<nvidia_smi_log");
  });
  return owner;
}

MemorySection read_xml_section(const Cursor& cursor) {
  MemorySection section;
  cursor.forward(5, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (text.starts_with("<total>")) section.total = parse_mebibytes(between(text, ">", "<"));
    if (text.starts_with("<used>")) section.used = parse_mebibytes(between(text, ">", "<"));
    return !text.starts_with("</");
  });
  return section;
}

void emit(EventSink& sink, const SectionOwner& owner, const MemorySection& section) {
  if (owner.bus.empty()) return;
  const std::string name = owner.alone ? "0" : owner.bus;
  const bool part = !owner.gpu_instance.empty();
  const std::string label = part ? instance_name(name, owner.gpu_instance, owner.compute_instance) : owner.bus;
  Card card{.device = {}, .label = label};
  if (!part && owner.alone) card.device = 0;
  if (section.used) emit_gpu_reading(sink, card, {.number = static_cast<double>(*section.used)}, owner.time);
  card.alone = owner.alone && !part && !owner.divided;
  if (section.total) emit_capacity(sink, card, *section.total, "MiB");
}

}  // namespace

void text_form(const Match& m, EventSink& sink) { emit(sink, find_text_owner(m.cursor), read_text_section(m.cursor)); }
void xml_form(const Match& m, EventSink& sink) { emit(sink, find_xml_owner(m.cursor), read_xml_section(m.cursor)); }

bool is_heading(std::string_view line) { return trimmed(line).ends_with("FB Memory Usage"); }

}  // namespace oomdoctor::parsers::smi_query
