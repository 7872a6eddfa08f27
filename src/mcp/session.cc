#include "mcp/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <nlohmann/json.hpp>

#include "base/edit_distance.h"

namespace oomdoctor {
namespace {

using RpcJson = nlohmann::ordered_json;

/// The revisions, the newest last. A client that asks for another one is offered the newest.
constexpr std::array<std::string_view, 3> revisions = {"2024-11-05", "2025-03-26", "2025-06-18"};
/// The only revision with batches: it introduced them, and the next one removed them.
constexpr std::string_view revision_with_batches = "2025-03-26";

// No client sends more: the longest requests contain a list of paths. The limits bound what a message takes once it is
// parsed, because a value may have two bytes of text only.
constexpr int max_depth = 32;
constexpr std::size_t max_values = 10'000;  // and keys, and ends of objects
/// A ping or a cancellation is shorter. Longer messages that arrive during a call wait unread.
constexpr std::size_t max_urgent_bytes = 4096;

// The codes of JSON-RPC 2.0, and the one of MCP for an unknown resource.
enum ErrorCode {
  parse_error = -32700,
  invalid_request = -32600,
  unknown_method = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  unknown_resource = -32002
};

/// An error that answers one request.
struct RpcError {
  ErrorCode code;
  std::string message;
};

/// Thrown out of the parser by a message beyond the limits.
struct OversizedMessage {};

std::string to_line(const RpcJson& json) { return json.dump(-1, ' ', false, RpcJson::error_handler_t::replace); }

RpcJson make_error(const RpcJson& id, ErrorCode code, std::string_view message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

/// Throws OversizedMessage. The result is discarded if the text is not JSON.
RpcJson parse(std::string_view text) {
  std::size_t values = 0;
  const auto count = [&](int depth, RpcJson::parse_event_t, const RpcJson&) {
    if (depth > max_depth || ++values > max_values) throw OversizedMessage{};
    return true;
  };
  return RpcJson::parse(text, count, false);
}

bool is_id(const RpcJson& id) { return id.is_string() || id.is_number_integer(); }

/// The member of an object; null if it is absent.
const RpcJson& member(const RpcJson& object, const char* name) {
  static const RpcJson none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

/// The required text of a request. Throws RpcError.
std::string required_text(const RpcJson& params, const char* name) {
  const RpcJson& value = member(params, name);
  if (!value.is_string()) throw RpcError{invalid_params, fmt::format("params.{} must be a string", name)};
  return value.get<std::string>();
}

// --- the answers ---

RpcJson schema_of(const ToolParameter& parameter) {
  RpcJson schema = {{"description", parameter.description}};
  if (parameter.type == ParameterType::texts) {
    schema["type"] = "array";
    schema["items"] = {{"type", "string"}};
  } else {
    schema["type"] = parameter.type == ParameterType::flag ? "boolean" : "string";
  }
  if (!parameter.choices.empty()) schema["enum"] = parameter.choices;
  return schema;
}

RpcJson describe(const ToolSpec& tool) {
  RpcJson properties = RpcJson::object(), required = RpcJson::array();
  for (const ToolParameter& parameter : tool.parameters) {
    properties[parameter.name] = schema_of(parameter);
    if (parameter.required) required.push_back(parameter.name);
  }
  RpcJson schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", std::move(schema)},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", true},
            {"destructiveHint", false},
            {"idempotentHint", true},
            {"openWorldHint", false}}}};
}

RpcJson describe(const ResourceSpec& resource, const char* uri) {
  return {{uri, resource.uri}, {"name", resource.name}, {"title", resource.title}, {"mimeType", "text/plain"}};
}

RpcJson list(const char* name, const auto& specs, auto describe_one) {
  RpcJson all = RpcJson::array();
  for (const auto& spec : specs) all.push_back(describe_one(spec));
  return {{name, std::move(all)}};
}

/// The lists have one page. Throws RpcError for a cursor, because no answer contains one.
void check_cursor(const RpcJson& params) {
  if (!member(params, "cursor").is_null()) throw RpcError{invalid_params, "unknown cursor"};
}

// --- the arguments of a call ---

/// Throws RpcError: the value of the argument is of another type, or no choice.
[[noreturn]] void refuse(const ToolParameter& parameter, std::string_view expected) {
  throw RpcError{invalid_params, fmt::format("argument '{}' must be {}", parameter.name, expected)};
}

