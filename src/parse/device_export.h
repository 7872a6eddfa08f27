// What the exports of device monitors have in common: a card with an amount in use, a total, and a date somewhere
// above. An amount is the whole card's, read at an arbitrary time; a total is a fact about the machine, never a
// reading.
#pragma once

#include <optional>
#include <string_view>

#include "parse/parser.h"

namespace oomdoctor {

/// One card of an export. `device` where the tool numbers its cards, else `label` (a bus id) tells them apart.
struct Card {
  std::optional<int> device;
  std::string_view label = {};
  bool alone = false;  ///< the export lists no other card
};

/// "Tue Oct 29 19:00:23 2024" (as `date` and nvidia-smi print it, a zone's name in between allowed) anywhere in `text`.
/// Seconds since 1970, the zone taken as UTC.
std::optional<double> read_calendar_time(std::string_view text);

/// A reading of a whole card. The print step is one `unit`, or less where decimals are printed.
struct CardAmount {
  Metric metric = Metric::used;
  double number = 0;
  double unit_bytes = static_cast<double>(MiB);
  std::string_view unit = "MiB";
  int decimals = 0;
};
void tell_amount(Sink& sink, const Card& card, const CardAmount& amount, std::optional<double> time = {});

/// The total of a card: `capacity/<card>`, and `capacity` where it is the only one.
void tell_capacity(Sink& sink, const Card& card, i64 number, std::string_view unit);

}  // namespace oomdoctor
