// A trainer's settings as options of oomdoctor estimate: the YAML of Axolotl and LLaMA-Factory, and the command line of
// a training with the names of Hugging Face's trainers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace oomdoctor::cli {

/// Names with underscores and their values as texts; a switch is "true", a list is joined by commas.
using TrainerSettings = std::map<std::string, std::string, std::less<>>;

/// The top level of a YAML file. What is nested, or is not YAML at all, is left out: no setting of a size is nested.
TrainerSettings read_yaml_settings(std::string_view text);
/// "--name value", "--name=value" and "--name" of a command line; later ones have the last word.
TrainerSettings read_command_settings(const std::vector<std::string>& words);

/// Adds the options that these settings say and the command line does not; the model only if it has none yet. Returns
/// them as typed, and what was not understood, for a note.
std::string add_trainer_options(const TrainerSettings& settings, bool has_model, Arguments& arguments);

}  // namespace oomdoctor::cli
