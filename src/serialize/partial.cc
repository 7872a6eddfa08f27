// Writes a part by the list of its fields. partial_reader.cc reads it by the same list.
#include "serialize/partial.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <nlohmann/json.hpp>

#include "base/natural_order.h"
#include "oomdoctor/version.h"
#include "redact/redact.h"
#include "report/utf8.h"
#include "serialize/partial_fields.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;  // keeps the order, so that the same case gives the same bytes

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char next = first_character(text);
    if (!next.good) return false;
    text.remove_prefix(next.size);
  }
  return true;
}

/// JSON strings are Unicode. Other bytes become the characters with the same numbers, in an object that marks them as
/// bytes.
Json make_text(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string characters;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) characters += static_cast<char>(0xC0 | byte >> 6);
    characters += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte);
  }
  return {{"bytes", characters}};
}

/// Writes the fields of one struct that are not empty.
class PartWriter : public FieldVisitor {
 public:
  template <class T>
  void operator()(const char* name, const T& value, const FieldSpec& = {}) {
    Json written = make_json(value);
    if (!is_nothing(written)) out_[name] = std::move(written);
  }

  /// For an optional value, zero differs from absent.
  template <class T>
  void operator()(const char* name, const std::optional<T>& value, const FieldSpec& = {}) {
    if (!value) return;
    Json written = make_json(*value);
    out_[name] = written.is_null() ? Json(0.0) : std::move(written);
  }

  void buckets(const char* name, const Series& series) {
    Json rows = Json::array();
    for (const Bucket& b : series.buckets()) {
      const bool single = b.n == 1 && b.y == b.low && b.y == b.high && b.x == b.x_low && b.x == b.x_high;
      Json row =
          single ? Json::array({b.x, b.t, b.y}) : Json::array({b.x, b.t, b.y, b.n, b.low, b.high, b.x_low, b.x_high});
      if (b.restart) row.push_back(true);
      rows.push_back(std::move(row));
    }
    if (!rows.empty()) out_[name] = std::move(rows);
  }

  void exit_or_remark(const Event& event) {
    if (const auto* exit = std::get_if<Exit>(&event.what))
      out_["exit"] = make_json(*exit);
    else if (const auto* remark = std::get_if<Remark>(&event.what))
      out_["remark"] = make_json(*remark);
  }

  Json take() { return std::move(out_); }

 private:
  static bool is_nothing(const Json& v) {
    return v.is_null() || (v.is_structured() && v.empty()) ||
           (v.is_string() && v.get_ref<const std::string&>().empty()) || (v.is_boolean() && !v.get<bool>()) ||
           (v.is_number_integer() && v.get<i64>() == 0);
  }

  template <class T>
  static Json make_json(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      return make_text(value);
    } else if constexpr (std::is_same_v<T, double>) {
      if (value == 0 && !std::signbit(value)) return nullptr;
      return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (std::is_enum_v<T>) {
      return to_string(value);
    } else {
      PartWriter inner;
      fields(inner, value);
      return inner.take();
    }
  }

  template <class T>
  static Json make_json(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(make_json(value));
    return array;
  }

  /// Names come from logs as well. They are written as pairs, because text that is not UTF-8 cannot be a key.
  template <class T, class Order>
  static Json make_json(const std::map<std::string, T, Order>& values) {
    Json array = Json::array();
    for (const auto& [name, value] : values) array.push_back(Json::array({make_text(name), make_json(value)}));
    return array;
  }

  Json out_ = Json::object();
};

/// Cleans each text of a case, with its excerpts.
class SecretRemover : public FieldVisitor {
 public:
  template <class T>
  void operator()(const char* /*name*/, T& value, const FieldSpec& /*spec*/ = {}) {
    clean(value);
  }
  void buckets(const char*, Series&) {}
  void exit_or_remark(Event&) {}  // it has only ids of parsers

 private:
  void clean(std::string& text) { text = without_secrets(text); }
  void clean(Evidence& of) {
    remove_secrets(of.lead, of.excerpt, of.span.column, of.span.end_column);
    of.lead.clear();
  }
  template <class T>
  void clean(std::optional<T>& value) {
    if (value) clean(*value);
  }
  template <class T>
  void clean(std::vector<T>& values) {
    for (T& value : values) clean(value);
  }
  template <class T, class Order>
  void clean(std::map<std::string, T, Order>& values) {
    for (auto& [name, value] : values) clean(value);
  }
  template <class T>
  void clean(T& value) {
    if constexpr (!std::is_arithmetic_v<T> && !std::is_enum_v<T>) fields(*this, value);
  }
};

}  // namespace

bool operator<(const PartId& a, const PartId& b) {
  if (a.path != b.path) return natural_less(a.path, b.path);
  return a.digest < b.digest;
}

void remove_secrets(ScanResult& file) {
  SecretRemover remover;
  fields(remover, file);
}

std::string partial_line(const PartId& id, const ScanResult& file) {
  Json line = {{part_version_field, partial_version}};
  line["path"] = make_text(id.path);
  if (id.modified) line["modified"] = *id.modified;
  line["digest"] = id.digest;  // the last of the fields that a reader needs to know the log
  line["tool"] = version;
  PartWriter writer;
  fields(writer, file);
  line["case"] = writer.take();
  return line.dump();
}

}  // namespace oomdoctor
