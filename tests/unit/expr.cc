// The language of the rules: precedence, three-valued logic, slack, units, and errors with their position.
#include <thread>
#include <vector>

#include "catch.h"

#include "judge/expr.h"
#include "judge/phrase.h"

using namespace oomdoctor;

namespace {

Facts some_facts() {
  Facts facts;
  facts.set("oom.kind", std::string("device"));
  facts.set("oom.free", read_bytes("343.81", "MiB"));
  facts.set("oom.request", read_bytes("346.00", "MiB"));
  facts.set("oom.unallocated", read_bytes("1.26", "GiB"));
  facts.set("oom.has_numbers", true);
  facts.set("platform.windows", false);
  facts.set("settings.batch_size", Number{8, 0});
  facts.set("account.frag_ratio", Number{0.09, 0.0005});
  return facts;
}

/// Evaluates both ways: with the facts that decided the result, and without.
Truth truth_of(std::string_view text) {
  const Expr expr = Expr::parse(text);
  const Value value = expr.evaluate(some_facts()).value;
  const bool* decided = std::get_if<bool>(&value);
  const Truth fast = expr.truth(some_facts());
  CHECK(fast == (decided ? truth(*decided) : Truth::unknown));
  return fast;
}

std::optional<double> number_of(std::string_view text) {
  const Value value = Expr::parse(text).evaluate(some_facts()).value;
  const Number* number = std::get_if<Number>(&value);
  return number ? std::optional(number->value) : std::nullopt;
}

struct Refusal {
  std::string message, excerpt, help;
};

Refusal refusal_of(std::string_view text) {
  try {
    Expr::parse(text);
  } catch (const Error& error) {
    return {error.what(), error.excerpt(), error.help()};
  }
  return {"accepted", {}, {}};
}

}  // namespace

TEST_CASE("arithmetic keeps its precedence") {
  CHECK(number_of("1 + 2 * 3") == 7.0);
  CHECK(number_of("(1 + 2) * 3") == 9.0);
  CHECK(number_of("10 - 4 - 3") == 3.0);
  CHECK(number_of("16 / 4 / 2") == 2.0);
  CHECK(number_of("-2 + 5") == 3.0);
  CHECK(number_of("min(4, 2, 3)") == 2.0);
  CHECK(number_of("max(1 + 1, 3 * 2)") == 6.0);
  CHECK(number_of("25%") == 0.25);
  CHECK(number_of("25% * 2 GiB") == double(GiB) / 2);
  CHECK(number_of("1.5 MiB + 512 KiB") == 2.0 * double(MiB));
  CHECK(number_of("4 B * settings.batch_size") == 32.0);
}

TEST_CASE("conditions keep their precedence") {
  CHECK(truth_of("true or false and false") == Truth::yes);
  CHECK(truth_of("(true or false) and false") == Truth::no);
  CHECK(truth_of("not false and true") == Truth::yes);
  CHECK(truth_of("not 1 > 2") == Truth::yes);
  CHECK(truth_of("1 + 1 == 2 and 2 < 3") == Truth::yes);
}

TEST_CASE("an operation may be an operand") {
  CHECK(truth_of("-settings.batch_size < 0") == Truth::yes);
  CHECK(truth_of("settings.batch_size != 8") == Truth::no);
  CHECK(truth_of("settings.batch_size != 9") == Truth::yes);
  CHECK(truth_of("known(oom.free) == oom.has_numbers") == Truth::yes);
  CHECK(truth_of("(not oom.has_numbers) == oom.has_numbers") == Truth::no);
}

