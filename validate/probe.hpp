#pragma once
/// Short measurements of a backend: each is what one term of the roofline stands for. Random numbers in, medians out.

#include "calc/device.hpp"
#include "calc/plan.hpp"
#include "calc/units.hpp"
#include "model/backend.hpp"

namespace llmcalc::validate {

struct MatmulSize {
  Count rows = 0, out = 0, in = 0;
  double flops() const { return 2.0 * static_cast<double>(rows * out * in); }
};

/// y = x W' with everything as near to the processor as it can be, an operator's own time among it.
Seconds matmul_seconds(model::Backend& b, const MatmulSize& s);

/// As many square layers without anything between them, forward and backward: operands come from memory, as in a step.
Seconds layers_seconds(model::Backend& b, Count rows, Count width, Count layers);

/// Bytes read and written per second by a copy of this size.
BytesPerSecond copy_bandwidth(model::Backend& b, Bytes bytes);

/// FLOP/s of attention's core: 12 heads of 64.
CoreRates core_rates(model::Backend& b, AttentionImpl how, Count sequences, Count tokens);
/// The same of flash attention without tensor cores; 0 where a backend has only one way.
CoreRates plain_core_rates(model::Backend& b, Count sequences, Count tokens);

/// Evaluations per second of an activation, one per number forward and two backward: GELU of rows x 3072 numbers in
/// each of 12 layers.
double function_rate(model::Backend& b, Count rows);

/// Bytes per second of an addition whose three tensors take `bytes` together; `launch`: of its time, what it takes with
/// next to nothing to do.
BytesPerSecond addition_bandwidth(model::Backend& b, Bytes bytes, Seconds launch);

/// Time of an operator with next to no work, and of its gradient: a pass and a step of a model of 16
/// numbers' width, over its operators.
struct OperatorSeconds {
  Seconds forward, backward;
};
OperatorSeconds operator_seconds(model::Backend& b);
/// Its first part alone: the host asks for every operator of a pass.
Seconds forward_operator_seconds(model::Backend& b);

/// Operator times when a backend runs steps from CUDA graphs, without launches by the host: what layers add to a token
/// that is decoded, and to a training step, its update among the gradients.
OperatorSeconds recorded_operator_seconds(model::Backend& b);

/// FLOPs that the device's counters see of one product, over those that it has. Throws std::runtime_error.
double counted_share(model::Backend& b, const MatmulSize& s);

}  // namespace llmcalc::validate
