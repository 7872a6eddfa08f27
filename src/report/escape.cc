#include "report/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/ascii.h"
#include "report/utf8.h"

namespace oomdoctor {
namespace {

struct CodePointRange {
  char32_t first, last;
};

/// Default_Ignorable_Code_Point of Unicode 15.1 (DerivedCoreProperties.txt). Without the variation selectors that
/// choose how the preceding character is drawn; they draw nothing without one.
constexpr CodePointRange ignorable[] = {
    {0x00AD, 0x00AD}, {0x034F, 0x034F}, {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},  {0x180B, 0x180F},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFE00, 0xFE0D},  {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

/// White_Space of Unicode 15.1 (PropList.txt), and the empty Braille pattern.
constexpr CodePointRange blanks[] = {{0x0009, 0x000D}, {0x0020, 0x0020}, {0x0085, 0x0085}, {0x00A0, 0x00A0},
                                     {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                                     {0x205F, 0x205F}, {0x2800, 0x2800}, {0x3000, 0x3000}};

bool is_in(std::span<const CodePointRange> ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const CodePointRange& range) { return code >= range.first && code <= range.last; });
}

/// Characters that are invisible or change the order of others. The reader must see that they are there.
bool is_deceptive(char32_t code) {
  if (code < 0x80) return false;
  return is_in(ignorable, code) || is_in(blanks, code) || (code & 0xFFFE) == 0xFFFE;
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

void append_plain(std::string& out, const Utf8Char& c, std::string_view bytes) {
  if (!c.good || is_control(c.code))
    out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.code));
  else if (is_deceptive(c.code))
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.code));
  else
    out += bytes;
}

std::string plain(std::string_view text, bool keep_line_ends) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = first_character(text);
    if (c.code == '\t' || (c.code == '\n' && !keep_line_ends))
      out += ' ';
    else if (c.code == '\n')
      out += '\n';
    else
      append_plain(out, c, text.substr(0, c.size));
    text.remove_prefix(c.size);
  }
  return out;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// An agent pays for each character that it reads. A message of PyTorch's allocator has up to 700 bytes, and the numbers
// that decide are in front. Sentences are longer only if a log prints long names.
constexpr std::size_t max_agent_quote = 400, max_agent_sentence = 800;

/// One line without the marks of quotes, at most `most` bytes and "…".
std::string bounded_line(std::string_view text, std::size_t most) {
  std::string line = plain_line(text);
  replace_all(line, "«", "<<");
  replace_all(line, "»", ">>");
  const std::string_view shown = utf8_prefix(line, most);
  return shown.size() == line.size() ? line : std::string(shown) + "…";
}

/// Puts a backslash before each of `characters`.
std::string escaped(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// The position of the first character that is neither white space nor a byte order mark.
std::size_t after_blanks(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size()) {
    const Utf8Char c = first_character(line.substr(at));
    if (!c.good || !(is_in(blanks, c.code) || c.code == 0xFEFF)) break;
    at += c.size;
  }
  return at;
}

}  // namespace

std::string plain_line(std::string_view text) { return plain(text, false); }

std::string plain_block(std::string_view text) { return plain(text, true); }

std::string agent_quote(std::string_view log_text) { return "«" + bounded_line(log_text, max_agent_quote) + "»"; }

std::string agent_sentence(std::string_view sentence) { return bounded_line(sentence, max_agent_sentence); }

std::string html_inline(std::string_view text) { return html_escaped(plain_line(text)); }

std::string html_block(std::string_view text) { return html_escaped(plain_block(text)); }

/// GitHub reads "::" at the start of a line, after blanks. "##[", "##vso[" and "##teamcity[" work anywhere in a line,
/// so all of them are broken. Buildkite reads the headers of groups.
std::string without_workflow_commands(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("\n\r"), text.size() - 1) + 1;
    std::string line(text.substr(0, end));
    text.remove_prefix(end);
    const std::size_t start = after_blanks(line);
    if (line.compare(start, 2, "::") == 0) line.insert(start + 1, " ");
    for (const std::string_view command : {"##[", "##vso[", "##teamcity["})
      replace_all(line, command, "# #" + std::string(command.substr(2)));
    for (const std::string_view header : {"--- ", "+++ ", "~~~ ", "^^^ "})
      if (line.starts_with(header)) line.insert(0, " ");
    out += line;
  }
  return out;
}

std::string workflow_message(std::string_view text) {
  std::string out = plain_block(text);
  replace_all(out, "::", ": :");
  out = without_workflow_commands(out);
  replace_all(out, "%", "%25");
  replace_all(out, "\r", "%0D");
  replace_all(out, "\n", "%0A");
  return out;
}

std::string workflow_property(std::string_view text) {
  std::string out = workflow_message(plain_line(text));
  replace_all(out, ":", "%3A");
  replace_all(out, ",", "%2C");
  return out;
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : plain_block(text)) switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string sarif_message(std::string_view text) { return escaped(plain_block(text), "\\[]"); }

std::string json_visible(std::string json) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) < 0x7F; };
  if (std::all_of(json.begin(), json.end(), is_plain)) return json;
  std::string out;
  for (std::string_view rest = json; !rest.empty();) {
    const Utf8Char c = first_character(rest);
    if (c.good && c.code > 0xFFFF && is_deceptive(c.code))
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (c.code >> 10), 0xDC00 + (c.code & 0x3FF));
    else if (c.good && (is_deceptive(c.code) || (c.code >= 0x7F && c.code < 0xA0)))
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.code));
    else
      out += rest.substr(0, c.size);
    rest.remove_prefix(c.size);
  }
  return out;
}

std::string relative_path(std::string_view path, std::string_view folder) {
  if (path == "-") return "stdin";
  // A Windows path: only its file name makes sense here.
  if (path.find('\\') != std::string_view::npos) return std::string(path.substr(path.find_last_of("/\\") + 1));
  const auto whole = std::filesystem::path(path).lexically_normal();
  const auto inside = whole.is_absolute() && !folder.empty() ? whole.lexically_relative(folder) : whole;
  const bool outside = inside.empty() || inside.is_absolute() || *inside.begin() == "..";
  return outside ? whole.filename().string() : inside.string();
}

std::string percent_encoded(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (is_alnum(c) || std::string_view("-._~/").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string prometheus_label(std::string_view text) { return escaped(plain_line(text), "\\\""); }

}  // namespace oomdoctor
