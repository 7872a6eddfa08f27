#include "cli/estimate_limits.h"

#include <fmt/format.h>

#include <initializer_list>

#include "base/error.h"
#include "estimate/size_limits.h"
#include "report/words.h"

namespace oomdoctor::cli {
namespace {

double multiply(std::initializer_list<std::optional<i64>> counts) {
  double product = 1;
  for (const auto& count : counts) product *= to_double(count.value_or(1));
  return product;
}

}  // namespace

void check_products(const ModelShape& model, const RunShape& run) {
  if (count_parameters(model).value_or(0) > size_limits::parameters)
    throw Error(fmt::format("the model has more than {} parameters", count_text(size_limits::parameters)), "",
                "check the layers, the hidden size, the MLP's width, the experts and the vocabulary");
  if (multiply({run.data_parallel, run.tensor_parallel, run.pipeline_parallel, run.context_parallel}) >
      to_double(size_limits::ranks))
    throw Error(fmt::format("the job has more than {} GPUs", count_text(size_limits::ranks)), "",
                "check the product of --dp, --tp, --pp and --cp");
  if (multiply({run.batch, run.accumulation, run.data_parallel}) > to_double(size_limits::samples_of_step))
    throw Error(fmt::format("a step has more than {} samples", count_text(size_limits::samples_of_step)), "",
                "check the product of --batch, --accumulation and --dp");
}

void check_range(const Budget& budget) {
  const auto check = [](const Term& term) {
    if (term.bytes.count < max_budget_bytes) return;
    throw Error(fmt::format("{} would take more than {}", term.label, bytes_text(max_budget_bytes)), "",
                "check the sizes of the model, --batch and --seq");
  };
  for (const Term& term : budget.terms) check(term);
  if (budget.host) check(*budget.host);
}

}  // namespace oomdoctor::cli
