#include "read/line_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

/// Max positions at which `~` is tried on one line. Real lines need a handful, and a hostile line must not cost more.
constexpr int max_tries = 256;

/// Whole numbers with fewer digits than this table, and its powers, are exact doubles. So their quotient is rounded
/// once, as in std::from_chars.
constexpr std::array<double, 16> powers_of_ten{1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                               1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
constexpr std::size_t max_number_bytes = 40, max_exponent_digits = 3;  ///< in bytes, and in digits

std::size_t skip_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && is_blank(line[at])) ++at;
  return at;
}

/// Matches `text` at `at`; a blank matches any run of blanks. Returns the end, or npos.
std::size_t match_text(std::string_view line, std::size_t at, std::string_view text) {
  for (const char c : text) {
    if (c == ' ') {
      at = skip_blanks(line, at);
    } else {
      if (at >= line.size() || line[at] != c) return std::string_view::npos;
      ++at;
    }
  }
  return at;
}

/// The number as std::from_chars reads it, without its thousands commas.
std::optional<double> parse_with_library(std::string_view printed) {
  std::array<char, max_number_bytes + max_exponent_digits + 2> bytes;
  const auto end =
      std::copy_if(printed.begin(), printed.end(), bytes.begin(), [](char c) { return c != ',' && c != '+'; });
  double value = 0;
  const auto [stop, error] = std::from_chars(bytes.data(), bytes.data() + (end - bytes.begin()), value);
  return error == std::errc{} && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

/// The hot path of step lines: short numbers are computed from their digits, without std::from_chars.
std::optional<GaugeValue> read_number(std::string_view text, std::size_t& at) {
  GaugeValue out;
  const char* const bytes = text.data();  // each position is checked once
  std::size_t i = at, digits = 0;
  std::uint64_t whole = 0;  // all digits, without the point
  bool point = false, exponent = false;
  const bool negative = i < text.size() && bytes[i] == '-';
  if (negative || (i < text.size() && bytes[i] == '+')) ++i;
  std::size_t room = max_number_bytes - negative;  // for digits and the point
  for (; i < text.size() && room > 0; ++i) {
    const char c = bytes[i];
    if (is_digit(c)) {
      whole = whole * 10 + static_cast<std::uint64_t>(c - '0');
      ++digits, --room;
      out.decimals += point;
    } else if (c == '.' && !point) {
      point = true, --room;
    } else if (c == ',' && digits > 0 && !point && i + 3 < text.size() && is_digit(bytes[i + 1]) &&
               is_digit(bytes[i + 2]) && is_digit(bytes[i + 3]) && (i + 4 >= text.size() || !is_digit(bytes[i + 4]))) {
      continue;  // thousands separator
    } else {
      break;
    }
  }
  if (digits == 0) return std::nullopt;
  if (i + 1 < text.size() && (bytes[i] == 'e' || bytes[i] == 'E') &&
      (is_digit(bytes[i + 1]) ||
       ((bytes[i + 1] == '-' || bytes[i + 1] == '+') && i + 2 < text.size() && is_digit(bytes[i + 2])))) {
    exponent = true;
    ++i;
    if (!is_digit(bytes[i])) ++i;
    for (std::size_t k = 0; i < text.size() && is_digit(bytes[i]) && k < max_exponent_digits; ++i, ++k) continue;
  }
  if (!exponent && digits < powers_of_ten.size()) {
    out.value = static_cast<double>(whole) / powers_of_ten[static_cast<std::size_t>(out.decimals)];
    if (negative) out.value = -out.value;
  } else if (const auto value = parse_with_library(text.substr(at, i - at))) {
    out.value = *value;
  } else {
    return std::nullopt;
  }
  if (bytes[i - 1] == '.' && point && out.decimals == 0) --i;  // a point after a number ends a sentence
  out.at = at;
  out.end = at = i;
  return out;
}

double leading_number(std::string_view text) {
  std::size_t at = 0;
  const auto number = read_number(text, at);
  return number ? number->value : 0;
}

std::optional<Metric> find_metric(std::string_view name) {
  struct NamedMetric {
    std::string_view name;
    Metric metric;
  };
  static constexpr std::array<NamedMetric, 12> names{{{"allocated", Metric::allocated},
                                                      {"reserved", Metric::reserved},
                                                      {"max_allocated", Metric::max_allocated},
                                                      {"max_reserved", Metric::max_reserved},
                                                      {"active", Metric::active},
                                                      {"used", Metric::used},
                                                      {"free", Metric::free},
                                                      {"memory", Metric::memory},
                                                      {"host_rss", Metric::host_rss},
                                                      {"host_used", Metric::host_used},
                                                      {"host_available", Metric::host_available},
                                                      {"utilization", Metric::utilization}}};
  for (const auto& e : names)
    if (e.name == name) return e.metric;
  return std::nullopt;
}

std::span<const std::string_view> number_names() {
  static constexpr std::array<std::string_view, 19> names{
      "step",   "epoch",    "epoch0",    "total",          "rank",          "device",   "skip",
      "memory", "used",     "free",      "allocated",      "max_allocated", "reserved", "max_reserved",
      "active", "host_rss", "host_used", "host_available", "percent"};
  return names;
}

std::vector<std::string_view> list_names(const LineFormat& gauge) {
  std::vector<std::string_view> names;
  for (const NamedGroup& group : named_groups(gauge.regex)) names.push_back(group.name);
  for (std::size_t at = gauge.form.find('{'); at != std::string_view::npos; at = gauge.form.find('{', at + 1))
    names.push_back(gauge.form.substr(at + 1, gauge.form.find('}', at) - at - 1));
  return names;
}

std::size_t find_class_end(std::string_view regex, std::size_t at) {
  std::size_t i = at + 1;  // a "]" right after the "[" or "[^" is a member of the class
  if (i < regex.size() && regex[i] == '^') ++i;
  if (i < regex.size() && regex[i] == ']') ++i;
  for (; i < regex.size() && regex[i] != ']'; ++i) {
    if (regex[i] == '\\') ++i;
    if (regex.substr(i).starts_with("[:")) i = std::min(regex.find(":]", i), regex.size() - 1) + 1;
  }
  return i;
}

std::vector<NamedGroup> named_groups(std::string_view regex) {
  std::vector<NamedGroup> groups;
  std::size_t number = 0;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] == '\\') {
      ++i;
    } else if (regex[i] == '[') {
      i = find_class_end(regex, i);
    } else if (regex[i] == '(') {
      const std::string_view rest = regex.substr(i + 1);
      const bool named = rest.size() > 2 && rest.starts_with("?<") && rest[2] != '=' && rest[2] != '!';
      if (named || !rest.starts_with("?")) ++number;
      if (named) groups.push_back({rest.substr(2, rest.find('>') - 2), number, i + 3});
    }
  }
  return groups;
}

