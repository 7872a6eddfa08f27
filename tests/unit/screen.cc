#include "text/screen.h"

#include <string>

#include "catch.h"
#include "played.h"
#include "unit/scans.h"

namespace oomdoctor {
namespace {

using testing::played;

TEST_CASE("a screen that changes digit by digit is shown in full again", "[screen]") {
  const std::string raw =
      "before\n\x1b[?1049h\x1b[1;4r\x1b[H\x1b[2JEvery 2.0s: x\x1b[3;1H|    812MiB |\x1b[4;80H\x1b[1;14Hy\x1b[3;6H912"
      "\x1b[4;80H\x1b[?1049lafter\n";
  CHECK(ScreenPlayer::wanted(raw));
  const std::string shown = "before\nEvery 2.0s: x\n\n|    812MiB |\nEvery 2.0s: xy\n\n|    912MiB |\nafter\n";
  for (const std::size_t piece : {1u, 7u, 1000u}) {
    CAPTURE(piece);
    CHECK(played(raw, piece) == shown);
  }
}

TEST_CASE("parts of a screen are erased", "[screen]") {
  CHECK(played("\x1b[?1049habcdef\x1b[1;3H\x1b[K", 100) == "ab\n");
  CHECK(played("\x1b[?1049habcdef\x1b[1;3H\x1b[2P", 100) == "abef\n");
  CHECK(played("\x1b[?1049habcdef\x1b[1;3H\x1b[1K", 100) == "   def\n");
  CHECK(played("\x1b[?1049habcdef\x1b[1;3H\x1b[2@", 100) == "ab  cdef\n");
  CHECK(played("\x1b[?1049ha\x1b[3b\x1b[2;2Hz", 100) == "aaaa\n z\n");
}

TEST_CASE("a letter of several bytes is one cell, and a title is none", "[screen]") {
  CHECK(played("\x1b[?1049h│é│\x1b[1;2Hx", 1) == "│x│\n");
  CHECK(played("\x1b[?1049ha\x1b]0;watch\ab\x1b]2;top\x1b\\c", 1) == "abc\n");
  CHECK(played("\x1b[?1049hab\ncd\re", 1) == "ab\ne cd\n");
}

TEST_CASE("text of other programs is no capture", "[screen]") {
  CHECK_FALSE(ScreenPlayer::wanted("\x1b[32mEvery epoch\x1b[0m"));
  CHECK_FALSE(ScreenPlayer::wanted("Every 2.0s: nvidia-smi"));
}

TEST_CASE("the table under watch is read screen by screen", "[screen]") {
  const std::string raw =
      "\x1b[?1049h\x1b[22;0;0t\x1b[1;24r\x1b(B\x1b[m\x1b[4l\x1b[?7h\x1b[H\x1b[2JEvery 2.0s: nvidia-smi"
      "\x1b[1;48Hhost1: Sat Feb  1 12:00:04 2025\x1b[3;1HSat Feb  1 12:00:04 2025\r"
      "\x1b[4d+-----------------------------------------------------------------------------+\r"
      "\x1b[5d| NVIDIA-SMI 470.129.06   Driver Version: 470.129.06   CUDA Version: 11.4     |\r"
      "\x1b[6d|-------------------------------+----------------------+----------------------+\r"
      "\x1b[7d| GPU  Name\x1b[7;20HPersistence-M| Bus-Id\x1b[7;49HDisp.A | Volatile Uncorr. ECC |\r"
      "\x1b[8d| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |\r\x1b[9d|"
      "\x1b[9;33H|\x1b[9;56H|\x1b[9;72HMIG M. |\r"
      "\x1b[10d|===============================+======================+======================|\r"
      "\x1b[11d|   0  NVIDIA A30\x1b[11;29HOn   | 00000000:17:00.0 Off |\x1b[11;77H0 |\r"
      "\x1b[12d| N/A   44C    P0    61W / 165W |   1128MiB / 24258MiB |\x1b[12;62H0%      Default |\r"
      "\x1b[13d|\x1b[13;33H|\x1b[13;56H|\x1b[13;70HDisabled |\r"
      "\x1b[14d+-------------------------------+----------------------+----------------------+\x1b[24;80H"
      "\x1b[1;73H06\x1b[3;18H06\x1b[12;37H2264\x1b[12;61H96\x1b[24;80H\x1b[1;73H08\x1b[3;18H08"
      "\x1b[12;37H3400\x1b[12;61H98\x1b[24;80H\x1b[1;73H10\x1b[3;18H10\x1b[12;37H3912\x1b[12;61H90"
      "\x1b[24;80H\x1b[24;1H\x1b[?1049l\x1b[23;0;0t\r\x1b[?1l\x1b>";
  const ScanResult read = testing::scan_text(raw);
  REQUIRE(read.series.size() == 1);
  CHECK(read.series[0].n == 4);
  CHECK(read.series[0].origin.device == 0);
  CHECK(read.series[0].first_value == 1128.0 * static_cast<double>(MiB));
  CHECK(read.series[0].last_value == 3912.0 * static_cast<double>(MiB));
  CHECK(read.series[0].last_x == 6);
}

TEST_CASE("damaged sequences neither end the text nor fill memory", "[screen]") {
  CHECK(played("\x1b[?1049h\x1b[99999;99999Hx\x1b[999999999999Cy\x1b[", 3).size() < 1000 * 1000);
  CHECK(played("\x1b", 1).empty());
}

TEST_CASE("no cell outside its row is read or written", "[screen]") {
  const std::string open = "\x1b[?1049h\x1b[H";
  // The cursor is beyond the end of its row: the repeated cell is the row's last one.
  CHECK(played(open + "ab\x1b[1;900H\x1b[3b", 7).find('b') != std::string::npos);
  CHECK(played(open + "\x1b[1;900H\x1b[5b", 7) == played(open, 7));
  // Counts that overflow are counts beyond the screen.
  for (const std::string_view count : {"18446744073709551615", "18446744073709551616", "9223372036854775808", "1001"})
    for (const char final_byte : {'@', 'b', 'P', 'X', 'A', 'B', 'C', 'D', 'G', 'H', 'd', 'J', 'K'}) {
      CAPTURE(count, final_byte);
      const std::string raw = open + "abc\x1b[1;2H\x1b[" + std::string(count) + final_byte + "z\x1b[?1049l";
      for (const std::size_t piece : {1u, 1000u}) CHECK(played(raw, piece).size() <= 1000 * 300);
    }
}

}  // namespace
}  // namespace oomdoctor
