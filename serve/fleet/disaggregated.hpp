#pragma once
/// Engines for prompts and engines for answers (DistServe, arXiv:2401.09670): the first give a request's first token;
/// then keys and values travel to one of the second, where the answer goes on.

#include "serve/fleet/fleet.hpp"

namespace llmcalc {

/// The way of a request's keys and values to the engine that decodes: `wait`, and `token` for each token of its prompt.
/// Each engine of the first kind sends one request after another. Left out: the blocks that a request holds there until
/// it has arrived; layers that travel while later ones are computed.
struct CacheTransfer {
  Ticks wait = 0, token = 0;
};

/// Both fleets have at least one replica.
struct Disaggregated {
  Fleet prompts, answers;
  CacheTransfer transfer{};
};

/// As serve() of one fleet. Replicas of the second kind are counted behind those of the first.
ServerRun serve(const Disaggregated& pools, const PassTimes& prompt_times, const PassTimes& answer_times,
                const RequestTraffic& traffic, const ServerWatch& watch = {});

}  // namespace llmcalc