CompiledLineFormat::CompiledLineFormat(const LineFormat& gauge) : gauge_(&gauge) {
  if (gauge.regex.empty()) {
    add_choices(gauge.form, {});
  } else {
    regex_ = std::make_unique<Regex>(gauge.regex, Steps::counted);
    groups_ = named_groups(gauge.regex);
    for (const NamedGroup& group : groups_) add_number(group.name);
  }
}

std::uint32_t CompiledLineFormat::add_number(std::string_view name) {
  using NumberKind = GaugeNumber::NumberKind;
  static constexpr std::array<std::pair<std::string_view, NumberKind>, 7> kind_names{
      {{"step", NumberKind::step},
       {"epoch", NumberKind::epoch},
       {"epoch0", NumberKind::epoch0},
       {"total", NumberKind::total},
       {"rank", NumberKind::rank},
       {"device", NumberKind::device},
       {"percent", NumberKind::percent}}};
  for (std::uint32_t i = 0; i < numbers_.size(); ++i)
    if (numbers_[i].name == name) return i;  // used by several choices
  GaugeNumber number;
  number.name = name;
  for (const auto& [known, kind] : kind_names)
    if (known == name) number.kind = kind;
  if (const auto metric = find_metric(name)) {
    number.kind = NumberKind::memory;
    number.reading.metric = *metric;
    const bool maximum = metric == Metric::max_allocated || metric == Metric::max_reserved;
    number.reading.kind = maximum ? gauge_->maxima : gauge_->current;
    number.reading.unit = std::string(gauge_->unit_name);
    number.reading.label = std::string(gauge_->label);
  }
  numbers_.push_back(std::move(number));
  return static_cast<std::uint32_t>(numbers_.size() - 1);
}

void CompiledLineFormat::add_piece(std::string_view& form, FormPieces& pieces) {
  if (form[0] == '~') {
    pieces.push_back({FormPiece::PieceKind::anything, {}, 0});
    form.remove_prefix(1);
  } else if (form[0] == '{') {
    const std::size_t close = form.find('}');
    const std::string_view name = form.substr(1, close - 1);
    pieces.push_back({FormPiece::PieceKind::number, name, add_number(name)});
    form.remove_prefix(close + 1);
  } else {
    const std::string_view text = form.substr(0, form.find_first_of("{~<"));
    const bool redundant = !pieces.empty() && pieces.back().kind == FormPiece::PieceKind::anything &&
                           text.find_first_not_of(' ') == std::string_view::npos;  // anything may be blanks as well
    if (!redundant) pieces.push_back({FormPiece::PieceKind::text, text, 0});
    form.remove_prefix(text.size());
  }
}

