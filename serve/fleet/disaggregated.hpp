#pragma once
/// Separate engines for prompts and answers (DistServe, arXiv:2401.09670): the first kind gives a request's first
/// token; then keys and values are sent to an engine of the second kind, which continues the answer.

#include "serve/fleet/fleet.hpp"

namespace llmcalc {

/// Time to send a request's keys and values to the engine that decodes: `wait`, and `token` per token of its prompt. A
/// prompt engine sends one request after another. Excludes the blocks that a request holds there until it has arrived,
/// and overlap of sent layers with the computation of later ones.
struct CacheTransfer {
  Ticks wait = 0, token = 0;
};

/// Both fleets have at least one replica.
struct Disaggregated {
  Fleet prompts, answers;
  CacheTransfer transfer{};
};

/// As serve() of one fleet. Replicas of the second kind are numbered after the first.
ServerRun serve(const Disaggregated& pools, const PassTimes& prompt_times, const PassTimes& answer_times,
                const RequestTraffic& traffic, const ServerWatch& watch = {});

}  // namespace llmcalc
