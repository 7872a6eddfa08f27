// A text is split into sentences after ". ", "! ", "? " and at line ends.
#include "judge/phrase.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/ascii.h"

namespace oomdoctor {

namespace {

using Piece = Phrase::Piece;
using PhrasePieces = Phrase::PhrasePieces;

std::string format_number(const char* format, double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

bool is_format(std::string_view format) {
  for (const std::string_view name : {"", "G", "M", "n", ".1", ".2", "%", "on"})
    if (format == name) return true;
  return false;
}

/// Whether a fact has no number of the log for its value. A formula that begins with "printed" is the second choice.
bool is_computed(const FactSpec& spec) {
  const std::string_view formula = find_formula(spec.name);
  return !formula.empty() && !formula.starts_with("printed");
}

/// Of a computed size: three digits in a sentence, none in a setting, which a program reads.
enum class Rounding { three_digits, none };

// A formula with the dimension of bytes prints as a size, any other as a plain number.
std::string plain_text(const Expr& expr, const Value& value, Rounding rounding) {
  const FactSpec* spec = expr.only_fact();
  const bool is_size = spec ? spec->unit == FactUnit::bytes : expr.dimension() == 1;
  const Number* number = std::get_if<Number>(&value);
  if (rounding == Rounding::three_digits && number != nullptr && is_size && (spec == nullptr || is_computed(*spec)))
    return computed_bytes_text(number->value);
  static constexpr FactSpec size{"", FactUnit::bytes, ""};
  static constexpr FactSpec plain{"", FactUnit::count, ""};
  return fact_text(spec ? *spec : is_size ? size : plain, value);
}

std::string format_value(const Expr& expr, const Value& value, std::string_view format, Rounding rounding) {
  const Number* number = std::get_if<Number>(&value);
  if (const bool* truth = std::get_if<bool>(&value); truth != nullptr && format == "on") return *truth ? "on" : "off";
  if (format.empty() || !number) return plain_text(expr, value, rounding);
  if (format == "G") return format_number("%.0f", std::ceil(number->value / static_cast<double>(GiB)));
  if (format == "M") return format_number("%.0f", std::ceil(number->value / static_cast<double>(MiB)));
  if (format == "n") return format_number("%.0f", number->value);
  if (format == "%") return format_number("%.0f%%", number->value * 100);
  return format_number(format == ".1" ? "%.1f" : "%.2f", number->value);
}

bool ends_sentence(std::string_view text) {
  if (text.ends_with('\n')) return true;
  return text.size() > 1 && text.back() == ' ' &&
         std::string_view(".!?").find(text[text.size() - 2]) != std::string_view::npos;
}

bool begins_placeholder(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || text[at] != '{') return false;
  const char c = text[at + 1];
  return is_lower(c) || c == '(';
}

/// The word of the gap "<POD>" that begins here; "" if none does.
std::string_view find_gap(std::string_view text, std::size_t at) {
  if (text[at] != '<') return {};
  const std::string_view word = text.substr(at + 1, text.find('>', at) - at - 1);
  return at + 1 + word.size() < text.size() && std::all_of(word.begin(), word.end(), is_upper) ? word
                                                                                               : std::string_view{};
}

std::string without_end_blanks(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.pop_back();
  return text;
}

/// Splits a text into sentences of pieces. Throws ExprError for an invalid placeholder.
std::vector<PhrasePieces> split_sentences(std::string_view text) {
  std::vector<PhrasePieces> sentences;
  PhrasePieces sentence;
  std::string plain;
  const auto end_piece = [&] {
    if (!plain.empty()) sentence.push_back({std::exchange(plain, {}), std::nullopt});
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with("{{")) {
      plain += text[at++];
    } else if (begins_placeholder(text, at)) {
      const std::size_t end = text.find('}', at);
      if (end == std::string_view::npos)
        throw ExprError(text, at, "the place that begins here has no }", "write {{ for a plain brace");
      const std::string_view inner = text.substr(at + 1, end - at - 1);
      const std::size_t colon = std::min(inner.find(':'), inner.size());
      const std::string_view format = inner.substr(std::min(colon + 1, inner.size()));
      if (!is_format(format))
        throw ExprError(text, at + 1 + colon, "this format is not known", "formats are G, M, n, .1, .2, % and on");
      end_piece();
      try {
        sentence.push_back({std::string(format), Expr::parse(inner.substr(0, colon))});
      } catch (const ExprError& error) {
        throw ExprError(text, at + 1 + error.column(), error.what(), error.help());
      }
      at = end;
    } else if (const std::string_view gap = find_gap(text, at); !gap.empty()) {
      plain += gap;
      at += gap.size() + 1;
    } else {
      // Only a blank or a line end may end the sentence.
      const std::size_t stop = std::min(text.find_first_of("{< \n", at), text.size());
      const bool is_end = stop < text.size() && text[stop] != '{' && text[stop] != '<';
      const std::size_t last = stop == at || is_end ? stop : stop - 1;
      plain += text.substr(at, last - at + 1);
      at = last;
      if (!ends_sentence(plain)) continue;
      end_piece();
      sentences.push_back(std::exchange(sentence, {}));
    }
  }
  end_piece();
  if (!sentence.empty()) sentences.push_back(std::move(sentence));
  return sentences;
}

std::optional<std::string> fill_sentence(const PhrasePieces& sentence, const Facts& facts, Rounding rounding) {
  std::string filled;
  for (const auto& piece : sentence) {
    if (!piece.expression) {
      filled += piece.text;
      continue;
    }
    const Value value = piece.expression->evaluate(facts).value;
    if (!known(value)) return std::nullopt;
    filled += format_value(*piece.expression, value, piece.text, rounding);
  }
  return filled;
}

constexpr std::string_view unknown_words = "…";

/// The letters that replace a value of this unit when there is no log.
std::string letters_for(const Piece& piece) {
  if (piece.text == "%") return "X%";
  const FactSpec* spec = piece.expression->only_fact();
  const FactUnit unit = spec ? spec->unit : piece.expression->dimension() == 1 ? FactUnit::bytes : FactUnit::count;
  if (!piece.text.empty()) return "N";
  switch (unit) {
    case FactUnit::bytes:
      return "X GiB";
    case FactUnit::ratio:
      return "X%";
    case FactUnit::bytes_per_step:
      return "X MiB per step";
    case FactUnit::count:
    case FactUnit::steps:
      return "N";
    case FactUnit::version_number:
      return "X.Y";
    case FactUnit::truth:
    case FactUnit::text:
      break;
  }
  return std::string(unknown_words);
}

}  // namespace

