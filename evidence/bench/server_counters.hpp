#pragma once
/// A running server's counters, read twice, as a test of a benchmark: vLLM, SGLang and llama.cpp's server.

#include <optional>
#include <string>

#include "evidence/bench/bench_run.hpp"
#include "evidence/bench/exposition.hpp"

namespace llmcalc {

/// Fewest requests that must end between two readings; the standard error of a mean is then below a third of the
/// spread of the requests.
inline constexpr double fewest_requests = 10;

/// Two readings of a server's metrics.
struct ServerReadings {
  const Exposition& before;
  const Exposition& after;
  double seconds = 0;              ///< time between the readings
  std::optional<double> prompt{};  ///< mean prompt tokens of a request, for llama.cpp, which counts no requests
  std::string where{};             ///< the server's address, for errors
};

/// An interval of a server at work.
struct ServerInterval {
  BenchTest test{};
  std::optional<double> running_before{}, running_after{};  ///< requests in progress at the readings
  double latency = 0;                                       ///< mean seconds of a request
};

/// The server's engine, and its model as the metrics name it; `where` names the server in errors. Throws InputError
/// without counters of a known engine, or for several models.
BenchRun counted_run(const Exposition& metrics, const std::string& where);

/// Throws InputError if the engine counts no requests and `prompt`, the mean tokens of a prompt, is absent.
void refuse_unusable(const std::string& engine, std::optional<double> prompt, const std::string& where);

/// Means over the requests that ended between the readings. The mean number of requests in progress follows from
/// Little's law: the sum of their times over the interval. Throws InputError if fewer than `fewest_requests` ended, the
/// counters fell (a restart), a counter is missing, or the server drafts tokens.
ServerInterval server_interval(const ServerReadings& r);

}  // namespace llmcalc
