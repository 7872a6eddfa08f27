// Bytes as the file of a tracker in pieces: the pieces do not matter, and the text is bounded.
#include <algorithm>
#include <functional>

#include "../../record_files.h"
#include "../target.h"
#include "text/record_player.h"

namespace oomdoctor::testing {
namespace {

std::string played(std::string_view head, std::string_view file, std::size_t piece) {
  const auto player = RecordPlayer::make("mlruns/0/1/metrics/loss", head);
  std::string out;
  if (player == nullptr) return out;
  for (; !file.empty(); file.remove_prefix(std::min(piece, file.size()))) player->feed(file.substr(0, piece), out);
  player->finish(out);
  demand(player->damage().size() < 1000);
  return out;
}

void run(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4096);
  const std::string whole = played(head, bytes, bytes.size() + 1);
  demand(whole == played(head, bytes, 1 + std::hash<std::string_view>{}(bytes) % 40));
  demand(whole.size() <= 400 * (bytes.size() + 1));  // a value of a few bytes is a line with a name
}

std::vector<std::string> seeds() {
  std::string run = wandb_header();
  add_wandb_record(run, wandb_console("step 1\n"));
  add_wandb_record(run, wandb_stats(1741082400, "proc.memory.rssMB", "3120.4"));
  add_wandb_record(run, wandb_exit(1));
  return {run, tf_version() + tf_scalar(1741082401, 10, "memory/max_reserved(GiB)", 12.5F),
          "1741082400123 8123.5 0\n1741082410123 8130 1\n"};
}

const Added target({.name = "records", .longest = 4096, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