void CompiledLineFormat::add_choices(std::string_view form, FormPieces pieces) {
  while (!form.empty()) {
    if (form[0] != '<') {
      add_piece(form, pieces);
      continue;
    }
    const std::size_t close = form.find('>');
    std::string_view part = form.substr(1, close - 1);
    const std::string_view rest = form.substr(close + 1);
    FormPieces with_part = pieces;
    while (!part.empty()) add_piece(part, with_part);
    add_choices(rest, std::move(with_part));
    return add_choices(rest, std::move(pieces));
  }
  if (!pieces.empty()) choices_.push_back(std::move(pieces));
}

bool CompiledLineFormat::digits_are_numbers() const {
  if (regex_) return oomdoctor::digits_are_numbers(gauge_->regex);
  for (const FormPieces& pieces : choices_)
    for (const FormPiece& piece : pieces)
      if (piece.kind == FormPiece::PieceKind::text && std::any_of(piece.text.begin(), piece.text.end(), is_digit))
        return false;
  return true;
}

FormEnd CompiledLineFormat::read_regex(std::string_view line, std::size_t from, std::vector<GaugeValue>& values) const {
  Captures captures;
  if (const Search search = regex_->search(line, captures, from); search != Search::found) return {search};
  values.clear();
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    const NamedGroup& group = groups_[i];
    if (!captures.has(group.number)) continue;
    const std::string_view text = captures.group[group.number];
    std::size_t at = skip_blanks(text, 0);
    auto number = read_number(text, at);
    if (!number) continue;
    number->number = i;
    number->at += static_cast<std::size_t>(text.data() - line.data());
    number->end += static_cast<std::size_t>(text.data() - line.data());
    values.push_back(*number);
  }
  if (values.empty()) return {};
  return {Search::found, captures.end};
}

bool CompiledLineFormat::read_pieces(const FormPieces& pieces, std::string_view line, std::size_t at, std::size_t piece,
                                     std::vector<GaugeValue>& values, std::size_t& end, int& budget) {
  for (; piece < pieces.size(); ++piece) {
    const FormPiece& p = pieces[piece];
    if (p.kind == FormPiece::PieceKind::number) {
      at = skip_blanks(line, at);
      auto number = read_number(line, at);
      if (!number) return false;
      number->number = p.number;
      values.push_back(*number);
    } else if (p.kind == FormPiece::PieceKind::text) {
      at = match_text(line, at, p.text);
      if (at == std::string_view::npos) return false;
    } else if (piece + 1 == pieces.size()) {
      break;
    } else {  // any text up to the next piece, shortest first; limited by the line's length
      const std::size_t kept = values.size();
      const std::string_view next = pieces[piece + 1].text;
      for (; at <= line.size() && --budget > 0; ++at) {
        if (pieces[piece + 1].kind == FormPiece::PieceKind::text) {
          const std::size_t lead = next.find_first_not_of(' ');
          const std::string_view word = next.substr(lead, next.substr(lead).find(' '));
          at = line.find(word, at);
          if (at == std::string_view::npos) return false;
          std::size_t stop = 0;
          if (match_text(line, at, next.substr(lead)) != std::string_view::npos &&
              read_pieces(pieces, line, at, piece + 1, values, stop, budget)) {
            end = stop;
            return true;
          }
        } else if (std::size_t stop = 0; read_pieces(pieces, line, at, piece + 1, values, stop, budget)) {
          end = stop;
          return true;
        }
        values.resize(kept);
      }
      return false;
    }
  }
  end = at;
  return true;
}

std::optional<CompiledLineFormat::FormMatch> CompiledLineFormat::find(const FormPieces& pieces, std::string_view line,
                                                                      std::size_t from,
                                                                      std::vector<GaugeValue>& values) {
  values.clear();
  std::size_t end = 0;
  int budget = max_tries;
  const FormPiece& first = pieces.front();
  if (first.kind != FormPiece::PieceKind::text)
    return read_pieces(pieces, line, from, 0, values, end, budget) ? std::optional(FormMatch{from, end}) : std::nullopt;
  const std::string_view word = first.text.substr(0, first.text.find(' '));
  for (int tries = 0; tries < 16; ++tries) {
    from = line.find(word, from);
    if (from == std::string_view::npos) return std::nullopt;
    values.clear();
    if (read_pieces(pieces, line, from, 0, values, end, budget)) return FormMatch{from, end};
    ++from;
  }
  return std::nullopt;
}

FormEnd CompiledLineFormat::read(std::string_view line, std::size_t from, std::vector<GaugeValue>& values) const {
  if (regex_) return read_regex(line, from, values);
  std::optional<FormMatch> best;
  std::vector<GaugeValue> these;
  for (const FormPieces& pieces : choices_) {
    const auto place = find(pieces, line, from, these);
    if (!place || (best && place->begin >= best->begin)) continue;
    best = place;
    values = these;
  }
  if (!best) return {};
  return {Search::found, best->end};
}

}  // namespace oomdoctor
