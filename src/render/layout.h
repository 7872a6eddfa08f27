// Lays out text for a terminal of a given width: wraps it, never exceeds the width, with or without colour. The caller
// must escape log text first (report/escape.h). Colour sequences in the text take no columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

/// The colours of the terminal. If they are off, every function returns its text unchanged.
struct Paint {
  bool on = false;
  bool ascii = false;  ///< the page replaces all other characters
  std::string bold(std::string_view text) const { return colourize("1", text); }
  std::string dim(std::string_view text) const { return colourize("2", text); }
  std::string error(std::string_view text) const { return colourize("1;31", text); }
  std::string warning(std::string_view text) const { return colourize("1;33", text); }
  std::string good(std::string_view text) const { return colourize("1;32", text); }

 private:
  std::string colourize(std::string_view code, std::string_view text) const;
};

/// Lines of at most `width` columns. The first begins with `first`, the others with `hang` blanks (-1: the columns of
/// `first`). A number stays with its unit, and a citation in brackets in one piece. A word longer than a line is
/// broken.
std::vector<std::string> wrap(std::string_view first, std::string_view text, int width, int hang = -1);

/// At most `width` columns; "…" replaces the removed end, middle or front. Names in a list often differ in their ends.
std::string clip_end(std::string_view text, int width);
std::string clip_middle(std::string_view text, int width);
std::string clip_front(std::string_view text, int width);

/// Appends blanks up to `width` columns.
std::string pad(std::string_view text, int width);

/// Lines in order, with a width and colours, so that sections only supply their text.
class Page {
 public:
  Page(int width, Paint colours) : paint(colours), width_(width) {}

  void line(std::string text) { lines_.push_back(std::move(text)); }
  void lines(std::vector<std::string> text) {
    for (auto& row : text) lines_.push_back(std::move(row));
  }
  /// Wraps `body` after `first`; the following lines begin with `hang` blanks (-1: the columns of `first`).
  void text(std::string_view first, std::string_view body, int hang = -1) { lines(wrap(first, body, width_, hang)); }
  void blank() { line(""); }
  /// Adds a bold title, with a blank line before it unless the page is empty.
  void heading(std::string_view title);

  int width() const { return width_; }
  bool empty() const { return lines_.empty(); }
  /// All lines with their line ends; in ASCII if `paint.ascii`.
  std::string str() const;

  const Paint paint;

 private:
  int width_;
  std::vector<std::string> lines_;
};

}  // namespace oomdoctor
