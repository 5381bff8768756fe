#pragma once
/// All estimates of a server under the request's traffic. Each is computed once, on first use; the traffic is
/// simulated only once.

#include <optional>

#include "ask/answer/lazy.hpp"
#include "ask/answer/serving/whole_run.hpp"

namespace llmcalc {

class ServingAnswer {
 public:
  /// Precondition: the request has traffic and hardware, and its device is at its achieved inference rates
  /// (for_inference()). `assumed`: a capacity to use instead of simulating it, for formulas without numbers.
  explicit ServingAnswer(Request r, std::optional<ServingCapacity> assumed = {})
      : request_(std::move(r)), assumed_(assumed) {}

  const Request& request() const { return request_; }
  /// Throws InputError if the traffic is impossible, as check_serving() does.
  const ServingEngine& engine() const;
  /// Absent if the engine cannot hold a request.
  const std::optional<WholeRun>& run() const;
  /// Precondition of capacity() and steady_state(): run() is present.
  const ServingCapacity& capacity() const;
  const SteadyState& steady_state() const;

 private:
  Request request_;
  std::optional<ServingCapacity> assumed_;
  Lazy<ServingEngine> engine_;
  Lazy<std::optional<WholeRun>> run_;
  Lazy<ServingCapacity> capacity_;
  Lazy<SteadyState> steady_;
};

}  // namespace llmcalc
