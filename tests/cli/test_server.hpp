#pragma once
/// Servers on this machine for tests of the HTTP client.

#include <functional>
#include <memory>
#include <string>

namespace llmcalc::test {

struct ServerReply {
  int status = 200;
  std::string body{};
};

/// Answers GET requests by path, on a free port of the loopback interface, until it is destroyed. Only with
/// cpp-httplib.
class TestServer {
 public:
  explicit TestServer(std::function<ServerReply(const std::string& path)> reply);
  ~TestServer();
  std::string url() const;

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

/// Sends these bytes to every connection, as often as stated, and closes it.
class RawServer {
 public:
  explicit RawServer(std::string bytes, int times = 1);
  ~RawServer();
  std::string url() const;

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

}  // namespace llmcalc::test
