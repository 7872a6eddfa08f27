// Frames of the tables that parsers know by a header line: their own examples.
#pragma once

#include <vector>

#include "parse/parser.h"
#include "read_log.h"

namespace oomdoctor::testing {

/// `commas`: those whose columns commas part, or the others.
inline std::vector<Frame> headed_frames(bool commas) {
  std::vector<Frame> frames;
  for (const Parser* parser : all_parsers())
    for (const Table& table : parser->tables)
      if ((table.example_header.find(',') != table.example_header.npos) == commas)
        frames.push_back({std::string(table.example_header) + '\n' + std::string(table.example_row) + '\n', "\n"});
  return frames;
}

}  // namespace oomdoctor::testing
