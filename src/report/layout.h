// Text on a terminal of a given width: wrapped, never overflowing, with or without colour.
// Text that is handed over must be neutralised already (report/sink.h); colour sequences in it take no columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

/// Colours by convention only. Switched off, every function returns its text unchanged.
struct Paint {
  bool on = false;
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

/// One thing to say: lines that stay together. Where space is short, items with the highest `drop` go first; 0 never
/// goes, and only_verbose always does.
struct Item {
  static constexpr int only_verbose = 9;

  std::vector<std::string> lines;
  int drop = 0;
};

/// Items in order. A page knows its width and its colours, so that sections only say what to write.
class Page {
 public:
  Page(int width, Paint colours) : paint(colours), width_(width) {}

  void line(std::string text, int drop = 0) { items_.push_back({{std::move(text)}, drop}); }
  void lines(std::vector<std::string> text, int drop = 0) { items_.push_back({std::move(text), drop}); }
  /// Wraps behind `first`.
  void text(std::string_view first, std::string_view body, int drop = 0, int hang = -1) {
    lines(wrap(first, body, width_, hang), drop);
  }
  void blank() { line("", 0); }
  void heading(std::string_view title);

  int width() const { return width_; }
  std::size_t line_count() const;
  /// Leaves out what is only for a verbose report, then more items until at most `most` lines remain or nothing more
  /// may go; returns how many lines went.
  std::size_t shorten(std::size_t most);
  std::string str() const;

  const Paint paint;

 private:
  int width_;
  std::vector<Item> items_;
};

}  // namespace oomdoctor
