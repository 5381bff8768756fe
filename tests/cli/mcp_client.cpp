#include "tests/cli/mcp_client.hpp"

#include <algorithm>
#include <utility>

namespace llmcalc::test {
namespace {

constexpr std::chrono::milliseconds patience{60000};

std::string line_of(const std::string& method, const json::Value& params) {
  return json::Value{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}.dump();
}

}  // namespace

McpClient::McpClient(const std::string& revision)
    : session_([this](const std::string& line) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(line);
        sent_.notify_all();
      }) {
  if (!revision.empty()) ask("initialize", {{"protocolVersion", revision}});
}

std::vector<std::string> McpClient::lines_after(const std::string& line) {
  session_.receive(line);
  session_.finish(patience);
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

json::Value McpClient::ask(const std::string& method, const json::Value& params) {
  return json::Value::parse(lines_after(line_of(method, params)).at(0));
}

void McpClient::await(const std::string& text) {
  std::unique_lock lock(mutex_);
  sent_.wait_for(lock, patience, [&] {
    return std::any_of(lines_.begin(), lines_.end(), [&](const std::string& l) { return l.find(text) != l.npos; });
  });
}

std::string mcp_answer(const json::Value& request) {
  std::string tool = request.at("command");
  std::replace(tool.begin(), tool.end(), ' ', '_');
  json::Value arguments = request;
  arguments.erase("command");
  McpClient client;
  const std::string line = client.lines_after(line_of("tools/call", {{"name", tool}, {"arguments", arguments}})).at(0);
  const std::string mark = "\"structuredContent\":";
  const std::size_t begin = line.rfind(mark) + mark.size();
  return line.substr(begin, line.rfind("}}") - begin);
}

}  // namespace llmcalc::test
