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

SharedReport::SharedReport(const Report& report, const Arguments& arguments, bool handed_on)
    : report_(report), asked_(asked_redaction(arguments)), handed_on_(handed_on) {}

Redaction SharedReport::redaction(const Writer& writer) const {
  return asked_.value_or(writer.local && !handed_on_ ? Redaction::off : Redaction::secrets);
}

const Report& SharedReport::of(const Writer& writer) {
  const Redaction how = redaction(writer);
  if (how == Redaction::off) return report_;
  auto& made = made_[static_cast<std::size_t>(how)];
  if (!made) {
    made = redact(report_, how);
    if (!made->counts.empty()) print_note("redacted " + redaction_words(*made));
  }
  return made->report;
}

}  // namespace oomdoctor::cli
