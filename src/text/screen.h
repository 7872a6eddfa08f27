// Plays back the screens of a program that addresses the cursor, as text: `watch nvidia-smi`, captured by `script` or a
// terminal's log. After the first screen it sends only changes, so no line of the capture is readable alone.
//
// The output has the lines of each screen, one screen after the other. Text outside screens passes unchanged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

/// A terminal emulator for one capture. Not thread-safe.
class ScreenPlayer {
 public:
  /// True if `head`, the beginning of a source, contains the first screen of `watch`.
  static bool wanted(std::string_view head);

  /// Plays back more of the capture and appends finished screens to `out`.
  void feed(std::string_view raw, std::string& out);
  /// Appends the last screen, at the end of the source.
  void finish(std::string& out);

 private:
  void take(char c, std::string& out);
  void control(char c);
  void sequence(std::string_view parameters, char final_byte, std::string& out);
  void put(char c);
  void move(std::size_t row, std::size_t column);
  void show(std::string& out);

  enum class EscapeState { text, escape, sequence, charset, title } state_ = EscapeState::text;
  std::string parameters_;
  std::vector<std::vector<std::string>> rows_;  ///< one text per cell, because characters may have several bytes
  std::size_t row_ = 0, column_ = 0;
  bool full_screen_ = false, changed_ = false;
  std::size_t fed_ = 0, shown_ = 0;  ///< bytes
};

}  // namespace oomdoctor
