// Published models by the names that people use, from published_models.toml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/config_fields.h"

namespace oomdoctor {

/// The text of published_models.toml.
std::string_view published_models_text();

}  // namespace oomdoctor

namespace oomdoctor::cli {

/// One row of the file.
struct PublishedModel {
  std::string name;
  std::vector<std::string> other_names;  ///< further names of a model with the same sizes
  ConfigFields config;                   ///< the fields of its config.json that determine its sizes
};

/// All models, in the order of the file.
const std::vector<PublishedModel>& published_models();

/// Finds a model by a name as people type it: "llama-3-8b", "meta-llama/Meta-Llama-3-8B-Instruct", "Llama 3 8B",
/// "llama3:8b". Throws Error for an unknown name, with similar names.
const PublishedModel& find_published_model(const std::string& typed);

}  // namespace oomdoctor::cli
