// Fine-tuning with MLX: the peak of active memory since the start, in units of 10^9 bytes.
//
// The peak excludes MLX's buffer cache. The machine may therefore swap while this number stays flat.
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr LineFormat gauges[] = {
    checked(LineFormat{
        .name = "mlx/train",
        .anchor = "Peak mem ",
        .form = "Iter {step}: Train loss ~Trained Tokens~Peak mem {max_allocated} GB",
        .unit = 1e9,
        .unit_name = "GB",
        .example = "Iter 30: Train loss 1.412, Learning Rate 1.000e-05, It/sec 0.512, Tokens/sec 201.332, Trained "
                   "Tokens 12044, Peak mem 17.204 GB"}),
};

}  // namespace

extern const Parser mlx;
const Parser mlx{
    .name = "mlx", .title = "MLX", .source = "MLX: mlx_lm/tuner/trainer.py", .patterns = {}, .gauges = gauges};

}  // namespace oomdoctor::parsers
