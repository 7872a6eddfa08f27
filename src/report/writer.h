// The table of output formats. A writer is a pure function of the report; and of the view, of which only the
// terminal's needs more than the folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/terminal.h"

namespace oomdoctor {

struct Writer {
  std::string_view name;         ///< as in --format
  std::string_view suffix;       ///< of a file: "json"
  std::string_view description;  ///< one line for --help
  std::string (*write)(const Report& report, const RenderOptions& view);
  bool local = false;     ///< read where it is made; the others are made to be handed on
  bool commands = false;  ///< its lines command a CI system: all that others wrote is escaped in them
};

const std::vector<Writer>& writers();
/// null for any other name.
const Writer* find_writer(std::string_view name);

}  // namespace oomdoctor
