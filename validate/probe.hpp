#pragma once
/// Short measurements of a backend, one per term of the roofline. Inputs are random; results are medians.

#include "calc/device.hpp"
#include "calc/plan.hpp"
#include "calc/units.hpp"
#include "model/backend.hpp"

namespace llmcalc::validate {

struct MatmulSize {
  Count rows = 0, out = 0, in = 0;
  double flops() const { return 2.0 * static_cast<double>(rows * out * in); }
};

/// Time of y = x W' with operands cached as close to the processor as possible, including launch time.
Seconds matmul_seconds(model::Backend& b, const MatmulSize& s);

/// Time of `layers` consecutive square layers, forward and backward, whose operands are read from memory, as in a step.
Seconds layers_seconds(model::Backend& b, Count rows, Count width, Count layers);

/// Bytes read and written per second by a copy of `bytes` bytes.
BytesPerSecond copy_bandwidth(model::Backend& b, Bytes bytes);

/// FLOP/s of the attention core with 12 heads of width 64.
CoreRates core_rates(model::Backend& b, AttentionImpl how, Count sequences, Count tokens);
/// Like core_rates(), for flash attention without tensor cores; 0 if a backend has only one attention kernel.
CoreRates plain_core_rates(model::Backend& b, Count sequences, Count tokens);

/// Activation evaluations per second, counted as one per element in forward and two in backward: GELU of rows x 3072
/// elements in each of 12 layers.
double function_rate(model::Backend& b, Count rows);

/// Bytes per second of an addition whose three tensors occupy `bytes` bytes in total. `launch`: time of an addition
/// with almost no work, which is subtracted.
BytesPerSecond addition_bandwidth(model::Backend& b, Bytes bytes, Seconds launch);

/// Time of an operator with almost no work, and of its gradient: the time of a pass and of a step of a model of width
/// 16, divided by the number of operators.
struct OperatorSeconds {
  Seconds forward, backward;
};
OperatorSeconds operator_seconds(model::Backend& b);
/// Only the forward time, with every operator of a pass launched by the host.
Seconds forward_operator_seconds(model::Backend& b);

/// Operator times on a backend that replays steps from CUDA graphs, so the host launches no kernels. `forward` is the
/// time per operator that extra layers add to a decoded token. `backward` is the additional time that they add to a
/// training step, including the update.
OperatorSeconds recorded_operator_seconds(model::Backend& b);

/// FLOPs of one matmul as counted by the device, relative to its actual FLOPs. Throws std::runtime_error if they cannot
/// be counted.
double counted_share(model::Backend& b, const MatmulSize& s);

}  // namespace llmcalc::validate
