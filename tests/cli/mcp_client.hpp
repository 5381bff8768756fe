#pragma once
/// An MCP session in memory, and the answer of one request through it.

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "cli/mcp/session.hpp"
#include "text/json.hpp"

namespace llmcalc::test {

class McpClient {
 public:
  /// Starts the session with this protocol revision; without one, the session is not initialized.
  explicit McpClient(const std::string& revision = "2025-11-25");

  /// The lines that the server has sent in answer to a line and in the background since, once all calls have ended.
  std::vector<std::string> lines_after(const std::string& line);
  /// The only answer to a request with the id 1; "jsonrpc" and "method" are added to "params".
  json::Value ask(const std::string& method, const json::Value& params);

  mcp::Session& session() { return session_; }
  /// Waits until a line contains the text.
  void await(const std::string& text);

 private:
  std::mutex mutex_;
  std::condition_variable sent_;
  std::vector<std::string> lines_;
  mcp::Session session_;
};

/// The answer to a request of ask() through MCP: the bytes of "structuredContent", which are those of --json without
/// spaces and line ends outside strings.
std::string mcp_answer(const json::Value& request);

}  // namespace llmcalc::test
