// Each list of fields names all members of its struct, so that no member is missing in the JSON, or in redaction.
#include "report/survey_fields.h"

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "catch.h"

using namespace oomdoctor;

/// Converts to a member of any type. Outside the unnamed namespace, because it has no definition.
struct Anything {
  template <class T>
  operator T() const;
};

namespace {

/// The number of members of an aggregate: the largest number of values that it can be initialized with.
template <class Struct, class... Values>
constexpr std::size_t member_count() {
  if constexpr (requires { Struct{Values{}..., Anything{}}; })
    return member_count<Struct, Values..., Anything>();
  else
    return sizeof...(Values);
}

/// Counts the members that the list of one struct names, and checks the lists of the structs in it.
class ListCheck : public FieldVisitor {
 public:
  template <class Struct>
  static void check() {
    Struct of;
    ListCheck list;
    fields(list, of);
    INFO("the list of fields whose first field is " << list.first_);
    CHECK(list.listed_ == member_count<Struct>());
  }

  template <class T>
  void operator()(const char* name, T& value, const FieldSpec& = {}) {
    add(name);
    check_type(value);
  }
  template <class Items, class Body>
  void list(const char* name, Items&, Body, const FieldSpec& = {}) {
    add(name);
  }
  template <class T, class Body>
  void object(const char* name, T&, Body) {
    add(name);
  }
  template <class Body>
  void group(const char*, Body body) {
    body(*this);
  }
  void begin_member() { before_member_ = listed_; }
  void end_member() { listed_ = before_member_ + 1; }
  void words_only(auto&... members) { listed_ += sizeof...(members); }

 private:
  void add(const char* name) {
    if (listed_++ == 0) first_ = name;
  }
  template <class T>
  static void check_type(const T&) {
    if constexpr (std::is_class_v<T>) check<T>();
  }
  template <class T>
  static void check_type(const std::vector<T>&) {
    check_type(T{});
  }
  template <class T>
  static void check_type(const std::optional<T>&) {
    check_type(T{});
  }
  static void check_type(const std::string&) {}
  static void check_type(const std::map<std::string, std::int64_t>&) {}

  std::string first_;
  std::size_t listed_ = 0, before_member_ = 0;
};

struct Three {
  std::string text;
  std::optional<ReportAccount> account;
  bool last = false;
};

}  // namespace

TEST_CASE("each struct of the report lists all its members as fields", "[fields]") {
  static_assert(member_count<Three>() == 3);
  static_assert(member_count<Share>() == 2);
  ListCheck::check<Report>();
  ListCheck::check<Survey>();
  ListCheck::check<SurveyJob>();
}
