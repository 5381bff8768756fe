#include "cli/mcp/message.hpp"

#include <fmt/format.h>

#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc::mcp {
namespace {

using json::Value;

/// Invalid UTF-8, which names in error messages may contain, is replaced.
std::string line_of(const Value& v) { return v.dump(-1, ' ', false, Value::error_handler_t::replace); }

Value parsed(std::string_view line) {
  try {
    return json::parse(line, "the message");
  } catch (const InputError& e) {
    throw ProtocolError(Code::parse_error, e.what());
  }
}

/// The id of a request; absent for a notification.
std::optional<Value> id_of(const Value& v) {
  const auto id = v.find("id");
  if (id == v.end()) return std::nullopt;
  if (id->is_string() || id->is_number_integer()) return *id;
  throw ProtocolError(Code::invalid_request, "\"id\": expected a string or an integer");
}

std::string method_of(const Value& v, const Value& id) {
  const auto version = v.find("jsonrpc");
  if (version == v.end() || *version != "2.0")
    throw ProtocolError(Code::invalid_request, "\"jsonrpc\": expected \"2.0\"", id);
  const auto method = v.find("method");
  if (method == v.end() || !method->is_string())
    throw ProtocolError(Code::invalid_request, "\"method\": expected the name of a method", id);
  return method->get<std::string>();
}

bool is_response(const Value& v) { return !v.contains("method") && (v.contains("result") || v.contains("error")); }

}  // namespace

std::optional<Message> read_message(std::string_view line) {
  const Value v = parsed(line);
  if (v.is_array()) throw ProtocolError(Code::invalid_request, "batches are not supported; send one message per line");
  if (!v.is_object()) throw ProtocolError(Code::invalid_request, "a message must be an object");
  if (is_response(v)) return std::nullopt;
  Message m{.id = id_of(v), .method = {}};
  m.method = method_of(v, m.id.value_or(nullptr));
  if (const auto params = v.find("params"); params != v.end()) m.params = *params;
  if (!m.params.is_object())
    throw ProtocolError(Code::invalid_params, "\"params\": expected an object", m.id.value_or(nullptr));
  return m;
}

std::string result_line(const Value& id, const Value& result) {
  return line_of({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}

std::string error_line(const ProtocolError& e) {
  Value error{{"code", static_cast<int>(e.code)}, {"message", printable(e.what())}};
  if (!e.data.is_null()) error["data"] = e.data;
  return line_of({{"jsonrpc", "2.0"}, {"id", e.id}, {"error", error}});
}

std::string notification_line(std::string_view method, const Value& params) {
  return line_of({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

std::string on_one_line(std::string_view printed) {
  std::string line;
  bool quoted = false, escaped = false;
  for (const char c : printed) {
    if (!quoted && (c == ' ' || c == '\n')) continue;
    if (c == '"' && !escaped) quoted = !quoted;
    escaped = quoted && c == '\\' && !escaped;
    line += c;
  }
  return line;
}

}  // namespace llmcalc::mcp
