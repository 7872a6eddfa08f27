// The result of a scan does not depend on earlier lines and logs, although a thread caches what it found in them.
#include <random>

#include "catch.h"
#include "fold/scanner.h"
#include "formats/user_formats.h"
#include "mapped.h"
#include "samples.h"
#include "scan/anchors.h"
#include "serialize/partial.h"

namespace oomdoctor {
namespace {

using testing::law_samples;
using testing::mapped;
using testing::read_file;
using testing::stable_hash;

/// Lines of values after heads that differ in their digits: tags, time stamps, positions, levels.
std::string lines_with_heads() {
  std::string text;
  for (const std::string head :
       {"[12:00:01] ", "12:00:01.123 - INFO - ", "[3/10] ", "[it 50] ", "2025-03-01 10:00:00,123 [main] ", "[rank 3] ",
        "[gpu12] [worker 4] ", "(pid=412) ", "1740823200.125 ", "[2025-03-01T10:00:00Z] [0] ", "[12] 7 | ",
        "[a head that is longer than all that is looked at: 12 of 40 parts of the whole model are on the card] "})
    for (const std::string body : {"step 5 | allocated 3.5 GiB", "memory used: 1740823200", "40/2000 mem 3.5 GiB"})
      text += head + body + "\n";
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Other digits, and now and then a number that is longer or shorter.
std::string numbers_changed(std::string_view text, std::mt19937& engine) {
  std::string out;
  for (const char c : text) {
    const bool inside = !out.empty() && is_digit(out.back());
    if (is_digit(c) && inside && engine() % 12 == 0) continue;
    out.push_back(is_digit(c) ? static_cast<char>('0' + engine() % 10) : c);
    if (is_digit(c) && engine() % 12 == 0) out.push_back(static_cast<char>('0' + engine() % 10));
  }
  return out;
}

/// The same lines as other programs write them: with other ends, with colours, with bytes that a crash left.
std::string written_anew(std::string_view text, std::mt19937& engine) {
  const auto any_of = [&](std::initializer_list<std::string_view> choices) {
    return choices.begin()[engine() % choices.size()];
  };
  const std::string_view end = any_of({"\n", "\n", "\n", "\r\n", "\r"});
  const bool coloured = engine() % 3 == 0;
  std::string out;
  while (!text.empty()) {
    const std::size_t stop = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, stop);
    text.remove_prefix(std::min(stop + 1, text.size()));
    const bool marked = coloured && engine() % 4 == 0;
    const std::size_t from = line.empty() ? 0 : engine() % line.size();
    out += marked ? std::string(line.substr(0, from)) +
                        std::string(any_of({"\x1b[1;31m", "\x1b[0m", {"\0", 1}, {"\0\0", 2}})) +
                        std::string(line.substr(from))
                  : std::string(line);
    out += end;
  }
  return out;
}

/// Formats whose anchors are also other numbers of lines that the shipped parsers read.
constexpr std::string_view numbered_formats = R"([[format]]
name    = "numbered/slot"
anchor  = "slot 12 "
form    = "slot 12 holds {allocated}"
unit    = "GB"
example = "slot 12 holds 3.5 GB of tensors"

[[format]]
name    = "numbered/pair"
anchor  = "gpu7mem1="
form    = "step {step} ~gpu7mem1={allocated}"
unit    = "GB"
example = "step 5 | gpu7mem1=4.25 GB allocated"
)";

}  // namespace