/// Clients write numbers as such, also for a size that may have a unit.
std::string read_text(const ToolParameter& parameter, const RpcJson& value) {
  if (value.is_number()) return value.dump();
  if (!value.is_string()) refuse(parameter, "a string");
  std::string text = value.get<std::string>();
  const auto& choices = parameter.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end())
    refuse(parameter, fmt::format("one of: {}", fmt::join(choices, ", ")));
  return text;
}

std::vector<std::string> read_texts(const ToolParameter& parameter, const RpcJson& value) {
  if (value.is_string()) return {read_text(parameter, value)};
  if (!value.is_array()) refuse(parameter, "an array of strings");
  std::vector<std::string> texts;
  for (const RpcJson& item : value) texts.push_back(read_text(parameter, item));
  return texts;
}

const ToolParameter& find_parameter(const ToolSpec& tool, const std::string& name) {
  std::vector<std::string> names;
  for (const ToolParameter& parameter : tool.parameters) {
    if (parameter.name == name) return parameter;
    names.push_back(parameter.name);
  }
  const std::string near = did_you_mean(name, names);
  throw RpcError{invalid_params, fmt::format("the tool {} has no argument '{}'{}", tool.name, name,
                                             near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
}

/// Throws RpcError for arguments that the tool's schema does not allow.
ToolArguments read_arguments(const ToolSpec& tool, const RpcJson& given) {
  if (!given.is_null() && !given.is_object()) throw RpcError{invalid_params, "params.arguments must be an object"};
  ToolArguments arguments;
  for (const auto& [name, value] : given.items()) {
    const ToolParameter& parameter = find_parameter(tool, name);
    if (value.is_null()) continue;  // models write it for an argument that they leave out
    switch (parameter.type) {
      case ParameterType::text:
        arguments[name] = {read_text(parameter, value)};
        break;
      case ParameterType::texts:
        arguments[name] = read_texts(parameter, value);
        break;
      case ParameterType::flag:
        if (!value.is_boolean()) refuse(parameter, "true or false");
        if (value.get<bool>()) arguments[name] = {};
        break;
    }
  }
  for (const ToolParameter& parameter : tool.parameters)
    if (parameter.required && !arguments.contains(parameter.name))
      throw RpcError{invalid_params, fmt::format("the tool {} needs the argument '{}'", tool.name, parameter.name)};
  return arguments;
}

// --- the methods ---

/// Makes a call the running one of its session, until it ends in any way.
class CallInProgress {
 public:
  CallInProgress(std::string& running, std::string id) : running_(running) { running_ = std::move(id); }
  CallInProgress(const CallInProgress&) = delete;
  CallInProgress& operator=(const CallInProgress&) = delete;
  ~CallInProgress() { running_.clear(); }

 private:
  std::string& running_;
};

/// Answers the requests of one message.
class Exchange {
 public:
  Exchange(const McpOffer& offer, std::string& revision, std::string& running)
      : offer_(offer), revision_(revision), running_(running) {}

  /// The answer to one request; null for a notification, a response and a cancelled call.
  RpcJson answer(const RpcJson& message) {
    if (!message.is_object()) return make_error(nullptr, invalid_request, "a message must be an object");
    const RpcJson &given = member(message, "id"), &method = member(message, "method");
    const RpcJson id = is_id(given) ? given : RpcJson();
    const bool versioned = member(message, "jsonrpc") == "2.0";
    if (versioned && method.is_null() && (message.contains("result") || message.contains("error"))) return nullptr;
    if (!versioned) return make_error(id, invalid_request, "jsonrpc must be \"2.0\"");
    if (!method.is_string()) return make_error(id, invalid_request, "method must be a string");
    if (!message.contains("id")) return nullptr;
    if (id.is_null()) return make_error(id, invalid_request, "id must be a string or an integer");
    try {
      RpcJson result = perform(method.get<std::string>(), member(message, "params"), id);
      if (result.is_null()) return nullptr;
      return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
    } catch (const RpcError& error) {
      return make_error(id, error.code, error.message);
    } catch (const std::exception& error) {
      return make_error(id, internal_error, error.what());
    }
  }

 private:
  /// Throws RpcError. Null for a cancelled call.
  RpcJson perform(const std::string& method, const RpcJson& params, const RpcJson& id) {
    if (!params.is_null() && !params.is_object()) throw RpcError{invalid_params, "params must be an object"};
    if (method == "initialize") return initialize(params);
    if (method == "ping") return RpcJson::object();
    if (method == "tools/call") return call(params, id);
    if (method == "resources/read") return read(params);
    const auto lists = {std::string_view("tools/list"), std::string_view("resources/list"),
                        std::string_view("resources/templates/list")};
    if (std::find(lists.begin(), lists.end(), method) == lists.end())
      throw RpcError{unknown_method, "unknown method: " + method};
    check_cursor(params);
    if (method == "tools/list") return list("tools", offer_.tools, [](const ToolSpec& tool) { return describe(tool); });
    if (method == "resources/list")
      return list("resources", offer_.resources, [](const auto& resource) { return describe(resource, "uri"); });
    return list("resourceTemplates", offer_.templates,
                [](const auto& resource) { return describe(resource, "uriTemplate"); });
  }

  RpcJson initialize(const RpcJson& params) {
    const std::string wanted = required_text(params, "protocolVersion");
    const bool known = std::find(revisions.begin(), revisions.end(), wanted) != revisions.end();
    revision_ = known ? wanted : revisions.back();
    return {{"protocolVersion", revision_},
            {"capabilities", {{"tools", RpcJson::object()}, {"resources", RpcJson::object()}}},
            {"serverInfo", {{"name", offer_.server}, {"version", offer_.version}}},
            {"instructions", offer_.instructions}};
  }

  RpcJson call(const RpcJson& params, const RpcJson& id) {
    const std::string name = required_text(params, "name");
    const auto tool =
        std::find_if(offer_.tools.begin(), offer_.tools.end(), [&](const ToolSpec& of) { return of.name == name; });
    if (tool == offer_.tools.end()) throw RpcError{invalid_params, "unknown tool: " + name};
    const ToolArguments arguments = read_arguments(*tool, member(params, "arguments"));
    const CallInProgress progress(running_, to_line(id));
    const ToolResult result = offer_.call(*tool, arguments);
    if (result.cancelled) return nullptr;
    RpcJson content = RpcJson::array();
    for (const std::string& text : result.texts) content.push_back({{"type", "text"}, {"text", text}});
    return {{"content", std::move(content)}, {"isError", result.failed}};
  }

  RpcJson read(const RpcJson& params) {
    const std::string uri = required_text(params, "uri");
    for (const ResourceSpec& resource : offer_.resources)
      if (resource.uri == uri)
        return {{"contents",
                 RpcJson::array({{{"uri", uri}, {"mimeType", "text/plain"}, {"text", offer_.read(resource)}}})}};
    throw RpcError{unknown_resource, "unknown resource: " + uri};
  }

  const McpOffer& offer_;
  std::string& revision_;
  std::string& running_;
};

}  // namespace

std::string McpSession::answer(std::string_view message) {
  RpcJson parsed;
  try {
    parsed = parse(message);
  } catch (const OversizedMessage&) {
    return to_line(make_error(nullptr, invalid_request,
                              fmt::format("a message has at most {} values, {} deep", max_values, max_depth)));
  }
  if (parsed.is_discarded()) return to_line(make_error(nullptr, parse_error, "the message is not JSON"));
  Exchange exchange(offer_, revision_, running_);
  if (!parsed.is_array()) {
    const RpcJson answer = exchange.answer(parsed);
    return answer.is_null() ? "" : to_line(answer);
  }
  if (revision_ != revision_with_batches || parsed.empty())
    return to_line(make_error(nullptr, invalid_request,
                              parsed.empty() ? "the batch is empty" : "this revision of MCP has no batches"));
  RpcJson answers = RpcJson::array();
  for (const RpcJson& each : parsed)
    if (RpcJson answer = exchange.answer(each); !answer.is_null()) answers.push_back(std::move(answer));
  return answers.empty() ? "" : to_line(answers);
}

std::string McpSession::refuse_length(std::size_t max_bytes) {
  return to_line(make_error(nullptr, invalid_request, fmt::format("the message is longer than {} bytes", max_bytes)));
}

McpSession::Meanwhile McpSession::decide_meanwhile(std::string_view message) const {
  if (message.size() > max_urgent_bytes) return Meanwhile::wait;
  const RpcJson parsed = RpcJson::parse(message, nullptr, false);
  if (!parsed.is_object()) return Meanwhile::wait;
  const RpcJson &method = member(parsed, "method"), &params = member(parsed, "params");
  if (method == "ping") return Meanwhile::answer;
  const bool cancels = method == "notifications/cancelled" && params.is_object() && !running_.empty() &&
                       to_line(member(params, "requestId")) == running_;
  return cancels ? Meanwhile::cancel : Meanwhile::wait;
}

}  // namespace oomdoctor
