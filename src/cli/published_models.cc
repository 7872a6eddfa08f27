#include "cli/published_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/edit_distance.h"
#include "base/error.h"
#include "text/toml_table.h"

namespace oomdoctor::cli {
namespace {

ConfigField read_value(const TomlNode& node) {
  if (const auto* number = std::get_if<double>(&node.value)) return whole_number(*number);
  if (const auto* truth = std::get_if<bool>(&node.value)) return *truth;
  if (const auto* list = std::get_if<TomlNode::List>(&node.value)) {
    std::vector<i64> sizes;
    for (const TomlNode& each : *list) sizes.push_back(whole_number(std::get<double>(each.value)));
    return sizes;
  }
  return std::get<std::string>(node.value);
}

/// The file is part of the program, and a test reads every row. So nothing in it can be wrong here.
std::vector<PublishedModel> read_models() {
  const TomlFile file("published_models.toml", std::string(published_models_text()));
  std::vector<PublishedModel> models;
  for (TomlTable row : file.top().tables("model")) {
    std::map<std::string, ConfigField, std::less<>> fields;
    const auto config = row.table("config");
    for (const auto& [key, value] : config->entries())
      fields.emplace(std::get<std::string>(key.value), read_value(value));
    std::string name = row.need_text("name");
    ConfigFields read(name, std::move(fields));
    models.push_back({std::move(name), row.texts("also"), std::move(read)});
  }
  return models;
}

/// Words that name the tuning of a model or its publisher, which do not change its sizes.
constexpr std::string_view tunings[] = {"instruct", "chat", "it", "hf", "meta"};

/// The letters and digits of a name: "llama38b" for "Meta-Llama-3-8B-Instruct". A dot between digits stays, so that 3.1
/// differs from 31.
std::string key_of(std::string_view name) {
  std::string key, word;
  const auto end_word = [&] {
    if (std::find(std::begin(tunings), std::end(tunings), word) == std::end(tunings)) key += word;
    word.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool dot = name[i] == '.' && i > 0 && i + 1 < name.size() && is_digit(name[i - 1]) && is_digit(name[i + 1]);
    if (is_alnum(name[i]) || dot)
      word += lower(name.substr(i, 1));
    else
      end_word();
  }
  end_word();
  return key;
}

std::vector<std::string> list_names(const PublishedModel& model) {
  std::vector<std::string> names = model.other_names;
  names.insert(names.begin(), model.name);
  return names;
}

/// The whole name, and the name after its publisher: "meta-llama/Llama-3-8B".
std::vector<std::string> keys_of(const std::string& typed) {
  return {key_of(typed), key_of(std::string_view(typed).substr(typed.rfind('/') + 1))};
}

/// True if `name` is `begin`, a separator and more: "llama-3-8b" continues "llama-3".
bool continues(std::string_view name, std::string_view begin) {
  return !begin.empty() && name.size() > begin.size() && lower(name).starts_with(lower(begin)) &&
         !is_alnum(name[begin.size()]) && name[begin.size()] != '.';
}

/// The names that continue the typed one; else, if there are few, those with the same first letters and digits.
std::vector<std::string> find_continued(const std::string& typed) {
  const std::string begin = typed.substr(typed.rfind('/') + 1), key = key_of(begin);
  std::vector<std::string> continued, alike;
  for (const PublishedModel& model : published_models()) {
    if (continues(model.name, begin)) continued.push_back(model.name);
    if (!key.empty() && key_of(model.name).starts_with(key)) alike.push_back(model.name);
  }
  return continued.empty() ? alike : continued;
}

/// "did you mean Llama-3-8B or Llama-3-70B?"; "" without a similar name.
std::string suggest_models(const std::string& typed) {
  constexpr std::size_t max_names = 8;
  const std::vector<std::string> continued = find_continued(typed);
  if (continued.size() > max_names)
    return fmt::format("{} models have such a name: oomdoctor list models", continued.size());
  if (!continued.empty()) return fmt::format("did you mean {}?", fmt::join(continued, " or "));
  std::map<std::string, std::string, std::less<>> names;  // by their keys
  for (const PublishedModel& model : published_models())
    for (const std::string& name : list_names(model)) names.emplace(key_of(name), model.name);
  std::vector<std::string> keys;
  for (const auto& [each, name] : names) keys.push_back(each);
  const std::string near = did_you_mean(key_of(typed.substr(typed.rfind('/') + 1)), keys);
  return near.empty() ? near : fmt::format("did you mean {}?", names.find(near)->second);
}

}  // namespace

const std::vector<PublishedModel>& published_models() {
  static const std::vector<PublishedModel> models = read_models();
  return models;
}

const PublishedModel& find_published_model(const std::string& typed) {
  for (const std::string& key : keys_of(typed))
    for (const PublishedModel& model : published_models())
      for (const std::string& name : list_names(model))
        if (key_of(name) == key) return model;
  const std::string near = suggest_models(typed);
  throw Error(fmt::format("unknown model '{}' in --model", typed), "",
              near.empty() ? "oomdoctor list models prints the known ones; for any other: --config config.json" : near);
}

}  // namespace oomdoctor::cli
