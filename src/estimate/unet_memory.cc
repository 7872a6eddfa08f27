#include "estimate/unet_memory.h"

#include <algorithm>
#include <vector>

#include "estimate/model_memory_constants.h"

namespace oomdoctor {
namespace {

using namespace model_memory;

/// Walks through the network as a pass does.
class UnetWalk {
 public:
  UnetWalk(const UnetShape& unet, double latents, const UnetPrecision& precision)
      : unet_(unet),
        precision_(precision),
        bytes_(precision.autocast ? unet_autocast : unet_16bit),
        scale_(precision.autocast ? 1 : precision.bytes / sixteen_bit),
        size_(latents) {}

  UnetMemory walk() {
    channels_ = to_double(unet_.levels.front().channels);
    put_aside();
    for (std::size_t i = 0; i < unet_.levels.size(); ++i) {
      for (i64 block = 0; block < unet_.blocks; ++block) {
        pass_block(unet_.levels[i], 0);
        put_aside();
      }
      if (i + 1 == unet_.levels.size()) break;
      size_ /= sides;
      put_aside();
    }
    pass_middle(unet_.levels.back());
    for (std::size_t i = unet_.levels.size(); i-- > 0; size_ *= sides) {
      caller_ = channels_ * size_;
      for (i64 block = 0; block <= unet_.blocks; ++block) {
        const double joined = aside_.back() / size_;
        pass_block(unet_.levels[i], joined);
        aside_.pop_back();
      }
    }
    return memory_;
  }

 private:
  static constexpr double sides = 4;  // half the width, half the height

  /// Keeps the output of a block for the way up.
  void put_aside() { aside_.push_back(channels_ * size_); }

  void pass_block(const UnetLevel& level, double joined) {
    pass_residual(channels_ + joined, to_double(level.channels));
    pass_transformer(level, level.transformer_layers);
  }

  void pass_middle(const UnetLevel& level) {
    pass_residual(channels_, channels_);
    pass_transformer(level, unet_.middle_layers);
    pass_residual(channels_, channels_);
  }

  void pass_residual(double in, double out) {
    const double shortcut = in == out ? 0 : bytes_.shortcut;
    keep((bytes_.residual * (in + out) + shortcut * in) * size_, in * size_);
    need((conv_inputs * in + conv_outputs * out) * size_);
    channels_ = out;
  }

  void pass_transformer(const UnetLevel& level, i64 layers) {
    if (layers == 0) return;
    const double numbers = channels_ * size_, scores = to_double(level.heads) * size_ * size_;
    keep(bytes_.transformer * numbers, numbers);
    for (i64 layer = 0; layer < layers; ++layer) keep(bytes_.layer * numbers, numbers);
    need(transformer_numbers * numbers);
    memory_.scores += to_double(layers) * scores;
    memory_.largest_scores = std::max(memory_.largest_scores, scores);
  }

  void keep(double bytes, double input) {
    memory_.kept += bytes * scale_;
    memory_.inputs += input * precision_.bytes;
    memory_.largest = std::max(memory_.largest, bytes * scale_);
    ++memory_.blocks;
  }

  /// Besides what is aside, and on the way up the input of the level, which its caller keeps.
  void need(double numbers) {
    for (const double each : aside_) numbers += each;
    memory_.passing = std::max(memory_.passing, (numbers + caller_) * precision_.bytes);
  }

  const UnetShape& unet_;
  UnetPrecision precision_;
  const UnetBytes& bytes_;
  double scale_;
  double size_;  ///< numbers of one channel at this level
  double channels_ = 0, caller_ = 0;
  std::vector<double> aside_;
  UnetMemory memory_;
};

}  // namespace

UnetMemory compute_unet_memory(const UnetShape& unet, double latents, const UnetPrecision& precision) {
  return UnetWalk(unet, latents, precision).walk();
}

}  // namespace oomdoctor
