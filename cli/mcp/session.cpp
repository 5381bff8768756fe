#include "cli/mcp/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "cli/mcp/call_runner.hpp"
#include "cli/mcp/resource.hpp"
#include "cli/mcp/tool.hpp"
#include "text/names.hpp"

namespace llmcalc::mcp {
namespace {

using json::Value;

/// Protocol revisions, newest first. The differences do not concern this server, but for structured content.
constexpr std::array<std::string_view, 4> revisions{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::string_view first_with_structured_content = "2025-06-18";

constexpr std::string_view instructions =
    "llmcalc predicts parameters, memory, FLOPs, time and cost of language models on given hardware, without running "
    "them. Models and hardware are named by presets (tool 'list'); options are under \"inputs\". Quantities are "
    "numbers "
    "in base units (bytes, seconds, FLOPs) or text with units. 'explain' has the formula and source of every quantity.";

std::string text_at(const Value& params, const char* key) {
  const auto found = params.find(key);
  if (found == params.end() || !found->is_string())
    throw ProtocolError(Code::invalid_params, fmt::format("{}: expected a string", in_quotes(key)));
  return found->get<std::string>();
}

std::string optional_text_at(const Value& params, const char* key) {
  return params.contains(key) ? text_at(params, key) : "";
}

Value object_at(const Value& params, const char* key) {
  const auto found = params.find(key);
  if (found == params.end()) return Value::object();
  if (!found->is_object())
    throw ProtocolError(Code::invalid_params, fmt::format("{}: expected an object", in_quotes(key)));
  return *found;
}

/// Throws ProtocolError for a cursor, because a list of one page returns none.
void refuse_cursor(const Value& params) {
  if (!optional_text_at(params, "cursor").empty())
    throw ProtocolError(Code::invalid_params, "\"cursor\": this list has one page; omit it");
}

const Tool& tool_called(const std::string& name) {
  if (const Tool* tool = find_tool(name)) return *tool;
  std::vector<std::string> known;
  for (const Tool& t : tools()) known.push_back(t.name);
  throw ProtocolError(Code::invalid_params, fmt::format("unknown tool {}{}", in_quotes(name), suggestion(name, known)));
}

/// Sends the progress of a call, if the client asked for it.
CallRunner::Progress progress_to(const Value& params, std::function<void(const std::string&)> send) {
  const Value meta = object_at(params, "_meta");
  const auto token = meta.find("progressToken");
  if (token == meta.end()) return {};
  if (!token->is_string() && !token->is_number_integer())
    throw ProtocolError(Code::invalid_params, "\"progressToken\": expected a string or an integer");
  return [token = *token, send = std::move(send)](double seconds, const std::string& line) {
    send(notification_line("notifications/progress",
                           {{"progressToken", token}, {"progress", seconds}, {"message", printable(line)}}));
  };
}

/// The line that answers a call.
std::string reply(const Value& id, const Value& request, Runner& runner, bool repeats_json) {
  try {
    return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id.dump(),
                       result_of(request, runner, repeats_json));
  } catch (const std::bad_alloc&) {
    return error_line({Code::internal_error, "out of memory; use a smaller model, batch size or search", id});
  } catch (const std::exception& e) {  // a bug: every expected error is a result
    return error_line({Code::internal_error, fmt::format("internal error: {}; please report the call", e.what()), id});
  }
}

}  // namespace

const Session::Row* Session::row_of(std::string_view method) {
  static constexpr std::array all{Row{"initialize", &Session::initialize},
                                  Row{"ping", &Session::ping},
                                  Row{"tools/list", &Session::list_tools},
                                  Row{"resources/list", &Session::list_resources},
                                  Row{"resources/templates/list", &Session::list_templates},
                                  Row{"resources/read", &Session::read_resource},
                                  Row{"completion/complete", &Session::complete}};
  const auto* const found = std::find_if(all.begin(), all.end(), [&](const Row& r) { return r.name == method; });
  return found == all.end() ? nullptr : found;
}

void Session::send(const std::string& line) {
  const std::lock_guard lock(sending_);
  send_(line);
}

void Session::refuse(const ProtocolError& error) { send(error_line(error)); }

void Session::receive(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == line.npos) return;
  try {
    if (const auto message = read_message(line)) message->id ? handle(*message) : notified(*message);
  } catch (const ProtocolError& e) {
    refuse(e);
  }
}

