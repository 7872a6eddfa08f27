// The Model Context Protocol (MCP) without its transport: one message in, one answer out. It speaks the revisions
// 2024-11-05, 2025-03-26 and 2025-06-18 of https://modelcontextprotocol.io/specification. A message is untrusted: none
// ends the session, and what it can make the session allocate is bounded by its length.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

/// The values of an argument: a string, strings, or true and false.
enum class ParameterType { text, texts, flag };

/// One argument of a tool, as its JSON Schema declares it.
struct ToolParameter {
  std::string name, description;
  ParameterType type = ParameterType::text;
  std::vector<std::string> choices = {};  ///< the valid texts; empty: any
  bool required = false;
};

/// A tool that a client may call. All of them only read.
struct ToolSpec {
  std::string name, title, description;
  std::vector<ToolParameter> parameters;
};

/// The given arguments by their names, checked against the parameters of the tool. A flag is there without a value.
using ToolArguments = std::map<std::string, std::vector<std::string>, std::less<>>;

struct ToolResult {
  std::vector<std::string> texts;
  bool failed = false;     ///< the tool could not do its work; the texts have the reason
  bool cancelled = false;  ///< the client no longer wants the result: there is no answer
};

/// A text that a client may read by its URI.
struct ResourceSpec {
  std::string uri, name, title;
};

/// What a session offers.
struct McpOffer {
  std::string server, version;
  std::string instructions;  ///< for the model: what the tools are good for
  std::vector<ToolSpec> tools;
  std::vector<ResourceSpec> resources;
  std::vector<ResourceSpec> templates;  ///< their URIs have a variable: "oomdoctor://cause/{id}"
  std::function<ToolResult(const ToolSpec& tool, const ToolArguments& arguments)> call;
  std::function<std::string(const ResourceSpec& resource)> read;
};

class McpSession {
 public:
  explicit McpSession(McpOffer offer) : offer_(std::move(offer)) {}

  /// The answer to a message, one line of JSON without its end; "" where none is due.
  std::string answer(std::string_view message);
  /// The answer to a message that was longer than `max_bytes`.
  static std::string refuse_length(std::size_t max_bytes);

  /// What to do with a message that arrives while a tool works.
  enum class Meanwhile { wait, answer, cancel };
  /// `answer` for a ping, which must not wait; `cancel` if the client cancels the running call.
  Meanwhile decide_meanwhile(std::string_view message) const;

 private:
  McpOffer offer_;
  std::string revision_;  ///< the negotiated one; "" before the first message `initialize`
  std::string running_;   ///< the id of the running call, as JSON; "" if none runs
};

}  // namespace oomdoctor
