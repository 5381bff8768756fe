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
///
/// Published traces are recognized by their names and read as they are. They are sorted by arrival, and requests with 0
/// tokens of prompt or answer, which failed, are omitted:
///   Mooncake   timestamp (ms), input_length, output_length, hash_ids (optional): an id per 512 tokens of the prompt;
///              equal ids mean equal prompts up to the end of the block. Answers have no ids, so their reuse by the
///              next prompt of a conversation is not counted
///   Azure      TIMESTAMP (date and time), ContextTokens, GeneratedTokens
///   BurstGPT   Timestamp (s), Request tokens, Response tokens. Its sessions are ignored, because the trace does not
///              record whether a prompt repeats the conversation

#include <string>
#include <string_view>
#include <vector>

#include "serve/traffic.hpp"

namespace llmcalc {

struct RequestLog {
  RequestList requests;              ///< the first arrives at 0
  std::vector<std::uint32_t> lines;  ///< line number of each request, from 1
  std::vector<std::string> unused;   ///< ignored keys or columns
  Count failed = 0;                  ///< number of requests of a published trace without prompt or answer, omitted
};

/// `where` names the text in errors. Throws InputError, with the line, for an empty log, for a field that is missing,
/// negative or not a number, and for a request out of order.
RequestLog read_request_log(std::string_view text, const std::string& where);
/// Reads at most 2 GiB.
RequestLog read_request_log_file(const std::string& path);

}  // namespace llmcalc
