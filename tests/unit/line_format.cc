#include "read/line_format.h"

#include <cstdlib>
#include <random>
#include <string>

#include "catch.h"

using namespace oomdoctor;

namespace {

LineFormat gauge_of(std::string_view form) {
  LineFormat gauge;
  gauge.name = "test/gauge";
  gauge.form = form;
  return gauge;
}

std::string names(const CompiledLineFormat& form, const std::vector<GaugeValue>& values) {
  std::string out;
  for (const GaugeValue& v : values)
    out += std::string(form.numbers()[v.number].name) + "=" + std::to_string(static_cast<int>(v.value)) + " ";
  return out;
}

std::string read(std::string_view form, std::string_view line) {
  const LineFormat gauge = gauge_of(form);
  const CompiledLineFormat gauge_form(gauge);
  std::vector<GaugeValue> values;
  return gauge_form.read(line, 0, values) ? names(gauge_form, values) : "";
}

}  // namespace

TEST_CASE("a blank of a form matches any run of blanks, or none") {
  CHECK(read("step: {step} memory: {memory}GiB", "step:  7   memory:12GiB") == "step=7 memory=12 ");
  CHECK(read("step: {step} memory: {memory}GiB", "step: 7 mem: 12GiB").empty());
}

TEST_CASE("digits of a line are numbers, unless the form itself has digits") {
  const auto alike = [](std::string_view form) {
    const LineFormat gauge = gauge_of(form);
    return CompiledLineFormat(gauge).digits_are_numbers();
  };
  CHECK(alike("step: {step} memory: {memory}GiB"));
  CHECK(alike("~ {step}<, memory {memory}>"));
  CHECK_FALSE(alike("step: {step} gpu0: {memory}GiB"));
  CHECK_FALSE(alike("step: {step}<, gpu0: {memory}>"));
  LineFormat regex;
  regex.name = "test/regex";
  regex.regex = "step (?<step>\\d{1,9}) mem (?<allocated>[\\d.]{1,12})";
  CHECK(CompiledLineFormat(regex).digits_are_numbers());
  regex.regex = "step (?<step>\\d{1,9}) mem0 (?<allocated>[\\d.]{1,12})";
  CHECK_FALSE(CompiledLineFormat(regex).digits_are_numbers());
}

TEST_CASE("a tilde skips anything up to the following text") {
  CHECK(read("iter: {step} ~mem: {memory}", "eta: 3:10 iter: 20 loss: 2.1 lr: 0.1 mem: 300") == "step=20 memory=300 ");
}

TEST_CASE("a part in angle brackets is optional, and the fullest match at the first position counts") {
  constexpr std::string_view form = "<[Rank {rank}] >(after {step} iterations) a: {allocated}< | t: {used}>";
  CHECK(read(form, "[Rank 3] (after 5 iterations) a: 10 | t: 12") == "rank=3 step=5 allocated=10 used=12 ");
  CHECK(read(form, "[Rank 3] (after 5 iterations) a: 10") == "rank=3 step=5 allocated=10 ");
  CHECK(read(form, "(after 5 iterations) a: 10") == "step=5 allocated=10 ");
}

TEST_CASE("reports glued to one line are read one after the other") {
  const LineFormat gauge = gauge_of("<[Rank {rank}] >a: {allocated}< | t: {used}>");
  const CompiledLineFormat form(gauge);
  constexpr std::string_view line = "[Rank 1] a: 10[Rank 2] a: 20 | t: 21";
  std::vector<GaugeValue> values;
  const auto end = form.read(line, 0, values);
  REQUIRE(end);
  CHECK(names(form, values) == "rank=1 allocated=10 ");
  REQUIRE(form.read(line, *end, values));
  CHECK(names(form, values) == "rank=2 allocated=20 used=21 ");
}

TEST_CASE("numbers have thousands commas, exponents and signs") {
  std::size_t at = 0;
  CHECK(read_number("42,133 MB", at)->value == 42133);
  CHECK(at == 6);
  at = 0;
  CHECK(read_number("1.5e+03,", at)->value == 1500);
  at = 0;
  CHECK(read_number("-12.50.", at)->decimals == 2);
  at = 0;
  CHECK_FALSE(read_number("nan", at));
}

TEST_CASE("a blank after a tilde changes nothing, and a form of optional parts only terminates") {
  CHECK(read("it {step} ~ {memory}", "it 7 uses 12.5 of it") == "step=7 memory=12 ");
  CHECK(read("<a={allocated}>", "a=3") == "allocated=3 ");
  CHECK(read("<a={allocated}>", "b=3").empty());
}

TEST_CASE("a regex's named groups are the numbers; a group that did not match is absent") {
  LineFormat gauge;
  gauge.name = "test/gauge";
  gauge.regex = R"((?:it=(?<step>\d{1,9}) )?(a|b)=(?<allocated>[\d.]{1,12}))";
  const CompiledLineFormat form(gauge);
  std::vector<GaugeValue> values;
  const auto end = form.read("it=4 a=1.25 b=2.5", 0, values);
  REQUIRE(end);
  CHECK(names(form, values) == "step=4 allocated=1 ");
  CHECK(values[1].decimals == 2);
  REQUIRE(form.read("it=4 a=1.25 b=2.5", *end, values));
  CHECK(names(form, values) == "allocated=2 ");
  CHECK_FALSE(form.read("c=3", 0, values));
}

TEST_CASE("named groups get the right numbers after classes, escapes and look-arounds") {
  const auto groups = named_groups(R"((x)\((?<=a)[(](?:b)(?<step>\d)(?<used>[]()]))");
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "step");
  CHECK(groups[0].number == 2);
  CHECK(groups[1].name == "used");
  CHECK(groups[1].number == 3);
}

TEST_CASE("plain numbers are the nearest doubles, as the library reads them") {
  std::mt19937_64 engine(4);
  for (int round = 0; round < 20000; ++round) {
    std::string text = std::to_string(engine() % 1000000000);
    if (round % 3 != 0) text.insert(engine() % text.size(), round % 2 == 0 ? "." : ".0");
    std::size_t at = 0;
    const auto number = read_number(text + " GiB", at);
    if (text[0] == '.') continue;
    REQUIRE(number);
    CHECK(number->value == std::strtod(text.c_str(), nullptr));
    CHECK(number->at == 0);
    CHECK(at == (text.back() == '.' ? text.size() - 1 : text.size()));
  }
  std::size_t at = 0;
  CHECK(read_number("123456789012345678901234567890", at)->value == 123456789012345678901234567890.0);
  at = 0;
  CHECK(read_number("0.1234567890123456789 x", at)->decimals == 19);
  at = 0;
  CHECK(read_number("7, 8", at)->value == 7);
  CHECK(at == 1);
}
