// Bytes as a JSON document in pieces: the pieces do not matter, and the lines are not much longer than the document.
#include "text/json_player.h"

#include <algorithm>
#include <functional>

#include "../target.h"

namespace oomdoctor::testing {
namespace {

std::string played(JsonPlayer::Played kind, std::string_view document, std::size_t piece) {
  JsonPlayer player(kind);
  std::string out;
  for (; !document.empty(); document.remove_prefix(std::min(piece, document.size())))
    player.feed(document.substr(0, piece), out);
  return out;
}

void run(std::string_view bytes) {
  JsonPlayer::kind_of(bytes);
  for (const auto kind : {JsonPlayer::Played::query_answer, JsonPlayer::Played::records})
    demand(played(kind, bytes, bytes.size() + 1) == played(kind, bytes, 1 + std::hash<std::string_view>{}(bytes) % 40));
  demand(played(JsonPlayer::Played::records, bytes, bytes.size() + 1).size() <= 3 * bytes.size());
}

constexpr std::size_t longest = 4096;

std::vector<std::string> seeds() { return file_seeds({"samples/prometheus", "samples/huggingface"}, longest); }

const Added target({.name = "json_player", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