TEST_CASE("an operation with unknown facts is unknown, unless the known ones decide it") {
  CHECK(truth_of("settings.checkpointing") == Truth::unknown);
  CHECK(truth_of("not settings.checkpointing") == Truth::unknown);
  CHECK(truth_of("settings.checkpointing and platform.windows") == Truth::no);
  CHECK(truth_of("settings.checkpointing or oom.has_numbers") == Truth::yes);
  CHECK(truth_of("settings.checkpointing and oom.has_numbers") == Truth::unknown);
  CHECK(truth_of("settings.checkpointing != true") == Truth::unknown);
  CHECK(truth_of("settings.world_size > 1") == Truth::unknown);
  CHECK(truth_of("min(settings.world_size, 3) < 4") == Truth::unknown);
  CHECK(truth_of("known(settings.world_size)") == Truth::no);
  CHECK(truth_of("known(settings.batch_size) and settings.batch_size == 8") == Truth::yes);
  CHECK(truth_of("not (known(settings.checkpointing) and settings.checkpointing)") == Truth::yes);
}

TEST_CASE("is() makes a condition on unknown facts false") {
  CHECK(truth_of("is(settings.checkpointing)") == Truth::no);
  CHECK(truth_of("not is(settings.checkpointing)") == Truth::yes);
  CHECK(truth_of("is(not settings.checkpointing)") == Truth::no);
  CHECK(truth_of("is(not platform.windows)") == Truth::yes);
  CHECK(truth_of("is(oom.has_numbers)") == Truth::yes);
  CHECK(truth_of("is(settings.batch_size >= 8)") == Truth::yes);
  CHECK(truth_of("is(settings.batch_size >= 9)") == Truth::no);
  CHECK(truth_of("is(settings.batch_size >= settings.world_size)") == Truth::no);
  CHECK(truth_of("is(oom.kind == 'host' or oom.kind == 'device')") == Truth::yes);
  CHECK(truth_of("is(oom.unallocated > 1.262 GiB)") == Truth::unknown);  // known, but its digits leave it open
  const Evaluation both = Expr::parse("is(oom.free < oom.request)").evaluate(some_facts());
  CHECK(both.facts == std::vector<std::string_view>{"oom.free", "oom.request"});
  CHECK(refusal_of("is(true)").message == "is(…) takes a condition on facts");
  CHECK(refusal_of("is(oom.free)").message == "this is a number, but a truth is needed");
}

TEST_CASE("texts are compared as whole words") {
  CHECK(truth_of("oom.kind == 'device'") == Truth::yes);
  CHECK(truth_of("oom.kind == \"host\"") == Truth::no);
  CHECK(truth_of("oom.kind != 'host'") == Truth::yes);
  CHECK(truth_of("oom.agent == 'kernel'") == Truth::unknown);
}

TEST_CASE("a comparison within the rounding of a printed number is unknown") {
  CHECK(truth_of("oom.free < oom.request") == Truth::yes);
  // 1.26 GiB means any size from 1.255 to 1.265 GiB.
  CHECK(truth_of("oom.unallocated > 1.262 GiB") == Truth::unknown);
  CHECK(truth_of("oom.unallocated > 1.25 GiB") == Truth::yes);
  CHECK(truth_of("oom.unallocated == 1.26 GiB") == Truth::unknown);
  CHECK(truth_of("oom.unallocated == 2 GiB") == Truth::no);
  CHECK(truth_of("oom.unallocated + oom.free >= 1.6 GiB") == Truth::unknown);
  CHECK(truth_of("account.frag_ratio >= 8%") == Truth::yes);
  CHECK(truth_of("account.frag_ratio >= 9%") == Truth::unknown);
  CHECK(truth_of("settings.batch_size == 8") == Truth::yes);
  CHECK(truth_of("settings.batch_size >= 8") == Truth::yes);
}

TEST_CASE("an expression without a value is unknown, not an error") {
  CHECK(number_of("1 / 0") == std::nullopt);
  CHECK(truth_of("oom.request / (settings.batch_size - 8) > 1 GiB") == Truth::unknown);
  CHECK(number_of("1e308 * 10") == std::nullopt);
}

