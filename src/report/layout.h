// Text on a terminal of a given width: wrapped, never overflowing, with or without colour.
// Text that is handed over must be neutralised already (report/sink.h); colour sequences in it take no columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

/// What a terminal can show. Colours by convention only: switched off, every function returns its text unchanged.
struct Paint {
  bool on = false;
  bool ascii = false;  ///< a page is printed without any other characters
  std::string bold(std::string_view text) const { return wear("1", text); }
  std::string dim(std::string_view text) const { return wear("2", text); }
  std::string error(std::string_view text) const { return wear("1;31", text); }
  std::string warning(std::string_view text) const { return wear("1;33", text); }
  std::string good(std::string_view text) const { return wear("1;32", text); }

 private:
  std::string wear(std::string_view code, std::string_view text) const;
};

/// Lines of at most `width` columns. The first begins with `first`, the others with `hang` blanks (-1: as many as
/// `first` has columns). A number stays with its unit and a citation in brackets in one piece; a word longer than a
/// line is broken.
std::vector<std::string> wrap(std::string_view first, std::string_view text, int width, int hang = -1);

/// At most `width` columns: what is cut off shows as "…" at its end, or at its front.
std::string clip_end(std::string_view text, int width);
std::string clip_front(std::string_view text, int width);

/// Blanks up to the given column.
std::string pad(std::string_view text, int width);

/// Lines in order. A page knows its width and its colours, so that sections only say what to write.
class Page {
 public:
  Page(int width, Paint colours) : paint(colours), width_(width) {}

  void line(std::string text) { lines_.push_back(std::move(text)); }
  void lines(std::vector<std::string> text) {
    for (auto& row : text) lines_.push_back(std::move(row));
  }
  /// Wraps behind `first`; the lines below begin with `hang` blanks (-1: as many as `first` has columns).
  void text(std::string_view first, std::string_view body, int hang = -1) { lines(wrap(first, body, width_, hang)); }
  void blank() { line(""); }
  void heading(std::string_view title);

  int width() const { return width_; }
  bool empty() const { return lines_.empty(); }
  std::string str() const;

  const Paint paint;

 private:
  int width_;
  std::vector<std::string> lines_;
};

}  // namespace oomdoctor
