#include "tests/cli/test_server.hpp"

#ifdef LLMCALC_HTTP

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

namespace llmcalc::test {

struct TestServer::Running {
  httplib::Server server;
  int port = 0;
  std::thread thread;
};

TestServer::TestServer(std::function<ServerReply(const std::string&)> reply) : running_(std::make_unique<Running>()) {
  running_->server.Get(".*", [reply = std::move(reply)](const httplib::Request& asked, httplib::Response& answer) {
    const ServerReply r = reply(asked.path);
    answer.status = r.status;
    if (r.status / 100 == 3) answer.set_header("Location", "/elsewhere");
    answer.set_content(r.body, "text/plain");
  });
  running_->port = running_->server.bind_to_any_port("127.0.0.1");
  running_->thread = std::thread([this] { running_->server.listen_after_bind(); });
  while (!running_->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TestServer::~TestServer() {
  running_->server.stop();
  running_->thread.join();
}

std::string TestServer::url() const { return "http://127.0.0.1:" + std::to_string(running_->port); }

struct RawServer::Running {
  std::string bytes;
  int times = 1, listening = -1, port = 0;
  std::thread thread;

  void answer_all() const {
    for (int one; (one = ::accept(listening, nullptr, nullptr)) >= 0; ::close(one))
      for (int i = 0; i<times&& ::send(one, bytes.data(), bytes.size(), MSG_NOSIGNAL)> 0; ++i) {
      }
  }
};

RawServer::RawServer(std::string bytes, int times) : running_(std::make_unique<Running>()) {
  running_->bytes = std::move(bytes);
  running_->times = times;
  running_->listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  ::bind(running_->listening, reinterpret_cast<sockaddr*>(&at), length);
  ::listen(running_->listening, 8);
  ::getsockname(running_->listening, reinterpret_cast<sockaddr*>(&at), &length);
  running_->port = ntohs(at.sin_port);
  running_->thread = std::thread([this] { running_->answer_all(); });
}

RawServer::~RawServer() {
  ::shutdown(running_->listening, SHUT_RDWR);
  running_->thread.join();
  ::close(running_->listening);
}

std::string RawServer::url() const { return "http://127.0.0.1:" + std::to_string(running_->port); }

}  // namespace llmcalc::test

#endif
