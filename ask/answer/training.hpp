#pragma once
/// Everything that is estimated about the training of a request. Each part is computed when it is first asked for, and
/// once. Not for several threads at a time.

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
  /// `r`: with its device at the rates that it reaches in training (for_training()).
  explicit TrainingAnswer(Request r) : request_(std::move(r)) {}
  /// The same where its estimate is known.
  TrainingAnswer(Request r, TrainEstimate known) : request_(std::move(r)), estimate_(std::move(known)) {}

  const Request& request() const { return request_; }
  /// Precondition of this and of all times: the request has hardware.
  const TrainEstimate& estimate() const;
  /// Of the step's time; absent without software.
  const std::optional<EstimateInterval>& interval() const;
  /// The class that it belongs to, and that class's interval. Precondition: software.
  EstimateClass estimate_class() const { return class_of(request_); }
  std::optional<EstimateInterval> class_interval() const { return interval_of(request_); }
  const StepFigures& step() const;
  /// MFU by every convention.
  const std::vector<Utilization>& utilization() const;
  /// The run of --tokens, or at a measured throughput.
  const RunEstimate& run() const;
  std::optional<double> measured_scale() const { return llmcalc::measured_scale(request_, estimate()); }
  const std::vector<TimeChange>& sensitivity() const;

  const Stages& stages() const;
  /// Whether gradients of a step are summed whole before they are reduced.
  bool accumulates_gradients() const { return llmcalc::accumulates_gradients(request_.layout); }
  /// Memory of the fullest stage.
  const Memory& memory() const { return stages().fullest().memory; }
  /// Whether the device holds the tensors of the fullest stage, and the host what lies there. Precondition: hardware.
  bool fits() const;
  const std::optional<ProcessEstimate>& process() const;
  /// Whether the device holds the process, as far as it is known.
  bool process_fits() const;
  /// Single changes that make the plan fit. Empty where it fits.
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
