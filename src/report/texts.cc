#include "report/texts.h"

#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/report_fields.h"

namespace oomdoctor {
namespace {

/// Visits each text, whether the JSON has it or not.
class TextVisitor : public FieldVisitor {
 public:
  explicit TextVisitor(const TextVisit& visit) : visit_(visit) {}

  template <class T>
  void operator()(const char* /*name*/, T& value, const FieldSpec& /*spec*/ = {}) {
    go_to(value);
  }
  template <class Items, class Body>
  void list(const char* /*name*/, Items& items, Body body, const FieldSpec& /*spec*/ = {}) {
    for (auto& item : items) body(*this, item);
  }
  template <class T, class Body>
  void object(const char* /*name*/, T& value, Body body) {
    body(*this, value);
  }
  template <class Body>
  void group(const char* /*name*/, Body body) {
    body(*this);
  }
  void words_only(auto&... members) { (go_to(members), ...); }

 private:
  void go_to(std::string& text) { visit_(text, nullptr); }
  void go_to(Location& of) {
    visit_(of.path, nullptr);
    visit_(of.excerpt, &of);
  }
  template <class T>
  void go_to(std::optional<T>& value) {
    if (value) go_to(*value);
  }
  template <class T>
  void go_to(std::vector<T>& values) {
    for (auto& value : values) go_to(value);
  }
  void go_to(std::map<std::string, std::int64_t>& counts) {
    std::map<std::string, std::int64_t> changed;
    for (const auto& [name, count] : counts) {
      std::string visited = name;
      go_to(visited);
      changed[visited] += count;
    }
    counts = std::move(changed);
  }
  template <class T>
  void go_to(T& value) {
    if constexpr (std::is_class_v<T>) fields(*this, value);
  }

  const TextVisit& visit_;
};

}  // namespace

void visit_texts(Report& report, const TextVisit& visit) {
  TextVisitor visitor(visit);
  fields(visitor, report);
}

}  // namespace oomdoctor
