#pragma once
/// Replay of a recorded run's requests at predicted pass times, compared with the record.

#include <optional>
#include <string>
#include <vector>

#include "evidence/profile/operator_table.hpp"
#include "evidence/rows/run_case.hpp"
#include "serve/fleet/fleet.hpp"

namespace llmcalc {

/// Times of requests in seconds. Requests that generate a single token have no per-token time.
struct RequestTimes {
  std::vector<Seconds> first_token, per_token, latency;
  double tokens_per_s = 0;  ///< generated tokens per second, from the first arrival to the last token
};
RequestTimes recorded_times(const RunCase& run);

/// A figure of a run: "ttft_mean_ms" or its 50th, 90th or 99th percentile, the same statistics of tpot and latency,
/// or "throughput_tok_s".
struct RunFigure {
  std::string key;
  double value = 0;
};
std::vector<RunFigure> run_figures(const RequestTimes& times);

/// Generated tokens per second over an interval.
struct RateOverTime {
  Seconds begin, end;
  double predicted = 0, recorded = 0;
};

struct Replay {
  RequestTimes times;
  std::vector<RateOverTime> rates;  ///< rates, one per second of the run's log; empty without a log
  Count passes = 0, preemptions = 0;
};

/// Simulates serving the requests on the run's engines, with the recorded arrival times and token counts.
/// Precondition: the case's `skip` is empty.
Replay replay(const RunCase& c, const PassTimes& times);

/// Source of a replay's pass times; by default, the shipped estimator.
struct ReplayBasis {
  std::optional<HardwareCard> hardware{};  ///< device that replaces the run's
  std::vector<OperatorTables> tables{};    ///< measured layer times, used instead of the estimator's
};
/// Pass times of a run on this basis. Throws InputError if the tables lack the run's model, or a layer of the model.
PassTimes passes_of(const RunCase& c, const ReplayBasis& basis);

/// Pass times of a rank at the rates that the device and engine achieve with these parameters. Rates measured on the
/// device are not changed.
PassTimes estimated_passes(const RunCase& c, const InferenceParameters& p);

}  // namespace llmcalc
