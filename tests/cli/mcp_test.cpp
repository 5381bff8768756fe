// The MCP server: messages, tools, resources, cancellation, and the ends of a session.

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>

#include "cli/mcp/line_reader.hpp"
#include "cli/mcp/message.hpp"
#include "cli/mcp/tool.hpp"
#include "report/ask.hpp"
#include "report/render/render.hpp"
#include "tests/catch.hpp"
#include "tests/cli/mcp_client.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

json::Value parsed_line(const std::string& line) { return json::Value::parse(line); }

/// The error that answers a line.
json::Value error_for(const std::string& line) {
  test::McpClient client;
  const auto lines = client.lines_after(line);
  REQUIRE(lines.size() == 1);
  return parsed_line(lines[0]);
}

std::string call_line(const std::string& id, const std::string& tool, const json::Value& arguments) {
  return json::Value{{"jsonrpc", "2.0"},
                     {"id", id},
                     {"method", "tools/call"},
                     {"params", {{"name", tool}, {"arguments", arguments}, {"_meta", {{"progressToken", id}}}}}}
      .dump();
}

/// A search that takes minutes.
const json::Value long_search{
    {"model", "gpt-3-175b"}, {"hardware", "a100"}, {"inputs", {{"gpus", 4096}, {"global_batch", 4096}}}};

}  // namespace

TEST_CASE("an answer through MCP has the bytes of --json", "[mcp]") {
  const std::pair<const char*, const char*> same[] = {
      {R"({"command": "params", "model": "gpt2"})", "params gpt2"},
      {R"({"command": "train", "model": "llama-3.1-405b", "hardware": "h100", "inputs": {"gpus": 512, "tp": 8,
          "tokens": "15T"}})",
       "train llama-3.1-405b --hardware h100 --gpus 512 --tp 8 --tokens 15T"},
      {R"({"command": "plan train", "model": "gpt2", "hardware": "h100", "inputs": {"gpus": 2}})",
       "plan train gpt2 --hardware h100 --gpus 2"},
      {R"({"command": "show", "inputs": {"name": "h100"}})", "show h100"},
      {R"({"command": "scaling", "inputs": {"compute": "1e24"}})", "scaling --compute 1e24"}};
  for (const auto& [request, typed] : same) {
    CAPTURE(typed);
    const std::string printed = test::llmcalc(std::string(typed) + " --json").out;
    CHECK(test::mcp_answer(json::Value::parse(request)) == mcp::on_one_line(printed));
  }
}

TEST_CASE("a refused request is a tool error with the sentence and the key", "[mcp]") {
  test::McpClient client;
  const json::Value result = client.ask(
      "tools/call", {{"name", "train"},
                     {"arguments", {{"model", "gpt2"}, {"hardware", "h100"}, {"inputs", {{"tp", "x"}}}}}})["result"];
  const char* const sentence = "--tp: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"x\"";
  CHECK(result["isError"] == true);
  CHECK(result["content"][0]["text"] == sentence);
  CHECK(result["structuredContent"]["error"] == json::Value{{"message", sentence}, {"exit_code", 2}, {"key", "tp"}});
}

TEST_CASE("messages that are no requests get the standard's errors", "[mcp]") {
  const std::tuple<const char*, int, json::Value> all[] = {
      {"{\"jsonrpc\": \"2.0\", \"id\": 1", -32700, nullptr},
      {"nonsense", -32700, nullptr},
      {"[]", -32600, nullptr},
      {R"([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])", -32600, nullptr},
      {"5", -32600, nullptr},
      {R"({"id": 1, "method": "ping"})", -32600, 1},
      {R"({"jsonrpc": "2.0", "id": null, "method": "ping"})", -32600, nullptr},
      {R"({"jsonrpc": "2.0", "id": 1.5, "method": "ping"})", -32600, nullptr},
      {R"({"jsonrpc": "2.0", "id": 1})", -32600, 1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": 5})", -32600, 1},
      {R"({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": []})", -32602, "a"},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "shell/run", "params": {}})", -32601, 1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}})", -32602, 1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "parms"}})", -32602, 1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "params", "arguments": []}})", -32602,
       1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "params", "arguments": {"command":
          "show"}}})",
       -32602, 1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}})", -32602, 1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {"cursor": "7"}})", -32602, 1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "llmcalc://models/x"}})", -32002,
       1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}})", -32002,
       1},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})", -32600,
       1}};
  for (const auto& [line, code, id] : all) {
    CAPTURE(line);
    const json::Value answer = error_for(line);
    CHECK(answer["error"]["code"] == code);
    CHECK(answer["id"] == id);
  }
}