void Session::notified(const Message& m) {
  if (m.method != "notifications/cancelled") return;
  if (const auto id = m.params.find("requestId"); id != m.params.end()) calls_.cancel(id->dump());
}

void Session::handle(const Message& m) {
  try {
    const Row* row = row_of(m.method);
    const bool calls = m.method == "tools/call";
    if (row == nullptr && !calls)
      throw ProtocolError(Code::unknown_method, fmt::format("unknown method {}", in_quotes(m.method)));
    if (revision_.empty() && m.method != "initialize" && m.method != "ping")
      throw ProtocolError(Code::invalid_request, "the session has not started; send \"initialize\" first");
    if (calls) return call_tool(m);
    send(result_line(*m.id, (this->*row->answer)(m.params)));
  } catch (const ProtocolError& e) {
    refuse({e.code, e.what(), *m.id, e.data});
  }
}

void Session::call_tool(const Message& m) {
  const Value request = request_of(tool_called(text_at(m.params, "name")), object_at(m.params, "arguments"));
  const bool repeats_json = revision_ < first_with_structured_content;
  const auto progress = progress_to(m.params, [this](const std::string& line) { send(line); });
  const auto work = [=, this, id = *m.id](const std::atomic<bool>& cancelled) {
    CallRunner runner(cancelled, progress);
    const std::string line = reply(id, request, runner, repeats_json);
    if (!cancelled) send(line);
  };
  if (!calls_.start(m.id->dump(), work))
    throw ProtocolError(Code::invalid_request, "a call with this \"id\" is still running; use another");
}

Value Session::initialize(const Value& params) {
  if (!revision_.empty()) throw ProtocolError(Code::invalid_request, "the session has already started");
  const std::string wanted = text_at(params, "protocolVersion");
  const bool known = std::find(revisions.begin(), revisions.end(), wanted) != revisions.end();
  revision_ = known ? wanted : revisions.front();
  return {
      {"protocolVersion", revision_},
      {"capabilities", {{"tools", Value::object()}, {"resources", Value::object()}, {"completions", Value::object()}}},
      {"serverInfo", {{"name", "llmcalc"}, {"title", "llmcalc"}, {"version", LLMCALC_VERSION}}},
      {"instructions", instructions}};
}

Value Session::ping(const Value&) { return Value::object(); }

Value Session::list_tools(const Value& params) {
  refuse_cursor(params);
  Value all = Value::array();
  for (const Tool& t : tools()) all.push_back(tool_json(t));
  return {{"tools", all}};
}

Value Session::list_resources(const Value& params) { return resources_page(optional_text_at(params, "cursor")); }

Value Session::list_templates(const Value& params) {
  refuse_cursor(params);
  return resource_templates();
}

Value Session::read_resource(const Value& params) { return resource_contents(text_at(params, "uri")); }

Value Session::complete(const Value& params) {
  constexpr std::size_t most = 100;
  const Value ref = object_at(params, "ref"), argument = object_at(params, "argument");
  if (text_at(ref, "type") != "ref/resource")
    throw ProtocolError(Code::invalid_params, "\"ref\": expected a resource template; this server has no prompts");
  std::vector<std::string> names = resource_names(text_at(ref, "uri"), text_at(argument, "value"));
  const std::size_t total = names.size();
  names.resize(std::min(most, total));
  return {{"completion", {{"values", names}, {"total", total}, {"hasMore", total > most}}}};
}

}  // namespace llmcalc::mcp
