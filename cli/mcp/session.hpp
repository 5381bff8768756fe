#pragma once
/// An MCP session: receives the client's lines and sends the answers. Tool calls run in the background.

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "cli/mcp/calls.hpp"
#include "cli/mcp/message.hpp"

namespace llmcalc::mcp {

class Session {
 public:
  /// `send` writes a line to the client. It is called from several threads, but by one at a time.
  explicit Session(std::function<void(const std::string& line)> send) : send_(std::move(send)) {}

  /// Handles a line without its end. Every mistake in it is answered with an error.
  void receive(std::string_view line);
  /// Answers a line that was not received completely.
  void refuse(const ProtocolError& error);
  /// Waits for running calls; cancels them after `patience`. Returns whether all have ended.
  bool finish(std::chrono::milliseconds patience) { return calls_.finish(patience); }

 private:
  using Method = json::Value (Session::*)(const json::Value& params);
  struct Row {
    std::string_view name;
    Method answer;
  };
  static const Row* row_of(std::string_view method);

  void handle(const Message& m);
  void notified(const Message& m);
  void call_tool(const Message& m);
  json::Value initialize(const json::Value& params);
  json::Value ping(const json::Value& params);
  json::Value list_tools(const json::Value& params);
  json::Value list_resources(const json::Value& params);
  json::Value list_templates(const json::Value& params);
  json::Value read_resource(const json::Value& params);
  json::Value complete(const json::Value& params);
  void send(const std::string& line);

  std::function<void(const std::string&)> send_;
  std::mutex sending_;
  std::string revision_;  ///< negotiated protocol revision; empty before 'initialize'
  Calls calls_;           ///< last, because calls use the members above until they end
};

}  // namespace llmcalc::mcp
