// The table of output formats. A writer is a pure function of the report and of the options. Only the terminal's uses
// more of the options than the folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/survey.h"
#include "render/terminal.h"

namespace oomdoctor {

/// One output format of a report or a survey.
template <class Result>
struct WriterOf {
  std::string_view name;         ///< as in --format
  std::string_view suffix;       ///< of a file name, for example "json"
  std::string_view description;  ///< one line for --help
  std::string (*write)(const Result& result, const RenderOptions& view);
  bool local = false;     ///< read only where it is written; the other formats are meant for sharing
  bool commands = false;  ///< its lines are commands to a CI system, in which all log text is escaped
};
using Writer = WriterOf<Report>;
using SurveyWriter = WriterOf<Survey>;

/// In the order of --help.
const std::vector<Writer>& writers();
const std::vector<SurveyWriter>& survey_writers();
const std::vector<Writer>& snapshot_writers();
/// Null for an unknown name.
const Writer* find_writer(std::string_view name);

}  // namespace oomdoctor
