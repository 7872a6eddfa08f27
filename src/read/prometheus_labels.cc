#include "read/prometheus_labels.h"

namespace oomdoctor {

std::string_view label_value(std::string_view labels, std::string_view name) {
  for (std::size_t at = labels.find(name); at != labels.npos; at = labels.find(name, at + 1)) {
    const bool begins = at == 0 || labels[at - 1] == ',' || labels[at - 1] == ' ';
    const std::size_t open = at + name.size();
    if (!begins || !labels.substr(open).starts_with("=\"")) continue;
    const std::size_t close = labels.find('"', open + 2);
    return close == labels.npos ? std::string_view{} : labels.substr(open + 2, close - open - 2);
  }
  return {};
}

}  // namespace oomdoctor