Phrase Phrase::parse(std::string_view text) {
  split_sentences(text);  // throws if a placeholder is invalid
  Phrase phrase;
  phrase.text_ = text;
  return phrase;
}

const std::vector<PhrasePieces>& Phrase::sentences() const {
  return sentences_.get([this] { return split_sentences(text_); });
}

std::optional<std::string> Phrase::fill(const Facts& facts) const {
  if (text_.find_first_of("{<") == std::string::npos) return without_end_blanks(text_);
  std::string text;
  for (const PhrasePieces& sentence : sentences()) {
    const auto filled = fill_sentence(sentence, facts, Rounding::none);
    if (!filled) return std::nullopt;
    text += *filled;
  }
  return without_end_blanks(std::move(text));
}

bool Phrase::has_gap() const {
  const auto lines = list_code(text_);
  return std::any_of(lines.begin(), lines.end(), [](std::string_view code) {
    if (code.find("…") != code.npos || code.find("...") != code.npos) return true;
    for (std::size_t at = code.find('<'); at != code.npos; at = code.find('<', at + 1))
      if (!find_gap(code, at).empty()) return true;
    return false;
  });
}

std::vector<std::string_view> list_code(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with("# ")) lines.push_back(line.substr(0, line.find("  # ")));
  }
  return lines;
}

std::vector<std::string> Phrase::list_facts(const Facts& facts) const {
  std::vector<std::string> names;
  for (const PhrasePieces& sentence : sentences()) {
    if (!fill_sentence(sentence, facts, Rounding::none)) continue;
    for (const Piece& piece : sentence) {
      if (!piece.expression) continue;
      const auto read = piece.expression->evaluate(facts).facts;
      names.insert(names.end(), read.begin(), read.end());
    }
  }
  return names;
}

std::string Phrase::with_letters() const {
  std::string text;
  for (const PhrasePieces& sentence : sentences()) {
    std::string filled;
    bool has_words = false;
    for (const auto& piece : sentence) {
      filled += piece.expression ? letters_for(piece) : piece.text;
      has_words = has_words || (piece.expression && filled.ends_with(unknown_words));
    }
    if (text.empty() || !has_words) text += filled;
  }
  return without_end_blanks(std::move(text));
}

std::string Phrase::fill_sentences(const Facts& facts) const {
  std::string text;
  for (const PhrasePieces& sentence : sentences()) {
    auto filled = fill_sentence(sentence, facts, Rounding::three_digits);
    if (!filled) continue;
    const std::string plain = without_end_blanks(std::move(*filled));
    if (plain.empty()) continue;
    if (!text.empty()) text += ' ';
    text += plain;
  }
  return text;
}

}  // namespace oomdoctor
