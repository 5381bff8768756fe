#include "evidence/estimated.hpp"

namespace llmcalc {

TrainEstimate estimated_training(const TrainingCase& c, const TrainingStack& stack, const TrainingParameters& p) {
  Cluster cluster = c.cluster();
  cluster.device.achieved = training_rates(p, c.on.hardware, stack);
  return train(c.arch, c.plan, c.layout, cluster);
}

InferenceTimes estimated_times(const InferenceCase& c, const InferenceStack& stack, const InferenceParameters& p) {
  Cluster cluster = c.cluster();
  cluster.device.achieved = inference_rates(p, c.on.hardware, stack, c.plan);
  return {c, stack, cluster, {request_seconds(p, stack), first_wave_seconds(p, stack)}};
}

}  // namespace llmcalc
