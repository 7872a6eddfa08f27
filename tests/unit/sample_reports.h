// Reports written by hand, one for each outcome and one with hostile texts: the input of the writer tests.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "oomdoctor/report.h"

namespace oomdoctor::samples {

inline Location at(std::int64_t line, std::string path = "train.log") {
  return {std::move(path), line, line, "", 0, 0};
}

/// A location whose excerpt marks `mark`.
inline Location cited(std::int64_t line, const std::string& excerpt, const std::string& mark,
                      std::string path = "train.log") {
  const auto from = static_cast<int>(excerpt.find(mark));
  return {std::move(path), line, line, excerpt, from, from + static_cast<int>(mark.size())};
}

inline std::int64_t gib(double size) { return static_cast<std::int64_t>(size * static_cast<double>(GiB)); }

inline ReportIncident fatal_incident() {
  ReportIncident incident;
  incident.id = "i1";
  incident.kind = "device";
  incident.agent = "cuda_allocator";
  incident.framework = "pytorch";
  incident.message_format = "torch-2.4";
  incident.location =
      cited(2001,
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity "
            "of 23.69 GiB of which 1.06 GiB is free. Process 4712 has 22.62 GiB memory in use. Of the allocated "
            "memory 21.42 GiB is allocated by PyTorch, and 842.10 MiB is reserved by PyTorch but unallocated.",
            "1.50 GiB");
  incident.device = 0;
  incident.pid = 4712;
  incident.step = 1000;
  incident.time = 1741080730;
  incident.phase = "backward";
  incident.requested_bytes = gib(1.5);
  incident.capacity_bytes = gib(23.69);
  incident.free_bytes = gib(1.06);
  incident.process_bytes = gib(22.62);
  incident.allocated_bytes = gib(21.42);
  incident.unallocated_bytes = gib(0.8224);
  incident.reserved_bytes = gib(22.2424);
  incident.frame = ReportFrame{"train.py", 88, "training_step", "loss.backward()"};
  incident.ask_frame =
      ReportFrame{"/opt/env/lib/python3.11/site-packages/torch/autograd/graph.py", 744, "_engine_run_backward", ""};
  incident.account = ReportAccount{gib(23.69),
                                   {{"tensors", gib(21.42)},
                                    {"cached by PyTorch, in no tensor", gib(0.8224)},
                                    {"this process outside PyTorch", gib(0.3776)},
                                    {"free", gib(1.06)}},
                                   0,
                                   gib(0.02)};
  auto& account = *incident.account;
  account.unexplained_bytes = account.capacity_bytes;
  for (const auto& share : account.shares) account.unexplained_bytes -= share.bytes;
  return incident;
}

inline ReportSeries growing_series() {
  ReportSeries series;
  series.id = "s1";
  series.metric = "allocated";
  series.kind = "gauge";
  series.device = 0;
  series.unit = "GB";
  series.n = 9;
  series.first_step = 100;
  series.last_step = 900;
  const double gibs[] = {15.4, 15.7, 16.1, 16.6, 17.3, 18.1, 19.0, 20.1, 21.4};
  for (int i = 0; i < 9; ++i) series.points.push_back({100.0 * (i + 1), gibs[i] * static_cast<double>(GiB)});
  series.first_value = series.points.front().y;
  series.last_value = series.max_value = series.points.back().y;
  series.quantum = 0.1 * static_cast<double>(GiB);
  series.first = at(212);
  series.last = at(1811);
  auto& trend = series.trend;
  trend.leak = true;
  trend.shape = "accelerating";
  trend.confidence = 0.93;
  trend.slope = {7963000, 7500000, 8420000};
  trend.acceleration = {14946, 13960, 15940};
  trend.model = "quadratic";
  trend.models = {{"quadratic", -45.8}, {"cubic", -33.8}, {"linear", -5.3}, {"constant", 8.1}};
  trend.forecast = ReportForecast{gib(23.69), 1003, 990, 1016, false};
  trend.why = "9 values that rise each time, and by more each time";
  for (double x = 100; x <= 1016; x += 114.5) {
    const double y = (15.4 + 0.00179 * (x - 100) + 0.0000072 * (x - 100) * (x - 100)) * static_cast<double>(GiB);
    trend.curve.push_back({x, y, y - 1.2e8, y + 1.2e8});
  }
  return series;
}

inline std::vector<ReportFix> growth_fixes() {
  std::vector<ReportFix> fixes(3);
  fixes[0].id = "detach-running-loss";
  fixes[0].title = "Add up the number, not the tensor";
  fixes[0].causes = {"leak"};
  fixes[0].saves_low_bytes = gib(4.2);
  fixes[0].saves_high_bytes = gib(6.0);
  fixes[0].saves_formula = "last value − first value";
  fixes[0].cost = 0;
  fixes[0].risk = 0;
  fixes[0].enough = true;
  fixes[0].why = "6.00 GiB were gained since step 100, and nothing gave them back";
  fixes[0].settings = {{"plain PyTorch", "running_loss += loss.item()", "running_loss += loss", ""}};
  fixes[0].verify = "allocated memory at step 900 is what it was at step 100, give or take 0.10 GiB";
  fixes[0].locations = {at(212), at(1811)};
  fixes[1].id = "smaller-micro-batch";
  fixes[1].title = "Halve the batch and accumulate gradients over twice as many";
  fixes[1].causes = {"oversized_step", "leak"};
  fixes[1].saves_low_bytes = gib(1.1);
  fixes[1].saves_high_bytes = gib(3.3);
  fixes[1].saves_formula = "activations * (1 - new / old)";
  fixes[1].cost = 2;
  fixes[1].risk = 1;
  fixes[1].settings = {{"HF Trainer", "per_device_train_batch_size=4, gradient_accumulation_steps=4", "8", "4"},
                       {"plain PyTorch", "DataLoader(dataset, batch_size=4)", "8", "4"}};
  fixes[1].not_with = {"optimizer-in-backward"};
  fixes[2].id = "expandable-segments";
  fixes[2].title = "Enable expandable segments";
  fixes[2].causes = {"fragmentation"};
  fixes[2].saves_high_bytes = gib(0.8);
  fixes[2].cost = 0;
  fixes[2].risk = 0;
  fixes[2].if_not_already = true;
  fixes[2].settings = {
      {"environment",
       "export PYTORCH_ALLOC_CONF=expandable_segments:True   # torch before 2.9: PYTORCH_CUDA_ALLOC_CONF", "", ""}};
  return fixes;
}

inline std::vector<ReportCause> growth_causes() {
  ReportCause leak{"leak", "Memory leak: each step keeps memory", "", 0.92, {}, {}};
  leak.because = {
      {{"trend.leak"},
       "allocated memory rose in each of 9 readings, by 0.30 GiB at first and 1.30 GiB at last",
       5.5,
       {at(212), at(1811)}},
      {{"trend.forecast_step"},
       "the fitted curve reaches the GPU's 23.69 GiB at step 1003; the run failed at step 1000",
       4.0,
       {at(1811), at(2001)}},
      {{"account.allocated_share"}, "tensors took 90% of the GPU, so the cache is not the problem", 1.5, {at(2001)}}};
  leak.guide = "docs/causes/leak.md";
  leak.against = {{{"run.steps"}, "only 9 values were printed", -0.5, {at(212)}}};
  ReportCause big{"oversized_step", "Step too large for the GPU (batch, sequence or image size)", "", 0.06, {}, {}};
  big.because = {
      {{"account.after_compaction"}, "even perfect compaction could not have served 1.50 GiB", 1.0, {at(2001)}}};
  big.against = {{{"run.steps"}, "1000 steps of the same size succeeded", -4.0, {at(1811)}}};
  big.explanation = {"The batch, the sequence or the image is too large.",
                     {"the request of X GiB is larger than what is free"},
                     {"N steps of the same size succeeded"},
                     {{"smaller-batch", "Halve the batch"}},
                     ""};
  ReportCause holes{
      "fragmentation", "Fragmentation: the free blocks in PyTorch's cache are too small", "", 0.02, {}, {}};
  return {leak, big, holes};
}

/// A leak that accelerated until the GPU was full.
inline Report fatal() {
  Report report;
  report.tool_version = "0.1.0";
  report.job = "51204";
  report.inputs = {{"train.log", "log", 702114, 2044, "", false}};
  report.coverage = {2044, 1311, {{"torch_oom", 1}, {"traceback", 40}, {"progress", 1270}}};
  report.incidents = {fatal_incident()};
  report.series = {growing_series()};
  report.causes = growth_causes();
  report.fixes = growth_fixes();
  report.plan = ReportPlan{{"detach-running-loss"}, gib(1.62), gib(1.18), gib(15.9), true};
  report.held_back = {
      {"empty-cache", "torch.cuda.empty_cache()",
       "only 842.10 MiB of the cache lay idle, and 1.50 GiB were asked for; PyTorch empties it by itself "
       "before it gives up"}};
  report.questions = {{"trend.allocated", "which object keeps the memory",
                       "torch.cuda.memory._record_memory_history(max_entries=100000)"}};
  report.notes = {{"note", "\"GB\" was read as 2^30 bytes, as PyTorch tools print it", at(212)}};
  report.verdict = {
      Outcome::oom,
      "leak",
      "Memory leak: each step keeps memory",
      0.92,
      "GPU 0 was full at step 1000: tensors grew from 15.40 to 21.42 GiB, and 1.50 GiB more did not fit in "
      "the 1.06 GiB left (train.log:2001)",
      "i1",
      {"retry_with_change", "add up loss.item() instead of loss"},
      std::nullopt};
  return report;
}

/// An evaluation batch that did not fit; the program halved it and continued.
inline Report handled() {
  Report report;
  report.tool_version = "0.1.0";
  report.inputs = {{"logs/rank0.log", "log", 88211, 640, "gzip", false},
                   {"logs/rank1.log", "log", 81200, 633, "", true}};
  report.coverage = {1273, 420, {{"torch_oom", 2}, {"progress", 418}}};
  ReportIncident incident;
  incident.id = "i1";
  incident.kind = "device";
  incident.agent = "cuda_allocator";
  incident.framework = "pytorch";
  incident.location = cited(301, "| WARNING: OOM in eval batch: CUDA out of memory. Tried to allocate 512.00 MiB",
                            "512.00 MiB", "logs/rank1.log");
  incident.occurrences = {at(305, "logs/rank1.log"), at(309, "logs/rank1.log")};
  incident.more_occurrences = 4;
  incident.handled = true;
  incident.rank = 1;
  incident.phase = "evaluation";
  incident.numbers = "512.00 MiB requested";
  incident.requested_bytes = 512 * MiB;
  report.incidents = {incident};
  report.causes = {{"eval_accumulation",
                    "Evaluation keeps its outputs on the device",
                    "",
                    0.44,
                    {{{"phase.evaluation"}, "it failed in the evaluation", 4, {at(290, "logs/rank1.log")}}},
                    {}},
                   {"input_spike", "One sample is far larger than the others", "", 0.38, {}, {}}};
  report.fixes = {ReportFix{}};
  report.fixes[0].id = "eval-accumulation-steps";
  report.fixes[0].title = "Move evaluation outputs to the host now and then";
  report.fixes[0].cost = 1;
  report.fixes[0].risk = 0;
  report.fixes[0].if_not_already = true;
  report.fixes[0].settings = {{"HF Trainer", "eval_accumulation_steps=8", "", ""}};
  report.questions = {{"oom.capacity", "the numbers of the message", "print the whole text of the exception"}};
  report.verdict = {
      Outcome::handled_oom,
      "undetermined",
      "",
      0.44,
      "Rank 1 could not get 512.00 MiB in the evaluation 7 times and went on each time (logs/rank1.log:301)",
      "i1",
      {"retry_unchanged", ""},
      std::nullopt};
  return report;
}

/// A healthy run: a series that levels off.
inline Report healthy() {
  Report report;
  report.tool_version = "0.1.0";
  report.inputs = {{"train.log", "log", 97485, 1203, "", false}};
  report.coverage = {1203, 400, {{"progress", 400}}};
  ReportSeries series;
  series.id = "s1";
  series.metric = "max_allocated";
  series.kind = "running_maximum";
  series.rank = 0;
  series.unit = "MiB";
  series.n = 400;
  series.first_step = 10;
  series.last_step = 4000;
  for (int i = 0; i < 40; ++i)
    series.points.push_back({100.0 * i + 10, (i < 3 ? 9.1 + 0.4 * i : 10.2) * static_cast<double>(GiB)});
  series.first_value = series.points.front().y;
  series.last_value = series.max_value = series.points.back().y;
  series.first = at(30);
  series.last = at(1190);
  series.trend.shape = "warmup";
  series.trend.confidence = 0.9;
  series.trend.why = "rises by 1.10 GiB at the start and stays there";
  report.series = {series};
  report.verdict = {Outcome::no_oom, "", "", 0.9, "", std::nullopt, {"unknown", ""}, std::nullopt};
  return report;
}

/// No failure yet, but growth that will end in one.
inline Report at_risk() {
  Report report = healthy();
  ReportSeries series = growing_series();
  series.trend.shape = "linear";
  series.trend.acceleration = {0, -90, 90};
  series.trend.onset_step = 200;
  series.trend.forecast = ReportForecast{gib(79.15), 7600, 6900, std::nullopt, true};
  report.series.insert(report.series.begin(), series);
  report.causes = {growth_causes()[0]};
  report.fixes = {growth_fixes()[0]};
  report.held_back.clear();
  report.verdict = {
      Outcome::at_risk,
      "leak",
      "Memory leak: each step keeps memory",
      0.81,
      "allocated memory grows by 7.59 MiB a step since step 200; 79.15 GiB are full near step 7600 (train.log:1811)",
      std::nullopt,
      {"retry_with_change", "add up loss.item() instead of loss"},
      std::nullopt};
  return report;
}

/// Every text that can come from a log tries to inject markup into the output.
inline Report hostile() {
  Report report = fatal();
  const std::string evil =
      "\x1b[31mred\x1b]0;title\x07 \xe2\x80\xae"
      "desrever ::error file=x::pwned ##[group]x <script>alert(1)</script> "
      "|cell| ```fence``` `tick` [link](http://evil.example) @someone #12 100% \xff\xc0 \x9b"
      "31m end\r\n::warning::2nd";
  report.inputs[0].path = evil;
  auto& incident = report.incidents[0];
  report.series[0].first.path = "../../../etc/passwd";
  incident.location.path = "::set-output name=x::y,z.log";
  incident.location.excerpt = evil;
  incident.location.column = 7;
  incident.location.end_column = 10;
  incident.host = evil;
  incident.frame->file = "../::evil::,\n.py";
  incident.frame->function = evil;
  incident.frame->code = evil;
  incident.account->shares[0].label = evil;
  report.verdict.headline =
      evil +
      " \x1b]52;c;cHduZWQ=\x07 \xe2\x81\xa6isolated\xe2\x81\xa9 zero\xe2\x80\x8bwidth ]]> </script> <img src=x "
      "onerror=alert(1)> "
      "javascript:alert(1) ##vso[task.complete] ${{ secrets.KEY }} $(id) \xc2\x9dosc\n+++ header\n--- header";
  report.verdict.retry.change = evil;
  report.causes[0].title = evil;
  report.causes[0].because[0].text = evil;
  report.causes[0].guide.clear();
  report.causes[0].explanation = {evil, {evil}, {evil}, {{evil, evil}}, ""};
  report.fixes[0].title = evil;
  report.fixes[0].settings[0].text = evil;
  report.notes = {{"warning", evil, at(3, evil)}};
  report.questions[0].text = evil;
  report.held_back[0].because = evil;
  report.series[0].metric = "memory";
  report.series[0].label = evil;
  return report;
}

}  // namespace oomdoctor::samples