TEST_CASE("notifications, responses and blank lines get no answer, and a call without id is not executed", "[mcp]") {
  for (
      const char* line :
      {"", "  ", "\r", R"({"jsonrpc": "2.0", "method": "notifications/initialized"})",
       R"({"jsonrpc": "2.0", "method": "unknown"})", R"({"jsonrpc": "2.0", "id": 7, "result": {}})",
       R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}})",
       R"({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "params", "arguments": {"model": "gpt2"}}})"}) {
    CAPTURE(line);
    CHECK(test::McpClient().lines_after(line).empty());
  }
}

TEST_CASE("the revision is negotiated, and older ones get the JSON as text", "[mcp]") {
  for (const auto& [wanted, got, texts] :
       {std::tuple{"2025-11-25", "2025-11-25", 1}, std::tuple{"2025-06-18", "2025-06-18", 1},
        std::tuple{"2025-03-26", "2025-03-26", 2}, std::tuple{"2024-11-05", "2024-11-05", 2},
        std::tuple{"1999-01-01", "2025-11-25", 1}}) {
    test::McpClient client("");
    CHECK(client.ask("tools/list", json::Value::object())["error"]["code"] == -32600);
    CHECK(client.ask("ping", json::Value::object())["result"] == json::Value::object());
    CHECK(client.ask("initialize", {{"protocolVersion", wanted}})["result"]["protocolVersion"] == got);
    const json::Value result =
        client.ask("tools/call", {{"name", "params"}, {"arguments", {{"model", "gpt2"}}}})["result"];
    CHECK(result["content"].size() == static_cast<std::size_t>(texts));
    if (texts == 2)
      CHECK(json::Value::parse(result["content"][1]["text"].get<std::string>()) == result["structuredContent"]);
  }
}

TEST_CASE("every command of ask() is a tool with its schemas", "[mcp]") {
  const json::Value list = test::McpClient().ask("tools/list", json::Value::object())["result"]["tools"];
  CHECK(list.size() == answered_commands().size() + 2);  // plan is two tools, and compare is one
  for (const json::Value& tool : list) {
    CAPTURE(tool["name"]);
    CHECK(tool["inputSchema"]["type"] == "object");
    CHECK(tool["outputSchema"]["type"] == "object");
    CHECK(tool["annotations"]["readOnlyHint"] == true);
    CHECK_FALSE(tool["description"].get<std::string>().empty());
  }
}

TEST_CASE("the pages of resources have every preset once, and each can be read", "[mcp]") {
  test::McpClient client;
  std::set<std::string> uris;
  json::Value params = json::Value::object();
  for (int page = 0; page < 100; ++page) {
    const json::Value result = client.ask("resources/list", params)["result"];
    for (const json::Value& r : result["resources"]) CHECK(uris.insert(r["uri"]).second);
    if (!result.contains("nextCursor")) break;
    params["cursor"] = result["nextCursor"];
  }
  CHECK(uris.size() > 350);
  for (const char* uri : {"llmcalc://models/gpt-2-124m", "llmcalc://hardware/h100-sxm-80gb", "llmcalc://software/vllm",
                          "llmcalc://schemas/train"})
    CHECK(uris.contains(uri));
  for (const char* uri : {"llmcalc://models/gpt2", "llmcalc://software/vllm%400.10", "llmcalc://schemas/request"}) {
    const json::Value contents = client.ask("resources/read", {{"uri", uri}})["result"]["contents"];
    CHECK(contents[0]["uri"] == uri);
    CHECK(json::Value::parse(contents[0]["text"].get<std::string>()).is_object());
  }
}

