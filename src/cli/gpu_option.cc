#include "cli/gpu_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/error.h"
#include "cli/options.h"
#include "facts/gpu_models.h"

namespace oomdoctor::cli {
namespace {

/// Names are compared by letters and digits only: "a100 80gb" matches A100-80GB.
std::string letters_and_digits(std::string_view name) {
  std::string out = lower(name);
  std::erase_if(out, [](char c) { return !is_lower(c) && !is_digit(c); });
  return out;
}

std::optional<i64> read_size(const std::string& typed) {
  const auto unit = std::min(typed.find_first_not_of("0123456789.,"), typed.size());
  const auto word = std::min(typed.find_first_not_of(' ', unit), typed.size());
  if (lower(typed.substr(word)) == "ti") return std::nullopt;  // "4060 ti" is a name
  const auto size = read_bytes(typed.substr(0, unit), typed.substr(word));
  if (!size || size->count <= 0) return std::nullopt;
  return size->count;
}

/// "3080 10 GB" as a name and a size.
struct SizedName {
  std::string whole;  ///< with the size as one word: "a100 80gb"
  std::string name;   ///< without the size
  i64 size = 0;       ///< 0: the text has none
};

SizedName split_size(const std::string& typed) {
  const std::string text = lower(typed);
  for (std::size_t begin = 1; begin < text.size(); ++begin) {
    if (!is_digit(text[begin]) || is_alnum(text[begin - 1])) continue;
    const auto unit = std::min(text.find_first_not_of("0123456789", begin), text.size());
    const auto word = std::min(text.find_first_not_of(' ', unit), text.size());
    auto end = word;
    while (end < text.size() && is_alnum(text[end])) ++end;
    const std::string letters = text.substr(word, end - word), number = text.substr(begin, unit - begin);
    if (letters != "g" && letters != "gb" && letters != "gib") continue;
    const std::string before = text.substr(0, begin), behind = text.substr(end);
    return {before + number + "gb" + behind, before + behind, read_size(number + "GiB").value_or(0)};
  }
  return {typed, typed};
}

/// The memory that programs see is up to 8% below the one in a GPU's name, or slightly above half a gigabyte.
bool is_size_of(i64 size, const GpuModel& model) {
  constexpr double max_reserved = 0.08;
  const double seen = to_double(model.bytes()), named = to_double(size);
  return seen <= named + to_double(GiB) / 2 && seen >= named * (1 - max_reserved);
}

/// The models whose name, from one of its words on, begins like the typed one: "A100" and "4060ti" match several or
/// have a longer name. What drivers print after a model's name ("A100 SXM") is ignored.
std::vector<std::string> find_alike(std::string typed) {
  typed = letters_and_digits(typed);
  for (const std::string_view form : {"sxm4", "sxm5", "sxm2", "sxm", "pcie"})
    if (const auto at = typed.find(form); at != typed.npos) typed.erase(at, form.size());
  std::vector<std::string> alike;
  for (const GpuModel& model : gpu_models()) {
    const std::string_view name = model.name;
    for (std::size_t at = 0; at != name.npos && !typed.empty(); at = name.find('-', at + 1))
      if (letters_and_digits(name.substr(at)).starts_with(typed)) {
        alike.emplace_back(name);
        break;
      }
  }
  return alike;
}

/// "8xH100" or "2 x 4090".
bool is_several(const std::string& typed) {
  const auto count = std::min(typed.find_first_not_of("0123456789 "), typed.size());
  return count > 0 && count + 1 < typed.size() && lower(typed[count]) == 'x';
}

[[noreturn]] void refuse(const std::string& typed) {
  const std::string message = fmt::format("unknown GPU '{}'", typed);
  if (is_several(typed)) throw Error(message, "", "name one GPU; --dp, --tp and --pp say how many share the work");
  if (!typed.empty() && only_digits(typed)) throw Error(message, "", fmt::format("a size needs its unit: {}GB", typed));
  std::vector<std::string> names;
  for (const GpuModel& model : gpu_models()) names.emplace_back(model.name);
  const std::vector<std::string> alike = find_alike(typed);
  const std::string near =
      alike.empty() ? suggestion(typed, names) : fmt::format("did you mean {}?", fmt::join(alike, " or "));
  throw Error(
      message, "",
      near.empty() ? fmt::format("give a size, for example 80GiB, or one of: {}", fmt::join(names, ", ")) : near);
}

}  // namespace

GpuOption read_gpu_option(const std::string& typed) {
  if (const auto size = read_size(typed)) return {"a GPU", *size};
  const SizedName sized = split_size(typed);
  for (const std::string& name : {typed, sized.whole, sized.name}) {
    auto model = find_gpu_by_short_name(name);
    if (!model) model = find_gpu_model(name);
    if (!model) continue;
    if (sized.size > 0 && !is_size_of(sized.size, *model)) return {"a GPU", sized.size};
    return {std::string(model->name), model->bytes()};
  }
  refuse(typed);
}

}  // namespace oomdoctor::cli
