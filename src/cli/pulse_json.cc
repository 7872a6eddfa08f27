#include "cli/pulse_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "redact/redact.h"
#include "report/escape.h"

namespace oomdoctor::cli {
namespace {

using PulseJson = nlohmann::ordered_json;

std::string public_text(const std::string& text) { return without_secrets(plain_line(text)); }

Pulse pulse_in(const PulseJson& from) {
  const auto text = [&](const char* name) { return from.value(name, std::string()); };
  const auto number = [&](const char* name) {
    return from.contains(name) ? std::optional(from[name].get<double>()) : std::nullopt;
  };
  Pulse pulse{text("outcome"), text("headline"), text("cause"),      number("step"), text("memory"),
              text("unit"),    number("value"),  number("capacity"), text("rate"),   {}};
  if (const auto middle = number("full_in_seconds"))
    pulse.left = TimeLeft{*middle, number("full_in_seconds_low").value_or(0), number("full_in_seconds_high")};
  return pulse;
}

}  // namespace

std::string pulse_json(const Pulse& pulse, const std::string& time) {
  PulseJson out;
  const auto put_text = [&](const char* name, const std::string& text) {
    if (!text.empty()) out[name] = public_text(text);
  };
  const auto put = [&](const char* name, std::optional<double> value) {
    if (value && std::isfinite(*value)) out[name] = *value;
  };
  put_text("time", time);
  out["outcome"] = pulse.outcome;
  out["headline"] = public_text(pulse.headline);
  put_text("cause", pulse.cause);
  put("step", pulse.step);
  put_text("memory", pulse.memory);
  put_text("unit", pulse.unit);
  put("value", pulse.value);
  put("capacity", pulse.capacity);
  put("fill", compute_fill(pulse));
  put_text("rate", pulse.rate);
  if (pulse.left) {
    put("full_in_seconds", pulse.left->middle);
    put("full_in_seconds_low", pulse.left->low);
    put("full_in_seconds_high", pulse.left->high);
  }
  return out.dump(-1, ' ', true, PulseJson::error_handler_t::replace);
}

std::optional<Pulse> read_pulse(std::string_view json) {
  const PulseJson parsed = PulseJson::parse(json, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("outcome")) return std::nullopt;
  try {
    return pulse_in(parsed);
  } catch (const PulseJson::exception&) {
    return std::nullopt;
  }
}

}  // namespace oomdoctor::cli