TEST_CASE("lines that were read before change nothing", "[law]") {
  static const FormatRegistry readers(all_parsers(), shipped_prefilter_plan());
  const auto seed = GENERATE(range(1U, 5U));  // the order decides which lines come before others
  CAPTURE(seed);
  TemplateCache warm;
  std::vector<std::pair<std::string, std::string>> texts{{"heads", lines_with_heads()}};
  for (const auto& log : law_samples()) texts.emplace_back(testing::sample_name(log), read_file(log));
  const auto place = [&](const auto& named) { return stable_hash(std::to_string(seed) + named.first); };
  std::sort(texts.begin(), texts.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  for (const auto& named : texts) {
    const auto& [name, text] = named;
    std::mt19937 engine(place(named));
    for (int i = 0; i < 8; ++i) {  // the first round makes the templates known, the second stores them
      const std::string other = i == 0   ? text
                                : i <= 5 ? numbers_changed(text, engine)
                                         : written_anew(numbers_changed(text, engine), engine);
      TemplateCache fresh;
      const auto expected = mapped(readers, other, fresh), known = mapped(readers, other, warm);
      CAPTURE(name, i);
      CHECK((known == expected));
      if (known == expected) continue;
      for (std::size_t k = 0; k < std::min(known.size(), expected.size()); ++k)
        if (known[k] != expected[k]) {
          CHECK(known[k] == expected[k]);
          break;
        }
    }
  }
}

TEST_CASE("an anchor of digits is found among lines that differ only in their digits", "[law]") {
  UserFormats user(all_parsers());
  user.add("numbered.toml", numbered_formats);
  const FormatRegistry readers(user.parsers());
  TemplateCache warm;
  for (int round = 0; round < 3; ++round)
    for (const std::string number : {"7", "12", "34", "123", "712"}) {
      std::string text;
      for (int again = 0; again < 4; ++again)
        text += "slot " + number + " holds " + std::to_string(again) + ".5 GB of tensors, memory allocated 7.5 GB\n" +
                "step 5 | memory allocated 4.25 GB | gpu" + number + "mem1=4.25 GB\n";
      CAPTURE(round, number);
      TemplateCache fresh;
      const auto known = mapped(readers, text, warm);
      CHECK(known == mapped(readers, text, fresh));
      const auto count_of = [&](std::string_view format) {
        return std::count_if(known.begin(), known.end(),
                             [&](const std::string& words) { return words.starts_with(format); });
      };
      CHECK(count_of("numbered/slot") == (number == "12" ? 4 : 0));
      CHECK(count_of("numbered/pair") == (number == "7" ? 4 : 0));
    }
}

TEST_CASE("a number that only looks like a time makes no template for times", "[law]") {
  const FormatRegistry readers(all_parsers());
  const std::string rest = "519452770.875 step 5 | allocated 3.5 GiB\n";
  TemplateCache warm;
  for (int again = 0; again < 4; ++again) mapped(readers, "0" + rest, warm);
  TemplateCache fresh;
  CHECK(mapped(readers, "1" + rest, warm) == mapped(readers, "1" + rest, fresh));
}

TEST_CASE("what a near test decided for one line does not hold for another", "[law]") {
  static const FormatRegistry readers(all_parsers(), shipped_prefilter_plan());
  const std::string card = "requeue 0, host1, NVIDIA A100-SXM4-40GB 39.39 GiB, batch_size=8, allocated 3.5 GiB\n";
  const std::string end = "step 7: memory allocated 3.5 GB, the last worker exited with code ";
  TemplateCache warm;
  for (int again = 0; again < 4; ++again)
    for (const std::string& text : {card, "\x1b[1m" + card, card + end + "0\n", end + "137\n", end + "255\n"}) {
      CAPTURE(again, text);
      TemplateCache fresh;
      CHECK(mapped(readers, text, warm) == mapped(readers, text, fresh));
    }
  TemplateCache memo;
  CHECK(mapped(readers, end + "0\n", memo).size() < mapped(readers, end + "137\n", memo).size());
}

TEST_CASE("logs that were read before change no report", "[law]") {
  const Scanner shared(all_parsers(), shipped_prefilter_plan());
  auto logs = law_samples();
  for (int round = 0; round < 2; ++round) {
    const auto place = [&](const auto& log) { return stable_hash(std::to_string(round) + testing::sample_name(log)); };
    std::sort(logs.begin(), logs.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    for (const auto& log : logs) {
      std::string text = read_file(log);
      std::mt19937 engine(place(log));
      if (round > 0) text = written_anew(numbers_changed(text, engine), engine);
      const auto read_by = [&](const Scanner& scanner) {
        Source source = Source::of_text("train.log", text);
        return partial_line({"train.log", ""}, scanner.scan(source));
      };
      CAPTURE(testing::sample_name(log), round);
      CHECK((read_by(shared) == read_by(Scanner(all_parsers(), shipped_prefilter_plan()))));
    }
  }
}

TEST_CASE("common step lines are read by their templates", "[law]") {
  const FormatRegistry readers(all_parsers());
  for (const std::string line : {
           "{'loss': 1.2075, 'grad_norm': 0.4375, 'learning_rate': 2.5e-05, 'epoch': 0.25, 'num_input_tokens_seen': "
           "65536}",
           "[2025-03-01 10:00:00,125] [INFO] [logging.py:96:log_dist] [Rank 0] step=40, skipped=0, lr=[2.5e-06], "
           "mom=[(0.9, 0.95)]",
           "2025-03-01 10:00:00 | INFO | train_inner | epoch 002:    40 / 5000 loss=7.25, ppl=152.2, wps=8192.5, "
           "lr=5e-05",
           "[2025-03-01 10:00:00 vit_small] (main.py 204): INFO Train: [2/90][40/500]  eta 0:12:30 lr 0.00025  loss "
           "6.75 (6.80)  mem 9216MB",
           " iteration       40/    5000 | consumed samples:        10240 | elapsed time per iteration (ms): 512.5 | "
           "lm loss: 7.25E+00 |",
           "2025-03-01 10:00:00 - mmengine - INFO - Epoch(train) [2][ 40/500]  lr: 2.5000e-04  eta: 0:12:30  memory: "
           "9216  loss: 1.25",
           "[03/01 10:00:00 d2.utils.events]:  eta: 0:12:30  iter: 40  total_loss: 1.25  time: 0.512  lr: 0.00025  "
           "max_mem: 9216M",
           "[titan] 2025-03-01 10:00:00,125 - root - INFO - step: 40  loss:  7.2500  memory: 61.25GiB(77.40%)  tps: "
           "8,192  mfu: 40.25%",
           "Epoch 2:  40%|####      | 40/100 [00:20<00:30,  2.05it/s, loss=1.25, v_num=3]",
           "step 40 | loss 7.25 | lr 2.5e-04 | gpu_mem 9.25 GB | peak 11.50 GB | 8192.5 tok/s",
           "Train Epoch: 2 [640/5000 (13%)]  Loss: 1.250000  Accuracy: 0.40625",
       }) {
    CAPTURE(line);
    constexpr int often = 6;  // the front, the form and the line are each met twice
    std::string text;
    for (int i = 0; i < often; ++i) text += line + "\n";
    TemplateCache memo;
    mapped(readers, text, memo);
    CHECK(memo.find_unsearched(line).shape != nullptr);
  }
}

}  // namespace oomdoctor
