#include "ask/answer/training.hpp"

#include <algorithm>

namespace llmcalc {

const TrainEstimate& TrainingAnswer::estimate() const {
  return estimate_.get(
      [&] { return train(request_.model.arch, request_.plan, request_.layout, request_.hardware->cluster); });
}

const std::optional<EstimateInterval>& TrainingAnswer::interval() const {
  return interval_.get([&] { return interval_of(request_, estimate()); });
}

const StepFigures& TrainingAnswer::step() const {
  return step_.get([&] { return step_figures(request_, estimate()); });
}

const std::vector<Utilization>& TrainingAnswer::utilization() const {
  return utilization_.get([&] { return utilization_by_convention(request_, estimate()); });
}

const RunEstimate& TrainingAnswer::run() const {
  return run_.get([&] {
    RunEstimate run = run_estimate(request_, estimate(), interval());
    const bool achieved = request_.run.measured_tokens_per_s || request_.run.mfu;
    run.possible = run.possible && (achieved || process_fits());
    return run;
  });
}

const std::vector<TimeChange>& TrainingAnswer::sensitivity() const {
  return sensitivity_.get([&] { return step_sensitivity(request_); });
}

const Stages& TrainingAnswer::stages() const {
  return stages_.get([&] { return stages_of(request_); });
}

bool TrainingAnswer::fits() const {
  return memory().peak <= usable_memory(request_) &&
         request_.hardware->cluster.device.host.holds(stages().most_on_host());
}

const std::optional<ProcessEstimate>& TrainingAnswer::process() const {
  return process_.get([&] { return process_estimate(request_, memory().peak); });
}

bool TrainingAnswer::process_fits() const { return !process() || llmcalc::fits(*process()); }

namespace {

/// The request with device memory reduced to the part that the process leaves for tensors.
Request beside_process(Request r, const ProcessEstimate& p) {
  Bytes& memory = r.hardware->cluster.device.memory;
  memory -= std::clamp(p.needed() - p.tensors, Bytes(), memory);
  return r;
}

}  // namespace

const std::vector<TypedRemedy>& TrainingAnswer::remedies() const {
  return remedies_.get([&]() -> std::vector<TypedRemedy> {
    if (fits() && process_fits()) return {};
    return typed_remedies(process() ? beside_process(request_, *process()) : request_);
  });
}

}  // namespace llmcalc
