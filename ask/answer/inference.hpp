#pragma once
/// All inference estimates of a request, for one batch on one engine. Each is computed once, on first use. Not
/// thread-safe.

#include <optional>
#include <vector>

#include "ask/answer/interval.hpp"
#include "ask/answer/lazy.hpp"
#include "ask/answer/sensitivity.hpp"
#include "ask/answer/serving/placement.hpp"
#include "ask/request/request.hpp"
#include "calc/infer.hpp"
#include "calc/memory.hpp"
#include "calc/pass/pass_spent.hpp"

namespace llmcalc {

class InferenceAnswer {
 public:
  /// `r`: request for one engine or a server, with the device at its achieved inference rates (for_inference()).
  explicit InferenceAnswer(Request r) : request_(std::move(r)) {}

  const Request& request() const { return request_; }
  /// Layers of each device. Absent for an engine without pipeline stages, and for servers (see has_stages()).
  const std::optional<Placement>& placement() const;
  /// The request whose memory is reported. With stages, the request of the stage that fills the largest share of its
  /// device.
  const Request& fullest_request() const;
  /// The pipeline stages of a pass. Precondition: the request has hardware.
  const PassStages& pass_stages() const;
  /// Precondition of this and of all times: the request has hardware.
  const InferEstimate& estimate() const;
  /// 90 % intervals for four times: prefill, one decode step at mid-generation, time to first token, and the whole
  /// generation; with stages, the widest interval among the devices. Absent without an engine.
  std::optional<EstimateInterval> prefill_interval() const;
  std::optional<EstimateInterval> decode_interval() const;
  std::optional<EstimateInterval> first_token_interval() const;
  std::optional<EstimateInterval> whole_interval() const;
  /// Time breakdown of a prefill and of a decode step at mid-generation. Precondition: the request has an engine.
  const PassSpent& prefill_spent() const;
  const PassSpent& decode_spent() const;
  /// 90 % interval for the time of a pass of this kind.
  std::optional<EstimateInterval> interval_of_pass(InferenceClass kind, const PassTime& pass) const;
  const std::vector<TimeChange>& sensitivity() const;
  const Limits& limits() const;

  /// Memory model of the engine; absent if there is none (has_engine_memory).
  const std::optional<EngineCapacity>& capacity() const;
  /// Memory according to the engine's memory model. Without such a model, the plan's tensors with all prompts in one
  /// pass. With stages, memory of the fullest stage.
  const Memory& memory() const;
  /// Device memory that the plan may use: as granted by the engine, otherwise according to --memory-utilization.
  /// Precondition: the request has hardware.
  Bytes usable() const;
  /// Whether device and host memory suffice. Precondition: the request has hardware.
  bool fits() const;

 private:
  std::optional<EstimateInterval> interval_above(InferenceClass kind, Seconds bound, Seconds estimate) const;

  Request request_;
  Lazy<std::optional<Placement>> placement_;
  Lazy<PassStages> pass_stages_;
  Lazy<InferEstimate> estimate_;
  Lazy<PassSpent> prefill_spent_, decode_spent_;
  Lazy<std::vector<TimeChange>> sensitivity_;
  Lazy<Limits> limits_;
  Lazy<std::optional<EngineCapacity>> capacity_;
  Lazy<Memory> memory_;
};

}  // namespace llmcalc
