#pragma once
/// A recorded run's requests, served at predicted times of passes, beside what was recorded.

#include <optional>
#include <string>
#include <vector>

#include "evidence/profile/operator_table.hpp"
#include "evidence/rows/run_case.hpp"
#include "serve/fleet/fleet.hpp"

namespace llmcalc {

/// What requests and their answers took, in seconds; of requests of one token there is no time per token.
struct RequestTimes {
  std::vector<Seconds> first_token, per_token, latency;
  double tokens_per_s = 0;  ///< generated ones, from the first arrival to the last token
};
RequestTimes recorded_times(const RunCase& run);

/// A number of a run: "ttft_mean_ms", and the 50th, 90th and 99th percentiles of it; the same of tpot and latency;
/// "throughput_tok_s".
struct RunFigure {
  std::string key;
  double value = 0;
};
std::vector<RunFigure> run_figures(const RequestTimes& times);

/// Generated tokens per second over a stretch of time.
struct RateOverTime {
  Seconds begin, end;
  double predicted = 0, recorded = 0;
};

struct Replay {
  RequestTimes times;
  std::vector<RateOverTime> rates;  ///< over the seconds that the run tells; empty where it tells none
  Count passes = 0, preemptions = 0;
};

/// The requests at their times of arrival, with as many tokens as they had, on the run's engines. Precondition: the
/// case is not to be skipped.
Replay replay(const RunCase& c, const PassTimes& times);

/// The times that a replay uses: those of the shipped estimator, where nothing is given.
struct ReplayBasis {
  std::optional<HardwareCard> hardware{};  ///< in place of the run's device
  std::vector<OperatorTables> tables{};    ///< measured times of layers, in place of the estimator's
};
/// Throws InputError where tables lack the run's model, or a layer of it.
PassTimes passes_of(const RunCase& c, const ReplayBasis& basis);

/// Times of a rank's passes at the rates that device and engine reach under these parameters; what was measured on the
/// device stays.
PassTimes estimated_passes(const RunCase& c, const InferenceParameters& p);

}  // namespace llmcalc
