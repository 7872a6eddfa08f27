// Numbers are little-endian. Lists and texts have a length prefix. A fact is its index in fact_specs(). All lengths and
// indices are far below 2^32.
#include "judge/rule_archive.h"

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "oomdoctor/version.h"

namespace oomdoctor {

// --- the fields of a rule: one list for both directions ---

template <typename Archive>
void fields(Archive& archive, Number& number) {
  archive(number.value, number.slack);
}

template <typename Archive>
void fields(Archive& archive, Expr& expr) {
  archive(expr.text_, expr.facts_, expr.constants_);
  archive.list(expr.nodes_, [&](Expr::Node& node) {
    archive(node.op, node.type, node.dimension, node.left, node.right, node.leaf);
  });
}

template <typename Archive>
void fields(Archive& archive, Phrase& phrase) {
  archive(phrase.text_);
}

template <typename Archive>
void fields(Archive& archive, Sign& sign) {
  archive(sign.condition, sign.weight, sign.why, sign.definitional);
}

template <typename Archive>
void fields(Archive& archive, Ceiling& ceiling) {
  archive(ceiling.condition, ceiling.at_most, ceiling.why);
}

template <typename Archive>
void fields(Archive& archive, RuleTest& test) {
  archive(test.fires, test.quiet);
}

template <typename Archive>
void fields(Archive& archive, OtherTitle& other) {
  archive(other.condition, other.title, other.cost, other.rank, other.verify);
}

template <typename Archive>
void fields(Archive& archive, CauseRule& cause) {
  archive(cause.id, cause.title, cause.source, cause.explain, cause.prior, cause.possible, cause.impossible,
          cause.signs, cause.ceilings, cause.test, cause.no_fix, cause.other_titles);
}

template <typename Archive>
void fields(Archive& archive, SettingRule& setting) {
  archive(setting.program, setting.rank, setting.scope, setting.place, setting.arguments, setting.general, setting.text,
          setting.from, setting.to, setting.prose, setting.when);
}

template <typename Archive>
void fields(Archive& archive, HeldBackReason& reason) {
  archive(reason.condition, reason.because);
}

template <typename Archive>
void fields(Archive& archive, FixRule& fix) {
  archive(fix.id, fix.title, fix.other_titles, fix.source, fix.causes, fix.kind, fix.when, fix.needs, fix.held_back,
          fix.already, fix.saves, fix.saves_low, fix.saves_most, fix.saves_formula, fix.share, fix.cost, fix.risk,
          fix.rank, fix.why, fix.settings, fix.not_with, fix.verify, fix.test);
}

template <typename Archive>
void fields(Archive& archive, MythRule& myth) {
  archive(myth.id, myth.title, myth.source, myth.when, myth.rank, myth.because, myth.mentioned, myth.test);
}

template <typename Archive>
void fields(Archive& archive, PlaceRule& place) {
  archive(place.id, place.needs, place.general, place.arguments);
}

template <typename Archive>
void fields(Archive& archive, NamedCondition& named) {
  archive(named.id, named.description, named.condition);
}

template <typename Archive>
void fields(Archive& archive, DeviceNoun& device) {
  archive(device.condition, device.noun);
}

template <typename Archive>
void fields(Archive& archive, CommandRule& command) {
  archive(command.instead_of, command.condition, command.text, command.prose);
}

template <typename Archive>
void fields(Archive& archive, SettledRule& settled) {
  archive(settled.facts, settled.except, settled.condition);
}

template <typename Archive>
void fields(Archive& archive, RulePack& pack) {
  archive(pack.conditions_, pack.causes_, pack.fixes_, pack.myths_, pack.places_, pack.device_nouns_, pack.commands_,
          pack.settled_);
  // Only shipped rules are archived, and a test keeps a page for each of their causes. A reader has no files of this
  // project, and the page of another version may differ.
  for (auto& [id, cause] : pack.causes_) cause.guide = cause_guide(documentation_site, id);
}

namespace {

template <typename T>
concept Whole = std::integral<T> || std::is_enum_v<T>;

// --- writing ---

class ArchiveWriter {
 public:
  template <typename... Fields>
  void operator()(Fields&... all) {
    (put(all), ...);
  }

  template <typename T, typename Each>
  void list(std::vector<T>& of, Each each) {
    put_size(of.size());
    for (T& element : of) each(element);
  }

  std::string bytes;

