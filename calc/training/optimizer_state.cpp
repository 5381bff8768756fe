// Bytes that an optimizer stores and moves.

#include "calc/memory.hpp"

namespace llmcalc {

bool keeps_master(const Plan& plan) { return plan.master && training_weights(plan).format().element_bits < 32; }

namespace {

/// Bytes of the moments, excluding a master copy.
Bytes moment_bytes(const Plan& plan, const Learned& numbers) {
  const OptimizerTraits& t = traits(plan.optimizer);
  const Count n = numbers.trained();
  switch (t.storage) {
    case MomentStorage::plain:
      return bytes_of(plan.state_precision,
                      add(mul(t.matrix_moments, n), mul(t.moments - t.matrix_moments, numbers.adamw)));
    case MomentStorage::coded:
      return coded_moment_bytes(t, n);
    case MomentStorage::factored:
      return Bytes(mul(4, numbers.factored));
  }
  return {};
}

}  // namespace

Bytes optimizer_bytes(const Plan& plan, const Learned& numbers) {
  const Bytes master = keeps_master(plan) ? Bytes(mul(4, numbers.trained())) : Bytes();
  return master + moment_bytes(plan, numbers);
}

Bytes summed_gradients(const States& s, const Plan& plan) {
  return Bytes(mul(s.gradients.value / plan.gradient_bytes, summed_gradient_bytes(plan)));
}

Bytes optimizer_traffic(const States& s, const Plan& plan) {
  const Bytes weights_read = keeps_master(plan) ? Bytes() : s.weights;
  return 2 * s.optimizer + summed_gradients(s, plan) + s.weights + weights_read;
}

}  // namespace llmcalc
