// The protocol of coding agents without its transport; tests/mcp has the program with clients.
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.h"
#include "mcp/message_reader.h"
#include "mcp/session.h"

namespace oomdoctor {
namespace {

std::vector<McpMessage> read_all(MessageReader& reader) {
  std::vector<McpMessage> all;
  while (auto message = reader.next()) all.push_back(*message);
  return all;
}

TEST_CASE("a message is a line, in any pieces", "[mcp]") {
  MessageReader reader(8);
  reader.feed("ab");
  CHECK_FALSE(reader.next());
  reader.feed("c\r\n\n  \nd");
  const auto first = read_all(reader);
  REQUIRE(first.size() == 1);
  CHECK(first[0].text == "abc\r");
  reader.end();
  const auto last = read_all(reader);
  REQUIRE(last.size() == 1);
  CHECK(last[0].text == "d");
}

TEST_CASE("a line beyond the limit is dropped, and the next one is read", "[mcp]") {
  MessageReader reader(8);
  reader.feed("12345678\n123456789\n");
  for (int i = 0; i < 1000; ++i) reader.feed("1234");
  reader.feed("\nok\n");
  const auto all = read_all(reader);
  REQUIRE(all.size() == 4);
  CHECK(all[0].text == "12345678");
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    CHECK(all[i].too_long);
    CHECK(all[i].text.empty());
  }
  CHECK(all[3].text == "ok");
}

TEST_CASE("a running call is cancelled by its own id only", "[mcp]") {
  const auto cancel = [](const std::string& id) {
    return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id + "}}";
  };
  McpOffer offer{"test", "1", "", {{"wait", "Wait", "", {}}}, {}, {}, {}, {}};
  const McpSession* running = nullptr;
  std::vector<McpSession::Meanwhile> decisions;
  offer.call = [&](const ToolSpec&, const ToolArguments&) {
    for (const std::string& message :
         {cancel("8"), cancel("\"7\""), cancel("7"), std::string(R"({"jsonrpc":"2.0","id":9,"method":"ping"})"),
          std::string(R"({"jsonrpc":"2.0","id":9,"method":"tools/list"})"), std::string("{")})
      decisions.push_back(running->decide_meanwhile(message));
    return ToolResult{{}, false, true};
  };
  McpSession session(offer);
  running = &session;
  CHECK(session.answer(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}})").empty());
  using Meanwhile = McpSession::Meanwhile;
  CHECK(decisions == std::vector{Meanwhile::wait, Meanwhile::wait, Meanwhile::cancel, Meanwhile::answer,
                                 Meanwhile::wait, Meanwhile::wait});
  CHECK(session.decide_meanwhile(cancel("7")) == Meanwhile::wait);
}

TEST_CASE("an exception of a tool is an answer", "[mcp]") {
  McpOffer offer{"test", "1", "", {{"fail", "Fail", "", {}}}, {}, {}, {}, {}};
  offer.call = [](const ToolSpec&, const ToolArguments&) -> ToolResult { throw std::runtime_error("no process"); };
  McpSession session(offer);
  CHECK(session.answer(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"fail"}})")
            .find(R"("code":-32603,"message":"no process")") != std::string::npos);
  // The call no longer runs, so nothing cancels it.
  CHECK(session.decide_meanwhile(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})") ==
        McpSession::Meanwhile::wait);
}

}  // namespace
}  // namespace oomdoctor
