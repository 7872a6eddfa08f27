// Bytes around a token, which redaction must remove, as an excerpt that was cut out of a line, and as texts in JSON,
// which must stay JSON.
#include "redact/redact.h"

#include <nlohmann/json.hpp>

#include "../target.h"

namespace oomdoctor::testing {
namespace {

/// Assembled at run time: this folder contains no complete token.
constexpr std::string_view random_part = "R4nd0mL3tt3rsAndD1g1tsForAT3stOnly";
std::string token() { return "gh" + std::string("p_").append(random_part) + "42"; }

/// The search may put the token into an input as well.
int times_random_part(std::string_view text) {
  int times = 0;
  for (std::size_t at = text.find(random_part); at != text.npos; at = text.find(random_part, at + 1)) ++times;
  return times;
}

void run(std::string_view bytes) {
  const std::string front(bytes.substr(0, bytes.size() / 2)), back(bytes.substr(bytes.size() / 2));
  const std::string text = without_secrets(front + " " + token() + " " + back);
  demand(times_random_part(text) <= times_random_part(front) + times_random_part(back));

  std::string excerpt = back;
  const auto end = static_cast<int>(excerpt.size());
  int column = std::min(end, 1 + static_cast<int>(bytes.size() % 50)), end_column = end;
  remove_secrets(front, excerpt, column, end_column);
  demand(column <= end_column && end_column <= static_cast<int>(excerpt.size()) + 1);

  using Json = nlohmann::json;
  const Json inner = {{"first", front}, {"list", {back, 7}}};
  const auto dump = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  for (const std::string& json : {dump(inner), dump({{"inner", dump(inner)}, {"last", front}})})
    demand(Json::parse(without_secrets(json), nullptr, false).size() == 2);
}

constexpr std::size_t longest = 512;

/// Lines with names of secrets, and the notations in which their values appear.
std::vector<std::string> seeds() {
  std::vector<std::string> all = line_seeds({"samples/stories", "samples/settings"}, longest);
  for (const char* form :
       {"--password ", "password=", "\"token\": \"", "Authorization: Bearer ", "https://user:word@host/", "-p'a;b' ",
        "<password>x</password>", "machine a login b password c", "Cookie: a=b; c=d",
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", "//host/:_authToken=", "AKIA",
        "os.environ[\"X_KEY\"] = \"", "authorization=Digest a=\"b\", ", "{\\\"api_key\\\": \\\"", "co.Client('",
        "password='a\\\\", "echo secret-word | docker login --password-stdin ", "X_KEY=\\n"})
    all.push_back(std::string("run ") + form + "value and more");
  return all;
}

const Added target({.name = "redact", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
