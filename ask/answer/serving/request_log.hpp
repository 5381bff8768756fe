#pragma once
/// A log of requests to a server, to be served again: JSON Lines, an object per request, or CSV with a line of column
/// names. Keys and columns:
///   arrival    seconds from any moment; no request comes before the one in the line above
///   prompt     tokens of the prompt, 1 or more
///   generated  tokens of the answer, 1 or more
///   session    optional: a name; the prompt begins with prompt and answer of the session's last request
///   prefix     optional: tokens that the prompt has in common with all others ("1200"), or with those that give the
///              same name ("rules:1200")
///   priority   optional: a whole number, lower first
/// Others are not used; a name that differs from these in a letter or two is refused.

#include <string>
#include <string_view>
#include <vector>

#include "serve/traffic.hpp"

namespace llmcalc {

struct RequestLog {
  std::vector<ServerRequest> requests;  ///< the first arrives at 0
  std::vector<std::size_t> lines;       ///< of the requests, from 1
  std::vector<std::string> unused;      ///< keys or columns that are not used
};

/// `where` names the text in errors. Throws InputError, with the line, for an empty log, a field that is missing,
/// negative or no number, and a request that is out of order.
RequestLog read_request_log(std::string_view text, const std::string& where);
RequestLog read_request_log_file(const std::string& path);

}  // namespace llmcalc
