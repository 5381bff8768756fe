// The bytes that an optimizer holds and moves.

#include "calc/memory.hpp"

namespace llmcalc {

bool keeps_master(const Plan& plan) { return plan.master && training_weights(plan).format().element_bits < 32; }

Bytes optimizer_bytes(const Plan& plan, const Learned& numbers) {
  const Count n = numbers.trained();
  const Bytes master = keeps_master(plan) ? Bytes(mul(4, n)) : Bytes();
  switch (plan.optimizer) {
    case Optimizer::sgd:
      return master;
    case Optimizer::momentum:
    case Optimizer::lion:
      return master + bytes_of(plan.state_precision, n);
    case Optimizer::adam:
      return master + bytes_of(plan.state_precision, mul(2, n));
    case Optimizer::adam8bit:
      return master + Bytes(add(mul(2, n), mul(8, ceil_div(n, 256))));
    case Optimizer::adafactor:
      return master + Bytes(mul(4, numbers.factored));
    case Optimizer::muon:
      return master + bytes_of(plan.state_precision, add(n, numbers.adamw));
  }
  return master;
}

Bytes summed_gradients(const States& s, const Plan& plan) {
  return Bytes(mul(s.gradients.value / plan.gradient_bytes, summed_gradient_bytes(plan)));
}

Bytes optimizer_traffic(const States& s, const Plan& plan) {
  const Bytes weights_read = keeps_master(plan) ? Bytes() : s.weights;
  return 2 * s.optimizer + summed_gradients(s, plan) + s.weights + weights_read;
}

}  // namespace llmcalc