TEST_CASE("an evaluation names the facts that decided it and those that are missing") {
  const Evaluation yes = Expr::parse("settings.checkpointing or oom.free < oom.request").evaluate(some_facts());
  CHECK(yes.facts == std::vector<std::string_view>{"oom.free", "oom.request"});
  CHECK(yes.missing.empty());
  const Evaluation open =
      Expr::parse("oom.has_numbers and settings.checkpointing and settings.fsdp").evaluate(some_facts());
  CHECK(open.missing == std::vector<std::string_view>{"settings.checkpointing", "settings.fsdp"});
  const Evaluation digits = Expr::parse("oom.unallocated == 1.26 GiB").evaluate(some_facts());
  CHECK_FALSE(known(digits.value));
  CHECK(digits.missing.empty());
}

TEST_CASE("the caret of an error points to its position") {
  const Refusal name = refusal_of("oom.free < oom.requst");
  CHECK(name.message == "there is no fact \"oom.requst\"");
  CHECK(name.excerpt == "oom.free < oom.requst\n           ^");
  CHECK(name.help == "did you mean oom.request?");
  CHECK(refusal_of("oom.free <").message == "the expression ends too early");
  CHECK(refusal_of("").message == "the expression ends too early");
  CHECK(refusal_of("(1 + 2").message == "here a \")\" is missing");
  CHECK(refusal_of("1 2").message == "nothing may follow here");
  CHECK(refusal_of("oom.kind == 'device").message == "the quote that begins here has no end");
  CHECK(refusal_of("oom.free < 3 GB").help == "did you mean GiB?");
  CHECK(refusal_of("1 < 2 < 3").help == "write a < b and b < c");
  CHECK(refusal_of("true && false").help == "write and");
  CHECK(refusal_of("oom.kind = 'device'").help == "equality is ==");
  CHECK(refusal_of("min(1)").message == "min and max take two values or more");
  CHECK(refusal_of("known(1)").message == "known(…) takes the name of a fact");
}

TEST_CASE("types and dimensions are checked before evaluation") {
  CHECK(refusal_of("oom.kind < 3").message == "a text is compared with a number");
  CHECK(refusal_of("oom.kind < 'host'").message == "only numbers have an order");
  CHECK(refusal_of("oom.free and true").message == "this is a number, but a truth is needed");
  CHECK(refusal_of("not oom.free").message == "this is a number, but a truth is needed");
  CHECK(refusal_of("oom.has_numbers + 1").message == "this is a truth, but a number is needed");
  CHECK(refusal_of("oom.free < 3").message == "a size in bytes meets a plain number here");
  CHECK(refusal_of("oom.free + settings.batch_size < 1 GiB").message == "a size in bytes meets a plain number here");
  CHECK(refusal_of("oom.free < 0").message == "accepted");
  CHECK(refusal_of("oom.free / oom.request < 3").message == "accepted");
  CHECK(Expr::parse("trend.slope * trend.steps_to_full").dimension() == 1);
}

TEST_CASE("the parser refuses hostile expressions") {
  CHECK(refusal_of(std::string(100, '(') + "1" + std::string(100, ')')).message ==
        "the expression is nested too deeply");
  CHECK(refusal_of(std::string(200, '-') + "1").message == "the expression is nested too deeply");
  std::string many = "1";
  for (int i = 0; i < 600; ++i) many += "+1";
  CHECK(refusal_of(many).message == "the expression has too many parts");
  CHECK(refusal_of(std::string(5000, ' ')).message == "the expression is longer than 4096 characters");
  CHECK(refusal_of("1e999").message == "this is not a number");
}

