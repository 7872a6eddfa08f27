// The lines of `list formats`: the kind of a format's series, and the true size of its unit.
#include <algorithm>

#include "catch.h"
#include "formats/format_list.h"

using namespace oomdoctor;

namespace {

/// "kind; unit" of a shipped format.
std::string kind_and_unit(std::string_view name) {
  static const std::vector<FormatInfo> formats = list_formats(all_parsers());
  const auto found = std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return f.name == name; });
  return found == formats.end() ? "no such format" : found->kind + "; " + found->unit;
}

}  // namespace

TEST_CASE("the unit column gives the printed unit and its meaning") {
  CHECK(kind_and_unit("megatron/memory") == "gauge, running maximum; MB printed, 2^20 meant");
  CHECK(kind_and_unit("deepspeed/timer") == "gauge, running maximum; GB printed, 2^30 meant");
  CHECK(kind_and_unit("torchtitan/step") == "reset maximum; GiB (2^30)");
  CHECK(kind_and_unit("mlx/train") == "running maximum; GB (10^9)");
  CHECK(kind_and_unit("mmlab/mmcv_epoch") == "running maximum; 2^20, not printed");
}

TEST_CASE("the example shows what a message or a table measures") {
  CHECK(kind_and_unit("composer/memory") == "running maximum; GB (10^9)");
  CHECK(kind_and_unit("yolo/table") == "table, gauge; G (10^9)");
  CHECK(kind_and_unit("prints/rss_colon") == "sampled gauge; MiB (2^20)");
  CHECK(kind_and_unit("collateral/closing") == "message; ");
}
