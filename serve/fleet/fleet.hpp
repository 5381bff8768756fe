#pragma once
/// A fleet: replicas of an engine behind a router.

#include <functional>

#include "serve/server.hpp"
#include "serve/traffic.hpp"

namespace llmcalc {

enum class Routing : std::uint8_t {
  round_robin,
  least_loaded,  ///< the replica with the fewest waiting and running requests
  prefix_aware   ///< the last replica of the session or, for a new session, the least loaded replica that has had the
                 ///< longest part of the prefix; the least loaded of all replicas if that one is much busier
};
template <>
inline constexpr auto choices<Routing> =
    std::array{Choice{Routing::round_robin, "round-robin"}, Choice{Routing::least_loaded, "least-loaded"},
               Choice{Routing::prefix_aware, "prefix-aware"}};

struct Fleet {
  EngineRules server{};
  Count replicas = 1;
  Routing routing = Routing::round_robin;
};

/// Callbacks of a running simulation.
struct ServerWatch {
  std::function<void(const PassRecord&)> pass{};  ///< called at the end of each series of equal passes
  /// Called occasionally with the number of answered requests and the total number of requests; returns false to stop.
  std::function<bool(Count, Count)> goes_on{};
  std::function<bool(RequestId, const AnswerTimes&)> answered{};  ///< called with each answer; returns false to stop
};

/// Serves the traffic until all requests are answered. Run time and memory grow with the number of requests, not tokens
/// (except with drafts, whose acceptance is drawn pass by pass). Preconditions: as for Scheduler; replicas above 0.
ServerRun serve(const Fleet& fleet, const PassTimes& times, const RequestTraffic& traffic,
                const ServerWatch& watch = {});

/// The engine with every rank divided into the micro-batches of a pipeline, one per stage. Each has an equal part of
/// the rank's sequences and blocks; there are fewer micro-batches if a part could not hold a sequence of `longest`
/// tokens. vLLM fills a pass with all sequences that are not in another pass (V1 core.py, step_with_batch_queue).
/// This function assumes that sequences arrive one at a time, which makes the parts equal. Precondition: stages above
/// 0.
EngineRules with_micro_batches(const EngineRules& engine, const Reach& reach, Count stages, Count longest);

/// Length of the longest sequence that fits, prompt and answer together; any_length if a sequence's memory does not
/// grow with its length.
Count longest_sequence(const SchedulerRules& rules, const Reach& reach);
inline constexpr Count any_length = Count{1} << 40;

/// Number of whole blocks of a prefix of `prefix` tokens, which all sequences share and the cache stores once; 0
/// without a prefix cache. Excludes groups of limited reach, whose blocks are per sequence.
Count shared_blocks(const SchedulerRules& rules, Count prefix);
/// Maximum number of concurrent sequences of `tokens` tokens. All sequences share their first `prefix` tokens.
Count most_sequences(const SchedulerRules& rules, const Reach& reach, Count tokens, Count prefix = 0);

}  // namespace llmcalc
