#pragma once
/// A recorded run's requests, served at predicted times of passes, beside what was recorded.

#include <vector>

#include "evidence/run_case.hpp"
#include "serve/fleet.hpp"

namespace llmcalc {

/// What requests and their answers took, in seconds; of requests of one token there is no time per token.
struct RequestTimes {
  std::vector<Seconds> first_token, per_token, latency;
  double tokens_per_s = 0;  ///< generated ones, from the first arrival to the last token
};
RequestTimes recorded_times(const RecordedRun& run);

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
Replay replay(const RecordedRun& run, const RunCase& c, const PassTimes& times);

/// Times of a rank's passes at the rates that device and engine reach by the shipped estimator, or by what was measured
/// on the device.
PassTimes estimated_passes(const RunCase& c);

}  // namespace llmcalc
