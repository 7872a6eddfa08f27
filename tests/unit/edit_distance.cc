#include "base/edit_distance.h"

#include <vector>

#include "base/error.h"
#include "catch.h"

using namespace oomdoctor;

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps of neighbours", "[base]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("leak", "leak") == 0);
  CHECK(edit_distance("", "leak") == 4);
  CHECK(edit_distance("leak", "") == 4);
  CHECK(edit_distance("leak", "peak") == 1);
  CHECK(edit_distance("leak", "laek") == 1);
  CHECK(edit_distance("leak", "leaks") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("abcd", "badc") == 2);
  CHECK(edit_distance("analyze", "analyse") == edit_distance("analyse", "analyze"));
}

TEST_CASE("did you mean names the nearest candidate, and none that is too far", "[base]") {
  const std::vector<std::string> names = {"leak", "fragmentation", "kv_cache", "masked"};
  CHECK(did_you_mean("fragmentatoin", names) == "fragmentation");
  CHECK(did_you_mean("laek", names) == "leak");
  CHECK(did_you_mean("kvcache", names) == "kv_cache");
  CHECK(did_you_mean("optimizer", names).empty());
  CHECK(did_you_mean("x", names).empty());
  CHECK(did_you_mean("leak", std::vector<std::string>{}).empty());
}

TEST_CASE("a caret is under its column, also after tabs and multi-byte characters", "[base]") {
  CHECK(caret_excerpt("if = 'oom.fre'", 6) == "if = 'oom.fre'\n      ^");
  CHECK(caret_excerpt("\tx = 1", 5) == "\tx = 1\n\t    ^");
  CHECK(caret_excerpt("größe = 1", 10) == "größe = 1\n        ^");
  CHECK(caret_excerpt("short", 99) == "short\n     ^");
}
