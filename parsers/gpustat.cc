// gpustat: one line a card, "used / total MB", where MB is 2^20 as NVML counts it. The head line above the first card
// holds host and date. What processes hold stands behind the bar and is part of the card's amount.
#include "parse/context.h"
#include "parse/device_export.h"

namespace oomdoctor::parsers {
namespace {

constexpr int most_cards = 64;

bool is_card(const Line& line) {
  const std::string_view body = trimmed(line.body());
  return body.starts_with('[') && body.find(" MB") != body.npos && body.find('|') != body.npos;
}

void card(const Match& m, Sink& sink) {
  bool others = false;
  std::optional<double> time;
  m.cursor.backward(most_cards, [&](const Line& line) {
    const bool card = is_card(line);
    others = others || card;
    if (!card) time = read_calendar_time(line.text);
    return card;
  });
  m.cursor.forward(1, [&](const Line& line) {
    others = others || is_card(line);
    return false;
  });
  const Card own{.device = static_cast<int>(leading_integer(m[1])), .alone = !others};
  tell_amount(sink, own, {.number = static_cast<double>(leading_integer(m[3])), .unit = "MB"}, time);
  tell_capacity(sink, own, leading_integer(m[4]), "MiB");
  sink.setting("gpu", trimmed(m[2]));
}

constexpr Pattern patterns[] = {
    checked({.name = "gpustat/card",
             .anchor = "\xc2\xb0"
                       "C, ",
             .second_anchor = "'C, ",
             .regex =
                 R"(\[([0-9]{1,3})\] ([^|]{1,80})\|[^|]{1,60}C, [^|]{1,60}\| {1,8}([0-9]{1,8}) / {1,8}([0-9]{1,8}) MB)",
             .captures = 4,
             .example = "[0] NVIDIA A40       | 61\xc2\xb0"
                        "C,  98 % | 11812 / 46068 MB | user(11804M)",
             .emit = card}),
};

}  // namespace

extern const Parser gpustat;
const Parser gpustat{.name = "gpustat", .title = "gpustat", .patterns = patterns};

}  // namespace oomdoctor::parsers
