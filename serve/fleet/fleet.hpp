#pragma once
/// Replicas behind a router, and the loop that runs them.

#include <functional>

#include "serve/server.hpp"
#include "serve/traffic.hpp"

namespace llmcalc {

enum class Routing : std::uint8_t {
  round_robin,
  least_loaded,  ///< to the replica with the fewest requests that wait or are in progress
  prefix_aware   ///< to where the session was before, else to the least loaded replica that had the prefix, unless that
                 ///< one is much busier than others
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

/// Who looks on while a simulation runs.
struct ServerWatch {
  std::function<void(const PassRecord&)> pass{};  ///< called at the end of each row of passes
  /// Called now and then with the numbers of requests that are answered and of all; false: stop.
  std::function<bool(Count, Count)> goes_on{};
  std::function<bool(RequestId, const AnswerTimes&)> answered{};  ///< called with each answer; false: stop
};

/// Serves the traffic until all is answered. Time and memory grow with requests, not with tokens (but for drafts, whose
/// acceptance is drawn pass by pass).
/// Preconditions: those of Scheduler; replicas above 0.
ServerRun serve(const Fleet& fleet, const PassTimes& times, const RequestTraffic& traffic,
                const ServerWatch& watch = {});

/// The engine with its ranks cut into the micro-batches of a pipeline: as many as it has stages are in flight, each
/// with an equal part of a rank's sequences and blocks, but no more than leave a part room for a sequence of `longest`
/// tokens. vLLM gives each pass all sequences that are in no other (V1 core.py, step_with_batch_queue): evenly only
/// where they come one after another, as is assumed. Precondition: stages above 0.
EngineRules with_micro_batches(const EngineRules& engine, const Reach& reach, Count stages, Count longest);

/// The longest sequence that the rules have room for: the most tokens of prompt and answer together; any_length where
/// a sequence's room does not grow.
Count longest_sequence(const SchedulerRules& rules, const Reach& reach);
inline constexpr Count any_length = Count{1} << 40;

/// Whole blocks of a prefix of so many tokens that all sequences have in common, which are held once: none without a
/// prefix cache; of groups of a limited reach each sequence has its own.
Count shared_blocks(const SchedulerRules& rules, Count prefix);
/// Sequences of `tokens` tokens that the rules have in progress at once, at most; `prefix`: of their tokens, those that
/// all have in common.
Count most_sequences(const SchedulerRules& rules, const Reach& reach, Count tokens, Count prefix = 0);

}  // namespace llmcalc
