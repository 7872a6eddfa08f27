// The run file of Weights & Biases: a header of 7 bytes, then the log format of LevelDB. Records are cut into pieces
// that do not cross a block of 32 KiB, counted from the start of the file. Each piece has a checksum (that of zlib,
// over its kind and its data), a length and a kind: whole, first, middle or last. A record is a protobuf message
// (wandb/proto/wandb_internal.proto).
#pragma once

#include <array>
#include <cstdint>

#include "text/record_player.h"

namespace oomdoctor {

class WandbPlayer final : public RecordPlayer {
 public:
  static bool wanted(std::string_view head);

  void feed(std::string_view raw, std::string& out) override;
  void finish(std::string& out) override;
  std::string_view kind() const override { return "wandb"; }
  std::string damage() const override;

 private:
  std::size_t take_piece(std::string_view bytes, std::string& out);
  void add_piece(unsigned kind, std::string_view data, std::string& out);
  void play_record(std::string_view message, std::string& out);
  void play_output(std::string_view message, bool whole_lines, std::string& out);
  void flush_console(std::string& out);

  std::string rest_;          ///< bytes that are not played yet
  std::uint64_t offset_ = 0;  ///< of `rest_` in the file
  std::string record_;        ///< the pieces so far of a record
  bool in_record_ = false;
  std::array<std::string, 2> console_;    ///< what standard error and output printed after their last line end
  std::uint64_t damaged_ = 0, long_ = 0;  ///< pieces with a wrong checksum; records that are too long
  bool cut_ = false;
};

}  // namespace oomdoctor
