#include "cli/shared_report.h"

#include "cli/console.h"

namespace oomdoctor::cli {
namespace {

std::optional<Redaction> asked_redaction(const Arguments& arguments) {
  const auto asked = arguments.value("redact");
  if (!asked) return std::nullopt;
  return *asked == "off" ? Redaction::off : *asked == "all" ? Redaction::all : Redaction::secrets;
}

}  // namespace

template <class Result>
SharedResult<Result>::SharedResult(const Result& result, const Arguments& arguments, bool handed_on)
    : result_(result), asked_(asked_redaction(arguments)), handed_on_(handed_on) {}

template <class Result>
Redaction SharedResult<Result>::redaction(const WriterOf<Result>& writer) const {
  return asked_.value_or(writer.local && !handed_on_ ? Redaction::off : Redaction::secrets);
}

template <class Result>
const Result& SharedResult<Result>::of(const WriterOf<Result>& writer) {
  const Redaction how = redaction(writer);
  if (how == Redaction::off) return result_;
  auto& made = made_[static_cast<std::size_t>(how)];
  if (!made) {
    made = redact(result_, how);
    if (!made->counts.empty()) print_note("redacted " + redaction_words(made->counts));
  }
  return made->report;
}

template class SharedResult<Report>;
template class SharedResult<Survey>;

}  // namespace oomdoctor::cli
