// The trained model and how its states are distributed: numbers of parameters, adapters, FSDP, ZeRO stages in a
// configuration.
#include <cmath>
#include <string>

#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::model {
namespace {

/// Converts "1,724,915,725", or "124.44" with "M", to digits without commas.
std::string count_text(std::string_view number, std::string_view scale = {}) {
  std::size_t at = 0;
  const auto n = read_number(number, at);
  if (!n) return {};
  const double factor = scale == "K" ? 1e3 : scale == "M" ? 1e6 : scale == "B" ? 1e9 : 1;
  return std::to_string(whole_number(std::round(n->value * factor)));
}

}  // namespace

void trainable_and_all(const Match& m, EventSink& sink) {
  sink.setting("trainable_parameters", count_text(m[1]));
  sink.setting("parameters", count_text(m[2]));
}

void trainable(const Match& m, EventSink& sink) { sink.setting("trainable_parameters", count_text(m[1])); }

void all(const Match& m, EventSink& sink) {
  sink.setting("parameters", count_text(m[1], m.has(2) ? m[2] : std::string_view{}));
}

void lightning(const Match& m, EventSink& sink) {
  sink.setting(m[3] == "Trainable" ? "trainable_parameters" : "parameters", count_text(m[1], m[2]));
}

void lora(const Match&, EventSink& sink) { sink.setting("lora", "true"); }
void fsdp(const Match&, EventSink& sink) { sink.setting("fsdp", "true"); }
void zero_stage(const Match& m, EventSink& sink) { sink.setting("zero_stage", m[1]); }

}  // namespace oomdoctor::parsers::model
