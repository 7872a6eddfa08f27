// The event file of TensorBoard: records of TFRecord, each a length, its checksum, the data and its checksum. The data
// is a protobuf message (tensorflow/core/util/event.proto).
#pragma once

#include <cstdint>
#include <optional>

#include "text/record_player.h"

namespace oomdoctor {

class EventPlayer final : public RecordPlayer {
 public:
  static bool wanted(std::string_view head);

  void feed(std::string_view raw, std::string& out) override;
  void finish(std::string& out) override;
  std::string_view kind() const override { return "tfevents"; }
  std::string damage() const override;

 private:
  std::uint64_t take_record(std::string_view bytes, std::string& out);

  std::string rest_;                      ///< bytes that are not played yet
  std::uint64_t skip_ = 0;                ///< bytes of the last record that are still to be dropped
  std::uint64_t offset_ = 0;              ///< of `rest_` in the file
  std::uint64_t damaged_ = 0;             ///< records with a wrong checksum
  std::optional<std::uint64_t> stopped_;  ///< where the length of a record is damaged
  bool cut_ = false;
};

}  // namespace oomdoctor
