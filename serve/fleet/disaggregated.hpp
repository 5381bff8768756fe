#pragma once
/// Separate engines for prefill and decode (DistServe, arXiv:2401.09670): a prefill engine produces a request's first
/// token, then sends its keys and values to a decode engine, which continues the answer.

#include "serve/fleet/fleet.hpp"

namespace llmcalc {

/// Time to send a request's keys and values to a decode engine: `wait`, plus `token` per prompt token. A prefill
/// engine sends requests one at a time. Not modeled: blocks that a request occupies on the prefill engine until its
/// transfer ends, and overlap of the transfer with the computation of later layers.
struct CacheTransfer {
  Ticks wait = 0, token = 0;
};

/// Fleets for prefill and decode, each with at least one replica.
struct Disaggregated {
  Fleet prompts, answers;
  CacheTransfer transfer{};
};

/// Like serve() for one fleet. Decode replicas are numbered after prefill replicas.
ServerRun serve(const Disaggregated& pools, const PassTimes& prompt_times, const PassTimes& answer_times,
                const RequestTraffic& traffic, const ServerWatch& watch = {});

}  // namespace llmcalc
