// Bytes as a client of the Model Context Protocol: the pieces in which they come do not matter, no line is kept beyond
// the limit, and each answer is one line of JSON-RPC.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "../target.h"
#include "mcp/message_reader.h"
#include "mcp/session.h"

namespace oomdoctor::testing {
namespace {

constexpr std::size_t longest = 4096, max_message = 1024;

std::vector<McpMessage> read_messages(std::string_view bytes, std::size_t piece) {
  MessageReader reader(max_message);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) reader.feed(bytes.substr(0, piece));
  reader.end();
  std::vector<McpMessage> messages;
  while (auto message = reader.next()) messages.push_back(*message);
  return messages;
}

/// A tool that needs no process.
McpOffer make_offer() {
  McpOffer offer{"fuzz", "1", "", {}, {}, {}, {}, {}};
  offer.tools = {{"echo",
                  "Echo",
                  "",
                  {{"text", "", ParameterType::text, {}, true},
                   {"texts", "", ParameterType::texts},
                   {"loud", "", ParameterType::flag}}}};
  offer.resources = {{"a://b", "b", "B"}};
  offer.call = [](const ToolSpec&, const ToolArguments& given) {
    demand(given.contains("text") && given.at("text").size() == 1);
    return ToolResult{given.at("text"), given.contains("loud")};
  };
  offer.read = [](const ResourceSpec& resource) { return resource.title; };
  return offer;
}

void check_answer(const nlohmann::json& answer) {
  demand(answer.is_object() && answer.at("jsonrpc") == "2.0" && answer.contains("id"));
  demand(answer.contains("result") != answer.contains("error"));
}

void run(std::string_view bytes) {
  const std::vector<McpMessage> messages = read_messages(bytes, bytes.size() + 1);
  const auto others = read_messages(bytes, 1 + std::hash<std::string_view>{}(bytes) % 40);
  demand(messages.size() == others.size());
  McpSession session(make_offer());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    demand(messages[i].text == others[i].text && messages[i].too_long == others[i].too_long);
    demand(messages[i].text.size() <= max_message);
    session.decide_meanwhile(messages[i].text);
    const std::string answer = session.answer(messages[i].text);
    if (answer.empty()) continue;
    demand(answer.find('\n') == answer.npos);
    const nlohmann::json parsed = nlohmann::json::parse(answer);
    if (!parsed.is_array()) check_answer(parsed);
    if (parsed.is_array()) std::for_each(parsed.begin(), parsed.end(), check_answer);
  }
}

std::vector<std::string> seeds() {
  const std::string begin = R"({"jsonrpc":"2.0","id":1,"method":)", batches = R"({"protocolVersion":"2025-03-26"}})";
  return {
      begin + R"("initialize","params":)" + batches + "\n[" + begin + R"("ping"},{"jsonrpc":"2.0","method":"a"},7])",
      begin + R"("tools/call","params":{"name":"echo","arguments":{"text":"\u0041","texts":["b"],"loud":true}}})" +
          "\n",
      begin + R"("tools/list","params":{"cursor":null}})" + "\r\n\n" + begin + R"("resources/list"})",
      begin + R"("resources/read","params":{"uri":"a://b"}})" + "\n" + begin + R"("resources/templates/list"})",
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})",
      R"({"jsonrpc":"2.0","id":"x","result":{}})" + std::string("\n[]\n") + std::string(2 * max_message, '[')};
}

const Added target({.name = "mcp", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
