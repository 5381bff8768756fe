#pragma once
/// HTTP GET requests with limits on size and time.

#include <string>

#include "cli/kernels/server/server_address.hpp"

namespace llmcalc {

struct HttpReply {
  int status = 0;
  std::string body{};
};

/// Throws InputError if this program was built without an HTTP client.
void need_http_client();

/// The reply to GET of the server's path followed by `path`. Redirects are not followed. Throws InputError without a
/// connection, without a reply in 10 seconds, or for a reply of more than 16 MiB. A child process makes the request, so
/// that no reply can crash or block the program.
HttpReply http_get(const ServerAddress& server, const std::string& path);

}  // namespace llmcalc