TEST_CASE("phrases fill in numbers, or drop the sentence") {
  const Facts facts = some_facts();
  CHECK(Phrase::parse("only {oom.free} was free").fill(facts) == "only 343.81 MiB was free");
  CHECK(Phrase::parse("{account.frag_ratio} lay idle").fill(facts) == "9.0% lay idle");
  CHECK(Phrase::parse("{account.frag_ratio} of {oom.capacity} after {run.steps} steps. {trend.rate}").with_letters() ==
        "X% of X GiB after N steps.");
  CHECK(Phrase::parse("grows by {trend.rate}, --mem={oom.free:G}G").with_letters() == "grows by …, --mem=NG");
  CHECK(Phrase::parse("{oom.free + oom.unallocated}").fill(facts) == "1.60 GiB");
  CHECK(Phrase::parse("--mem={oom.unallocated:G}G").fill(facts) == "--mem=2G");
  CHECK(Phrase::parse("{settings.batch_size / 3:.2}").fill(facts) == "2.67");
  CHECK_FALSE(Phrase::parse("{settings.world_size} ranks").fill(facts));
  CHECK(Phrase::parse("It is full. {settings.world_size} ranks share it. {oom.free} is left.").fill_sentences(facts) ==
        "It is full. 343.81 MiB is left.");
  CHECK(Phrase::parse("{\"stage\": 3}").fill(facts) == "{\"stage\": 3}");
  CHECK(Phrase::parse("{{medium: Memory}").fill(facts) == "{medium: Memory}");
  CHECK_THROWS_WITH(Phrase::parse("{oom.free"), "the place that begins here has no }");
  CHECK_THROWS_WITH(Phrase::parse("{oom.free:x}"), "this format is not known");
}

TEST_CASE("a line with a gap to fill is no command to paste") {
  for (const char* gap :
       {"#SBATCH --mem=…", "DataLoader(…, num_workers=4)", "<COMMAND> 2>&1 | tee job.log", "ps -o rss= -p <PID>",
        "export HIP_VISIBLE_DEVICES=<N>   # N: a free one", "print(a)\nsstat -j <JOB>"})
    CHECK(Phrase::parse(gap).has_gap());
  for (const char* whole : {"#SBATCH --mem=64G", "nvidia-smi -q -d MEMORY", "cat < a > b", "f(<x>)",
                            "tf.device(\"CPU:0\")   # or DataLoader(…)", "# <PID>: as ps shows it", "<", "a <", "<A"})
    CHECK_FALSE(Phrase::parse(whole).has_gap());
  CHECK(Phrase::parse("ps -p <PID> <in").fill({}) == "ps -p PID <in");
  CHECK(Phrase::parse("a<<B> < {{ <<").fill({}) == "a<B < { <<");
}

TEST_CASE("a filled phrase keeps nothing of the facts, and an assigned one nothing of its old text", "[threads]") {
  const Facts facts = some_facts();
  Phrase phrase = Phrase::parse("{oom.free} was free");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { (void)phrase.fill(facts); });
  }
  CHECK(phrase.fill(facts) == "343.81 MiB was free");
  CHECK_FALSE(phrase.fill(Facts()));
  const Phrase copy = phrase;
  phrase = Phrase::parse("{account.frag_ratio} lay idle");
  CHECK(phrase.fill(facts) == "9.0% lay idle");
  CHECK(copy.fill(facts) == "343.81 MiB was free");
}

TEST_CASE("facts are printed in their unit") {
  const auto text = [](std::string_view name, Value value) { return fact_text(*find_fact_spec(name), value); };
  CHECK(text("oom.free", Number{1.5 * double(GiB), 0}) == "1.50 GiB");
  CHECK(text("account.frag_ratio", Number{0.412, 0}) == "41%");
  CHECK(text("account.frag_ratio", Number{0.0123, 0}) == "1.2%");
  CHECK(text("settings.batch_size", Number{32, 0}) == "32");
  CHECK(text("settings.torch", Number{2.04, 0}) == "2.4");
  CHECK(text("settings.torch", Number{2.1, 0}) == "2.10");
  CHECK(text("trend.slope", Number{2.0 * double(MiB), 0}) == "2 MiB per step");
  CHECK(text("oom.has_numbers", true) == "yes");
  CHECK(text("oom.kind", std::string("device")) == "device");
  CHECK(text("oom.kind", Value{}) == "unknown");
}
