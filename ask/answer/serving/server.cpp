#include "ask/answer/serving/server.hpp"

#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/steady.hpp"

namespace llmcalc {

const ServingEngine& ServingAnswer::engine() const {
  return engine_.get([&] { return serving_engine(request_); });
}

const std::optional<WholeRun>& ServingAnswer::run() const {
  return run_.get([&] { return whole_run(request_); });
}

const ServingCapacity& ServingAnswer::capacity() const {
  if (assumed_) return *assumed_;
  return capacity_.get([&] { return measured_capacity(run()->request, run()->engine, run()->traffic); });
}

const SteadyState& ServingAnswer::steady_state() const {
  return steady_.get([&] {
    const WholeRun& w = *run();
    const bool sessions = has_sessions(w.traffic.requests.requests);
    return steady_state_of(w.request, w.engine, w.traffic, w.served, sessions ? capacity().cached : std::nullopt);
  });
}

}  // namespace llmcalc