TEST_CASE("a template's argument is completed with names that begin with it first", "[mcp]") {
  const json::Value completion = test::McpClient().ask(
      "completion/complete", {{"ref", {{"type", "ref/resource"}, {"uri", "llmcalc://hardware/{name}"}}},
                              {"argument", {{"name", "name"}, {"value", "h100"}}}})["result"]["completion"];
  CHECK(completion["values"][0].get<std::string>().starts_with("h100"));
  CHECK(completion["total"] == completion["values"].size());
  CHECK(completion["hasMore"] == false);
}

TEST_CASE("a cancelled search ends without an answer, and its progress increases", "[mcp]") {
  test::McpClient client;
  client.session().receive(call_line("search", "plan_train", long_search));
  client.await("notifications/progress");
  const auto lines = client.lines_after(
      R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "search"}})");
  double last = -1;
  for (const std::string& line : lines) {
    const json::Value message = parsed_line(line);
    REQUIRE(message["method"] == "notifications/progress");
    CHECK(message["params"]["progressToken"] == "search");
    CHECK(message["params"]["progress"].get<double>() > last);
    last = message["params"]["progress"];
  }
  CHECK(last >= 0);
  CHECK(client.ask("ping", json::Value::object())["result"] == json::Value::object());
}

TEST_CASE("an id of a running call is refused", "[mcp]") {
  test::McpClient client;
  client.session().receive(call_line("a", "plan_train", long_search));
  client.session().receive(call_line("a", "params", {{"model", "gpt2"}}));
  client.await("still running");
  const auto lines =
      client.lines_after(R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}})");
  CHECK(std::count_if(lines.begin(), lines.end(),
                      [](const std::string& l) { return l.find("\"code\":-32600") != l.npos; }) == 1);
}

TEST_CASE("the program ends with exit code 0 when its input ends, within a message or a search too", "[mcp][cli]") {
  const std::string start =
      R"({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})"
      "\n";
  const std::string folder = test::scratch();
  const std::pair<std::string, std::size_t> all[] = {{"", 0},
                                                     {start, 1},
                                                     {start + "{\"jsonrpc\": \"2.0\", \"id\": 1, \"met", 2},
                                                     {start + call_line("s", "plan_train", long_search), 1}};
  for (const auto& [input, answers] : all) {
    CAPTURE(input);
    test::write_file(folder + "/input", input);
    const test::Ran r = test::llmcalc("mcp", {.streams = "<" + folder + "/input"});
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    std::istringstream lines(r.out);
    std::size_t n = 0;
    for (std::string line; std::getline(lines, line);) n += parsed_line(line).contains("id") ? 1 : 0;
    const bool may_finish = input.find("plan_train") != std::string::npos;  // within the second that a search has left
    CHECK((n == answers || (may_finish && n == answers + 1)));
  }
}

TEST_CASE("a message above the limit is refused, and the next one is answered", "[mcp][cli]") {
  const std::string file = test::scratch() + "/long";
  test::write_file(file, std::string(json::max_bytes + 1, 'x') + "\n" + R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  const test::Ran r = test::llmcalc("mcp", {.streams = "<" + file});
  CHECK(r.code == 0);
  CHECK(r.out ==
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"the message exceeds the limit of 64 "
        "MiB; send a smaller one\"}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

TEST_CASE("a session ends if the client cannot be written to", "[mcp][streams][cli]") {
  const std::string file = test::scratch() + "/pings";
  test::write_file(file, R"({"jsonrpc": "2.0", "id": 1, "method": "ping"})");
  for (const char* full : {" >&-", " >/dev/full"})
    CHECK(test::llmcalc("mcp", {.streams = "<" + file + full}).code == 2);
  CHECK(test::llmcalc("mcp", {.streams = "<" + file, .behind = "| true"}).code == 0);
}
