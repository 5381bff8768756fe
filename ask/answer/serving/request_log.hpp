#pragma once
/// A log of requests to replay: JSON Lines, an object per request, or CSV with a line of column names. Keys and
/// columns:
///   arrival    seconds from any origin, in non-decreasing order
///   prompt     tokens of the prompt, 1 or more
///   generated  tokens of the answer, 1 or more
///   session    optional: a name; the prompt begins with the prompt and answer of the session's previous request
///   prefix     optional: tokens that the prompt shares with all other prompts ("1200"), or with all prompts of the
///              same name ("rules:1200")
///   priority   optional: a whole number, lower first
/// Other names are ignored, except that a name within two edits of one of these is rejected.

#include <string>
#include <string_view>
#include <vector>

#include "serve/traffic.hpp"

namespace llmcalc {

struct RequestLog {
  RequestList requests;              ///< the first arrives at 0
  std::vector<std::uint32_t> lines;  ///< line number of each request, from 1
  std::vector<std::string> unused;   ///< ignored keys or columns
};

/// `where` names the text in errors. Throws InputError, with the line, for an empty log, for a field that is missing,
/// negative or not a number, and for a request out of order.
RequestLog read_request_log(std::string_view text, const std::string& where);
RequestLog read_request_log_file(const std::string& path);

}  // namespace llmcalc
