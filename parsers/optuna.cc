// Optuna: the next trial after a failed one shows that the study continued.
//
// Optuna's warning about the failed trial contains the repr of the exception. The parser of that message reads the
// failure.
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

void next_trial(const Match&, EventSink& sink) { sink.remark("run/went_on"); }

constexpr Pattern patterns[] = {
    checked({.name = "optuna/finished",
             .anchor = "Finished trial#",
             .regex = R"(Finished trial ?#\d{1,7} (?:resulted in value|with value|pruned))",
             .example = "[I 2020-03-30 20:08:03,200] Finished trial#4 resulted in value: 0.73. Current best value is "
                        "0.7 with parameters: {'width': 768}.",
             .emit = next_trial}),
    checked({.name = "optuna/pruned",
             .anchor = " pruned. ",
             .regex = R"(\bTrial \d{1,7} pruned\. )",
             .example = "[I 2025-01-30 20:08:03,200] Trial 5 pruned. Trial was pruned at iteration 3.",
             .emit = next_trial}),
};

}  // namespace

extern const Parser optuna;
const Parser optuna{.name = "optuna",
                    .title = "Optuna's trials",
                    .source = "Optuna: optuna/study/_optimize.py, optuna/study/study.py",
                    .patterns = patterns};

}  // namespace oomdoctor::parsers
