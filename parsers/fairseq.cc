// fairseq and metaseq: memory in the statistics of each update.
//
// gb_free is the memory of the whole GPU minus the maximum allocated since the last update, so it falls when usage
// rises. The JSON form quotes its numbers. All numbers count units of 2^30 bytes.
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double gibibyte = static_cast<double>(GiB);

constexpr LineFormat gauges[] = {
    checked(LineFormat{.name = "fairseq/json",
                       .anchor = "\"gb_free\": \"",
                       .form = "\"num_updates\": \"{step}\"~\"gb_free\": \"{free}\"",
                       .unit = gibibyte,
                       .unit_name = "GB",
                       .example =
                           R"(2022-02-14 10:11:12 | INFO | train_inner | {"epoch": 1, "update": 0.02, "ppl": "512.3", )"
                           R"("num_updates": "40", "lr": "2e-05", "gnorm": "3.2", "gb_free": "21.4", "wall": "87"})"}),
    checked(LineFormat{.name = "fairseq/simple",
                       .anchor = "gb_free=",
                       .form = "num_updates={step}, ~gb_free={free}",
                       .unit = gibibyte,
                       .unit_name = "GB",
                       .example =
                           "2022-02-14 10:11:12 | INFO | train_inner | epoch 001:     40 / 900 ppl=512.3, wps=9120, "
                           "num_updates=40, lr=2e-05, gnorm=3.2, gb_free=21.4, wall=87"}),
    checked(LineFormat{.name = "fairseq/epoch",
                       .anchor = "| gb_free ",
                       .form = "| num_updates {step} |~| gb_free {free}",
                       .unit = gibibyte,
                       .unit_name = "GB",
                       .example =
                           "2022-02-14 10:41:12 | INFO | train | epoch 001 | ppl 312.3 | num_updates 900 | lr 2e-05 | "
                           "gnorm 3.2 | gb_free 21.4 | wall 1890",
                       .label = "end of epoch"}),
    checked(LineFormat{
        .name = "fairseq/metaseq",
        .anchor = "\"cuda_gb_allocated\": \"",
        .form = "\"num_updates\": \"{step}\"~\"cuda_gb_allocated\": \"{max_allocated}\"~\"cuda_gb_reserved\": "
                "\"{max_reserved}\"~\"cuda_gb_free\": \"{free}\"",
        .unit = gibibyte,
        .unit_name = "GB",
        .maxima = SeriesKind::reset_maximum,
        .example = R"(2022-06-14 10:11:12 | INFO | train_inner | {"epoch": 1, "ppl": "512.3", "num_updates": )"
                   R"("40", "lr": "2e-05", "cuda_gb_allocated": "41.2", "cuda_gb_reserved": "52.7", )"
                   R"("cuda_gb_free": "38.0", "wall": "87"})"}),
};

}  // namespace

extern const Parser fairseq;
const Parser fairseq{
    .name = "fairseq",
    .title = "fairseq and metaseq",
    .source = "fairseq: fairseq/trainer.py, fairseq/logging/progress_bar.py; metaseq: metaseq/trainer.py",
    .patterns = {},
    .gauges = gauges};

}  // namespace oomdoctor::parsers
