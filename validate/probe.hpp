#pragma once
/// Short measurements of a backend, one per term of the roofline. Random inputs; results are medians.

#include "calc/device.hpp"
#include "calc/plan.hpp"
#include "calc/units.hpp"
#include "model/backend.hpp"

namespace llmcalc::validate {

struct MatmulSize {
  Count rows = 0, out = 0, in = 0;
  double flops() const { return 2.0 * static_cast<double>(rows * out * in); }
};

/// y = x W' with operands as near to the processor as possible, including launch time.
Seconds matmul_seconds(model::Backend& b, const MatmulSize& s);

/// `layers` square layers in direct succession, forward and backward, so that operands come from memory, as in a step.
Seconds layers_seconds(model::Backend& b, Count rows, Count width, Count layers);

/// Bytes read and written per second by a copy of this size.
BytesPerSecond copy_bandwidth(model::Backend& b, Bytes bytes);

/// FLOP/s of the attention core with 12 heads of width 64.
CoreRates core_rates(model::Backend& b, AttentionImpl how, Count sequences, Count tokens);
/// The same for flash attention without tensor cores; 0 if a backend has only one attention kernel.
CoreRates plain_core_rates(model::Backend& b, Count sequences, Count tokens);

/// Activation evaluations per second, one per element forward and two backward: GELU of rows x 3072 elements in each of
/// 12 layers.
double function_rate(model::Backend& b, Count rows);

/// Bytes per second of an addition whose three tensors take `bytes` together. `launch`: its time with almost no work,
/// which is subtracted.
BytesPerSecond addition_bandwidth(model::Backend& b, Bytes bytes, Seconds launch);

/// Time of an operator with almost no work, and of its gradient: a pass and a step of a model of width 16, divided by
/// its operators.
struct OperatorSeconds {
  Seconds forward, backward;
};
OperatorSeconds operator_seconds(model::Backend& b);
/// Only the forward time, with every operator of a pass launched by the host.
Seconds forward_operator_seconds(model::Backend& b);

/// Operator times when a backend runs steps from CUDA graphs, without launches by the host: the time that layers add to
/// a decoded token, and to a training step, with the update counted among the gradients.
OperatorSeconds recorded_operator_seconds(model::Backend& b);

/// FLOPs of one matmul as counted by the device, relative to its actual FLOPs. Throws std::runtime_error.
double counted_share(model::Backend& b, const MatmulSize& s);

}  // namespace llmcalc::validate
