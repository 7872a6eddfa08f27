#include "text/record_player.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../record_files.h"
#include "catch.h"
#include "scans.h"

namespace oomdoctor {
namespace {

using namespace testing;

struct Played {
  std::string text, damage;
};

Played play(std::string_view file, std::size_t piece, std::string_view name = "file") {
  const auto player = RecordPlayer::make(name, file.substr(0, 4096));
  Played out;
  if (player == nullptr) return {"none", ""};
  for (; !file.empty(); file.remove_prefix(std::min(piece, file.size()))) player->feed(file.substr(0, piece), out.text);
  player->finish(out.text);
  out.damage = player->damage();
  return out;
}

void check_played(std::string_view file, std::string_view text, std::string_view damage = "",
                  std::string_view name = "file") {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{13}, std::size_t{1} << 20}) {
    const Played played = play(file, piece, name);
    CHECK(played.text == text);
    CHECK(played.damage == damage);
  }
}

}  // namespace

TEST_CASE("checksums are those of zlib and of Castagnoli", "[record_player]") {
  CHECK(crc32("123456789") == 0xCBF43926);
  CHECK(crc32c("123456789") == 0xE3069283);
}

TEST_CASE("the scalars of an event file become lines", "[record_player]") {
  const std::string tensor =
      bytes_field(8, number_field(1, 1) + bytes_field(4, little_endian(std::bit_cast<std::uint32_t>(2.5F), 4)));
  const std::string of_tensor = tf_record(double_field(1, 1741082402.5) + number_field(2, 20) +
                                          bytes_field(5, bytes_field(1, bytes_field(1, "memory/max") + tensor)));
  const std::string file = tf_version() + tf_scalar(1741082401, 10, "memory/max_reserved(GiB)", 12.5F) + of_tensor +
                           tf_record(std::string(3 << 20, 'x')) + tf_scalar(1741082403, 0, "loss", 3);
  check_played(file,
               "oomdoctor scalar 1741082401.000 10 12.500000 memory/max_reserved(GiB)\n"
               "oomdoctor scalar 1741082402.500 20 2.500000 memory/max\n"
               "oomdoctor scalar 1741082403.000 0 3 loss\n");
}

TEST_CASE("a damaged event file gives what is whole, and a note", "[record_player]") {
  const std::string first = tf_version() + tf_scalar(1741082401, 10, "a", 1),
                    second = tf_scalar(1741082402, 20, "a", 2);
  const std::string one = "oomdoctor scalar 1741082401.000 10 1 a\n", two = "oomdoctor scalar 1741082402.000 20 2 a\n";
  check_played(first + second.substr(0, second.size() - 3), one, "ends in the middle of an event");
  std::string wrong = second;
  wrong[20] ^= 1;  // of the data
  check_played(first + wrong + second, one + two, "has 1 event with a wrong checksum, which oomdoctor left out");
  wrong = second;
  wrong[1] ^= 1;  // of the length
  check_played(first + wrong + second, one,
               "is damaged at byte " + std::to_string(first.size()) + ", and its rest was not read");
}

TEST_CASE("a run file of Weights & Biases becomes its console with its values", "[record_player]") {
  std::string file = wandb_header();
  add_wandb_record(file, bytes_field(5, bytes_field(1, wandb_item("per_device_train_batch_size", "8")) +
                                            bytes_field(1, wandb_item("name", "\"run a\"")) +
                                            bytes_field(1, wandb_item("list", "[1,2]"))));
  add_wandb_record(file, wandb_console("step 1 loss"));
  add_wandb_record(file, wandb_stats(1741082400, "gpu.0.memoryAllocatedBytes", "10251468800"));
  add_wandb_record(file, wandb_console(" 2.5\nstep 2"));
  add_wandb_record(file,
                   bytes_field(2, bytes_field(1, wandb_item("loss", "2.5")) + bytes_field(2, number_field(1, 7))));
  add_wandb_record(file, wandb_exit(1));
  const std::string text =
      "per_device_train_batch_size: 8\nname: run a\n"
      "oomdoctor scalar 1741082400.000 - 10251468800 system/gpu.0.memoryAllocatedBytes\n"
      "step 1 loss 2.5\noomdoctor scalar - 7 2.500000 loss\nstep 2\noomdoctor wandb exit 1\n";
  check_played(file, text);
  check_played(file.substr(0, file.size() - 2), text.substr(0, text.size() - std::strlen("oomdoctor wandb exit 1\n")),
               "ends in the middle of a record");
}

