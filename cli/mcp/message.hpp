#pragma once
/// Messages of JSON-RPC 2.0 as MCP uses them: one JSON object per line.

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "text/json.hpp"

namespace llmcalc::mcp {

/// Error codes of JSON-RPC 2.0 and MCP.
enum class Code : int {
  parse_error = -32700,
  invalid_request = -32600,
  unknown_method = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  no_resource = -32002
};

/// A request, or a notification if it has no id.
struct Message {
  std::optional<json::Value> id;  ///< a string or an integer
  std::string method;
  json::Value params = json::Value::object();
};

/// A message that is answered with an error. `id` is null if the message's id is unknown.
struct ProtocolError : std::runtime_error {
  ProtocolError(Code c, const std::string& sentence, json::Value of = {}, json::Value more = {})
      : std::runtime_error(sentence), code(c), id(std::move(of)), data(std::move(more)) {}
  Code code;
  json::Value id, data;
};

/// The message on a line; absent for a response, which this server does not await. Throws ProtocolError.
std::optional<Message> read_message(std::string_view line);

/// A message's text, without the line end.
std::string result_line(const json::Value& id, const json::Value& result);
std::string error_line(const ProtocolError& error);
std::string notification_line(std::string_view method, const json::Value& params);

/// JSON text without spaces and line ends outside strings.
std::string on_one_line(std::string_view printed);

}  // namespace llmcalc::mcp