 private:
  template <std::unsigned_integral Bits>
  void put_bits(Bits bits) {
    for (std::size_t i = 0; i < sizeof bits; ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  void put_size(std::size_t size) { put_bits(static_cast<std::uint32_t>(size)); }

  template <Whole T>
  void put(T number) {
    if constexpr (std::same_as<T, bool>)
      put_bits(static_cast<std::uint8_t>(number));
    else if constexpr (std::is_enum_v<T>)
      put(static_cast<std::underlying_type_t<T>>(number));
    else
      put_bits(static_cast<std::make_unsigned_t<T>>(number));
  }
  void put(double number) { put_bits(std::bit_cast<std::uint64_t>(number)); }
  void put(const std::string& text) {
    put_size(text.size());
    bytes += text;
  }
  void put(const FactSpec* fact) { put_size(static_cast<std::size_t>(fact - fact_specs().data())); }
  void put(Value& value) {
    put_bits(static_cast<std::uint8_t>(value.index()));
    std::visit([this](auto& held) { put(held); }, value);
  }
  void put(std::monostate) {}
  template <typename T>
  void put(std::vector<T>& of) {
    list(of, [this](T& element) { put(element); });
  }
  template <typename T>
  void put(std::optional<T>& maybe) {
    put(maybe.has_value());
    if (maybe) put(*maybe);
  }
  template <typename T>
  void put(std::map<std::string, T>& rules) {
    put_size(rules.size());
    for (auto& [id, rule] : rules) put(rule);
  }
  template <typename Struct>
  requires requires(ArchiveWriter& writer, Struct& of) { fields(writer, of); }
  void put(Struct& of) { fields(*this, of); }
};

// --- reading ---

class ArchiveReader {
 public:
  explicit ArchiveReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename... Fields>
  void operator()(Fields&... all) {
    (get(all), ...);
  }

  template <typename T, typename Each>
  void list(std::vector<T>& of, Each each) {
    of.resize(length());
    for (T& element : of) each(element);
  }

  bool at_end() const { return bytes_.empty(); }

 private:
  [[noreturn]] static void refuse() { throw Error("the rules inside this program are damaged", {}, "build it again"); }
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) refuse();
    const std::string_view taken(bytes_.data(), size);
    bytes_.remove_prefix(size);
    return taken;
  }

  /// Every program that explains a failure reads all rules, so this takes part of each short run.
  template <std::unsigned_integral Bits>
  Bits bits() {
    const std::string_view taken = take(sizeof(Bits));
    Bits all = 0;
    if constexpr (std::endian::native == std::endian::little)
      std::memcpy(&all, taken.data(), sizeof all);
    else
      for (std::size_t i = 0; i < sizeof(Bits); ++i)
        all = static_cast<Bits>(all | static_cast<Bits>(static_cast<unsigned char>(taken[i])) << (8 * i));
    return all;
  }
  /// A length of elements with at least one byte each, so it cannot exceed the remaining bytes.
  std::size_t length() {
    const std::size_t count = bits<std::uint32_t>();
    if (count > bytes_.size()) refuse();
    return count;
  }

  template <Whole T>
  void get(T& number) {
    if constexpr (std::same_as<T, bool>)
      number = bits<std::uint8_t>() != 0;
    else if constexpr (std::is_enum_v<T>)
      number = static_cast<T>(bits<std::make_unsigned_t<std::underlying_type_t<T>>>());
    else
      number = static_cast<T>(bits<std::make_unsigned_t<T>>());
  }
  void get(double& number) { number = std::bit_cast<double>(bits<std::uint64_t>()); }
  void get(std::string& text) { text = take(bits<std::uint32_t>()); }
  void get(const FactSpec*& fact) {
    const std::size_t index = bits<std::uint32_t>();
    if (index >= specs_.size()) refuse();
    fact = &specs_[index];
  }
  void get(Value& value) {
    switch (bits<std::uint8_t>()) {
      case 1:
        return get(value.emplace<bool>());
      case 2:
        return get(value.emplace<Number>());
      case 3:
        return get(value.emplace<std::string>());
      default:
        value = {};
    }
  }
  template <typename T>
  void get(std::vector<T>& of) {
    list(of, [this](T& element) { get(element); });
  }
  template <typename T>
  void get(std::optional<T>& maybe) {
    bool has_value = false;
    get(has_value);
    if (has_value) get(maybe.emplace());
  }
  template <typename T>
  void get(std::map<std::string, T>& rules) {
    for (std::size_t left = length(); left > 0; --left) {
      T rule;
      get(rule);
      std::string id = rule.id;
      rules.emplace_hint(rules.end(), std::move(id), std::move(rule));  // the archive is in this order
    }
  }
  template <typename Struct>
  requires requires(ArchiveReader& reader, Struct& of) { fields(reader, of); }
  void get(Struct& of) { fields(*this, of); }

  std::string_view bytes_;
  const std::vector<FactSpec>& specs_ = fact_specs();
};

}  // namespace

std::string archived(const RulePack& pack) {
  RulePack copy = pack;  // the list of fields needs a mutable pack, because it serves both directions
  ArchiveWriter writer;
  fields(writer, copy);
  return std::move(writer.bytes);
}

RulePack restored(std::string_view bytes) {
  ArchiveReader reader(bytes);
  RulePack pack;
  fields(reader, pack);
  return pack;
}

}  // namespace oomdoctor