TEST_CASE("the configuration of wandb.init is in the record of the run", "[record_player]") {
  std::string file = wandb_header();
  const std::string config = bytes_field(1, wandb_item("per_device_train_batch_size", "8")) +
                             bytes_field(1, wandb_item(std::string(121, 'k'), "1")) +
                             bytes_field(1, wandb_item(std::string(120, 'k'), "1")) +
                             bytes_field(1, wandb_item("long", std::string(121, '1')));
  add_wandb_record(file, bytes_field(17, bytes_field(1, "3fa9c1d2") + bytes_field(4, config) + bytes_field(5, config)));
  check_played(file, "per_device_train_batch_size: 8\n" + std::string(120, 'k') + ": 1\n");
}

TEST_CASE("a step that no run has is no step", "[record_player]") {
  std::string file = wandb_header();
  for (const char* step : {"1e300", "-1e300", "NaN", "inf", "1000000000000000"})
    add_wandb_record(
        file, bytes_field(2, bytes_field(1, wandb_item("_step", step)) + bytes_field(1, wandb_item("loss", "2.5"))));
  const std::string without = "oomdoctor scalar - - 2.500000 loss\n";
  check_played(file, without + without + without + without + "oomdoctor scalar - 1000000000000000 2.500000 loss\n");
}

TEST_CASE("records of a run file cross its blocks, and damage costs one block", "[record_player]") {
  // The first record ends at 0 to 8 bytes before the end of a block: the header of a piece has seven.
  for (std::size_t gap = 0; gap <= 8; ++gap) {
    std::string file = wandb_header();
    const std::string fill = wandb_console(std::string(32768 - 7 - 7 - 8 - gap, 'x') + "\n");
    add_wandb_record(file, fill);
    add_wandb_record(file, wandb_console("after\n"));
    add_wandb_record(file, wandb_console(std::string(70000, 'y') + "\n"));
    add_wandb_record(file, wandb_console("end\n"));
    INFO(gap << " bytes left");
    const Played played = play(file, 4096);
    CHECK(played.text.ends_with("x\nafter\n" + std::string(70000, 'y') + "\nend\n"));
    CHECK(played.damage.empty());
    file[100] ^= 1;
    const Played damaged = play(file, 4096);
    CHECK(damaged.text.ends_with("\nend\n"));
    CHECK(damaged.damage == "is damaged in 1 of its blocks of 32 KiB, which oomdoctor left out from there on");
  }
}

TEST_CASE("a metric of MLflow is named by its path", "[record_player]") {
  check_played("1741082400123 8123.5 0\n1741082410123 8130 1\n",
               "oomdoctor scalar 1741082400.123 - 8123.500000 system/gpu_0_memory_usage_megabytes\n"
               "oomdoctor scalar 1741082410.123 - 8130 system/gpu_0_memory_usage_megabytes\n",
               "", "mlruns/0/3f/metrics/system/gpu_0_memory_usage_megabytes");
  check_played("1741082400123 0.5 12\n", "oomdoctor scalar 1741082400.123 12 0.500000 loss\n", "", "a/metrics/loss");
  check_played("1741082400123 loss 12\n", "none");
}

TEST_CASE("the memory in trackers' values is a series", "[record_player][scalars]") {
  std::string file = tf_version();
  for (std::uint64_t step = 1; step <= 12; ++step)
    file += tf_scalar(1741082400 + static_cast<double>(step), step * 10, "memory/max_reserved(GiB)",
                      10 + static_cast<float>(step) / 4);
  const ScanResult scan = scan_text(file);
  REQUIRE(scan.series.size() == 1);
  CHECK(scan.series[0].metric == Metric::max_reserved);
  CHECK(scan.series[0].n == 12);
  CHECK(scan.last_step == 120);
}

}  // namespace oomdoctor
