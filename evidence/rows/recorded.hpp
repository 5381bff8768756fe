#pragma once
/// Recorded requests of a server, and its rates second by second.

#include <optional>
#include <string>
#include <vector>

#include "calc/units.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct RecordedRequest {
  std::string id;
  Seconds queued, first_token, last_token;
  Count prompt = 1, generated = 1;
  Seconds to_first() const { return first_token - queued; }
  Seconds whole() const { return last_token - queued; }
  /// Mean time per token after the first. Empty if only one token was generated.
  std::optional<Seconds> per_token() const;
};

/// Engine metrics of one second.
struct RecordedSecond {
  Seconds end;
  double prompt_rate = 0, output_rate = 0;  ///< prompt and generated tokens per second
  double running = 0, waiting = 0;          ///< number of running and waiting requests
};

/// [ {"id"?, "queued_s", "first_token_s", "last_token_s", "prompt", "generated"}, ... ], returned in order of
/// "queued_s". All times are on one clock. Throws InputError.
std::vector<RecordedRequest> read_recorded_requests(const json::Value& list, const std::string& where);

/// {"columns": ["t", "prompt_throughput", "gen_throughput", "running", "waiting", ...], "rows"}. Throws InputError.
std::vector<RecordedSecond> read_recorded_seconds(const json::Object& o);

json::Value recorded_requests_json(const std::vector<RecordedRequest>& all);
json::Value recorded_seconds_json(const std::vector<RecordedSecond>& all);

}  // namespace llmcalc
