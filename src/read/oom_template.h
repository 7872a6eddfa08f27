// A message whose captures are only copied into an Oom needs no function: parsers/*.toml declares the copies.
//
//   [[message]]
//   name    = "schedulers/moab"
//   anchor  = "usage hard limit"
//   regex   = 'job \S{1,40} exceeded MEM usage hard limit \((\d{1,9}) > (\d{1,9})\)'
//   example = "job 4711 exceeded MEM usage hard limit (4512 > 4096)"
//   oom     = { kind = "host", agent = "scheduler", format = "moab", process = "1 MiB", limit = "2 MiB" }
//   expect  = { process = "4512 MiB", limit = "4096 MiB" }
//
// "1" is a group of the regex whose text is a size with its unit, "1 MiB" one whose text is a number of that unit. The
// build reads the example and compares what it finds with `expect`.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "model/event.h"
#include "read/parser.h"

namespace oomdoctor {

struct OomTemplate {
  /// A size of the message. Group 0 is none.
  struct PrintedSize {
    std::optional<Bytes> Oom::*field = nullptr;
    std::size_t group = 0;
    std::string_view unit = {};  ///< of a number; "" if the text has one
  };
  static constexpr std::size_t most_sizes = 6, most_words = 10, most_traits = 4;

  OomKind kind = OomKind::device;
  Agent agent = Agent::driver;
  std::string_view framework = {}, format = {}, program = {};
  std::array<std::optional<OomTrait>, most_traits> traits{};
  std::array<PrintedSize, most_sizes> sizes{};
  // Groups; 0 is none.
  std::size_t device = 0, pid = 0, process_name = 0;
  bool caught = false, described = false;
  bool not_in_code = false;  ///< the same words may be a line of program code
  /// The message only repeats one that is nearby: up to `back` lines before and `ahead` lines after this one, with one
  /// of the words.
  int back = 0, ahead = 0;
  std::array<std::string_view, most_words> unless_near{};
  std::string_view remark = {};  ///< reported with the failure; "" is none
};

/// Reports the failure of a match.
void emit_oom(const OomTemplate& as, const Match& match, EventSink& sink);

}  // namespace oomdoctor
