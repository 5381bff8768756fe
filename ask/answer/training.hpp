#pragma once
/// All training estimates of a request. Each is computed once, on first use. Not thread-safe.

#include <optional>
#include <vector>

#include "ask/answer/interval.hpp"
#include "ask/answer/lazy.hpp"
#include "ask/answer/measured_scale.hpp"
#include "ask/answer/process_estimate.hpp"
#include "ask/answer/remedy.hpp"
#include "ask/answer/run.hpp"
#include "ask/answer/sensitivity.hpp"
#include "ask/answer/stages.hpp"
#include "ask/answer/step_figures.hpp"
#include "ask/request/request.hpp"
#include "calc/train.hpp"

namespace llmcalc {

class TrainingAnswer {
 public:
  /// `r`: request with its device at the achieved training rates (for_training()).
  explicit TrainingAnswer(Request r) : request_(std::move(r)) {}
  /// Reuses an estimate of the request that has already been computed.
  TrainingAnswer(Request r, TrainEstimate known) : request_(std::move(r)), estimate_(std::move(known)) {}

  const Request& request() const { return request_; }
  /// Precondition of this and of all times: the request has hardware.
  const TrainEstimate& estimate() const;
  /// Interval for the step time. Absent if no software is set.
  const std::optional<EstimateInterval>& interval() const;
  /// Class of the estimate, and the interval of this class. Precondition: the request has software.
  EstimateClass estimate_class() const { return class_of(request_); }
  std::optional<EstimateInterval> class_interval() const { return interval_of(request_); }
  const StepFigures& step() const;
  /// MFU under each convention.
  const std::vector<Utilization>& utilization() const;
  /// The run over --tokens, or at a measured throughput.
  const RunEstimate& run() const;
  std::optional<double> measured_scale() const { return llmcalc::measured_scale(request_, estimate()); }
  const std::vector<TimeChange>& sensitivity() const;

  const Stages& stages() const;
  /// Whether gradients are accumulated over the whole step before they are reduced.
  bool accumulates_gradients() const { return llmcalc::accumulates_gradients(request_.layout); }
  /// Memory of the fullest stage.
  const Memory& memory() const { return stages().fullest().memory; }
  /// Whether the fullest stage's tensors fit in device memory, and its offloaded tensors in host memory. Precondition:
  /// the request has hardware.
  bool fits() const;
  const std::optional<ProcessEstimate>& process() const;
  /// Whether the process fits in device memory. True if the process has no estimate.
  bool process_fits() const;
  /// Single changes that make the plan fit. Empty if it fits.
  const std::vector<TypedRemedy>& remedies() const;

 private:
  Request request_;
  Lazy<TrainEstimate> estimate_;
  Lazy<std::optional<EstimateInterval>> interval_;
  Lazy<StepFigures> step_;
  Lazy<std::vector<Utilization>> utilization_;
  Lazy<RunEstimate> run_;
  Lazy<Stages> stages_;
  Lazy<std::optional<ProcessEstimate>> process_;
  Lazy<std::vector<TimeChange>> sensitivity_;
  Lazy<std::vector<TypedRemedy>> remedies_;
};

}  // namespace llmcalc
