#include "evidence/tensor_kinds.h"

#include <algorithm>

namespace oomdoctor {
namespace {

/// How alike two sets of sizes are that belong together.
struct SizeRule {
  std::size_t least_blocks = 8, least_sizes = 3;  ///< fewer are alike by chance
  double least_share = 0.95;                      ///< of the blocks; a tied weight or a buffer has no partner
  std::size_t most_copies = 2;                    ///< states of Adam that one line makes
};
constexpr SizeRule size_rule;

constexpr std::string_view unknown_kind = "unknown";  ///< of CodeLines::category()

/// How many blocks have each size.
using SizeCounts = std::map<u64, std::size_t>;

std::size_t count_blocks(const SizeCounts& sizes) {
  std::size_t blocks = 0;
  for (const auto& [size, count] : sizes) blocks += count;
  return blocks;
}

bool is_telling(const SizeCounts& sizes) {
  return sizes.size() >= size_rule.least_sizes && count_blocks(sizes) >= size_rule.least_blocks;
}

/// True if nearly each block has a partner among `copies` copies of the parameters.
bool has_sizes_of(const SizeCounts& sizes, const SizeCounts& parameters, std::size_t copies) {
  std::size_t partners = 0;
  for (const auto& [size, count] : sizes)
    if (const auto at = parameters.find(size); at != parameters.end()) partners += std::min(count, copies * at->second);
  return static_cast<double>(partners) >= size_rule.least_share * static_cast<double>(count_blocks(sizes));
}

}  // namespace

std::string_view TensorKinds::kind_of_stack(StackId stack) const {
  const std::string_view shown = lines_.category(stack);
  if (shown != unknown_kind) return shown;
  const auto by_size = by_size_.find(lines_.user_frame(stack));
  return by_size == by_size_.end() ? shown : by_size->second;
}

TensorKinds::TensorKinds(const MemoryMoment& moment, const CodeLines& lines) : lines_(lines) {
  struct UnknownBlocks {
    SizeCounts sizes;
    bool in_step = true;  ///< all of them
  };
  SizeCounts moved, earlier;
  std::map<u32, UnknownBlocks> unknown;  // by the user's frame
  for (const LiveBlock& block : moment.live) {
    if (block.pending) continue;
    const std::string_view category = lines.category(block.stack);
    if (is_unrecorded(block)) {
      ++earlier[block.requested];
    } else if (category == "parameter") {
      ++moved[block.requested];
    } else if (category == unknown_kind) {
      UnknownBlocks& of = unknown[lines.user_frame(block.stack)];
      ++of.sizes[block.requested];
      of.in_step = of.in_step && (lines.traits(block.stack) & in_step_function) != 0;
    }
  }
  // Models are mostly built before the recording begins.
  const SizeCounts& parameters = moved.empty() ? earlier : moved;
  for (const auto& [frame, blocks] : unknown) {
    // Only the autograd engine has threads without Python frames.
    const bool in_python = frame != CodeLines::no_frame;
    if (!is_telling(blocks.sizes) || (in_python && !blocks.in_step)) continue;
    if (has_sizes_of(blocks.sizes, parameters, in_python ? size_rule.most_copies : 1))
      by_size_[frame] = in_python ? "optimizer_state" : "gradient";
  }
}

}  // namespace oomdoctor
