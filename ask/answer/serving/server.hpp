#pragma once
/// Everything that is estimated about a server under the traffic of a request. Each part is computed when it is first
/// asked for, and once: the traffic is simulated a single time.

#include <optional>

#include "ask/answer/lazy.hpp"
#include "ask/answer/serving/whole_run.hpp"

namespace llmcalc {

class ServingAnswer {
 public:
  /// Precondition: the request has traffic and hardware, and is priced for inference.
  explicit ServingAnswer(Request r) : request_(std::move(r)) {}

  const Request& request() const { return request_; }
  /// Throws InputError where the traffic cannot be, as check_serving() does.
  const ServingEngine& engine() const;
  /// Absent where the engine has no room for a request.
  const std::optional<WholeRun>& run() const;
  /// Precondition of both: there is a run.
  const ServingCapacity& capacity() const;
  const SteadyState& steady_state() const;

 private:
  Request request_;
  Lazy<ServingEngine> engine_;
  Lazy<std::optional<WholeRun>> run_;
  Lazy<ServingCapacity> capacity_;
  Lazy<SteadyState> steady_;
};

}  // namespace llmcalc
