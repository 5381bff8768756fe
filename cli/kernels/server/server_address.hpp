#pragma once
/// The address of a server, from a URL.

#include <string>

namespace llmcalc {

struct ServerAddress {
  std::string host{};  ///< a name, or an IP address without brackets
  int port = 80;
  std::string path{};  ///< path before /metrics; empty or "/NAME"
  std::string url() const;
};

/// The address in "http://HOST[:PORT][/PATH]"; "http://" and a final /metrics or /v1 may be omitted or given. Throws
/// InputError for another scheme, a malformed URL, or, unless `remote`, a host that is not this machine.
ServerAddress server_address(const std::string& url, bool remote);

}  // namespace llmcalc
