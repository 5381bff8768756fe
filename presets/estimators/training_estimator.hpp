#pragma once
/// The estimator of a training step: what a device reaches, from its architecture and the software that runs on it. The
/// engine's rows stay as they are, and are priced at other rates (calc/roofline.hpp, calc/step/row_time.hpp).
///
/// A step's time depends on at most 40 parameters, none of which belongs to a single type of GPU. Each has physical
/// bounds and a default with a public source; `llmcalc accuracy training --fit` fits them to published measurements,
/// with a pull towards the defaults, and writes presets/estimates/training.json.

#include <array>
#include <cstdint>
#include <string_view>

#include "calc/arch.hpp"
#include "calc/choice.hpp"
#include "calc/device.hpp"
#include "presets/estimators/estimate.hpp"
#include "presets/hardware_file.hpp"

namespace llmcalc {

enum class TrainingParameter : std::uint8_t {
  matmul_volta,
  matmul_ampere,
  matmul_hopper,
  matmul_blackwell,
  matmul_consumer,
  matmul_other,
  matmul_fp8,
  matmul_fp4,
  flash_1,
  flash_2_ampere,
  flash_2_hopper,
  flash_vendor,
  flash_backward,
  half_matmul,
  exposed,
  naive_products,
  memory,
  elementwise_megatron,
  elementwise_tuned,
  elementwise_eager,
  elementwise_unfused,
  elementwise_compiled,
  norm,
  scores,
  kernel_tuned,
  kernel_torch,
  kernel_deepspeed,
  collective,
  launch,
  link,
  network,
  start,
  round_inside,
  round_between,
  hidden_tensor,
  hidden_data,
  send,
  send_chunks,
  experts,
  step
};
inline constexpr std::size_t training_parameter_count = 40;

/// In the order of TrainingParameter.
extern const std::array<ParameterCard, training_parameter_count> training_parameter_cards;

struct TrainingParameters : ParameterValues<TrainingParameter, training_parameter_count> {
  TrainingParameters() : ParameterValues(training_parameter_cards) {}
};

/// Architectures that reach a like fraction of their peaks.
enum class Silicon : std::uint8_t { volta, ampere, hopper, blackwell, consumer, other };
/// Of a device, by its hardware file. `known`: the parameters of its class rest on measurements of such devices.
Silicon silicon_of(const HardwareCard& card);

/// How much of its element-wise work a training stack fuses, and how it puts kernels on the device.
enum class Fusion : std::uint8_t {
  megatron,  ///< Megatron-LM: fused bias, GELU, dropout, softmax and norms; PyTorch launches them
  tuned,     ///< TransformerEngine's modules, or kernels of its own: few, and fast to launch
  compiled,  ///< a compiler's: torch.compile, XLA
  eager,     ///< PyTorch, operator by operator
  unfused,   ///< the same with hooks around modules, and float32 between them (DeepSpeed)
  native     ///< one program in C++ or a graph: no host in the way
};
/// Kernels of attention's core in training.
enum class CoreKernel : std::uint8_t { unfused, fused_softmax, flash_1, flash_2, vendor };

/// Exchanges of tensor parallelism in a layer.
enum class TensorExchanges : std::uint8_t {
  waited_for,
  beside_weights,  ///< those of backward that gradients of weights do not wait for run beside these
  overlapped       ///< all run in pieces beside the products that they belong to
};

/// A training stack, as far as time depends on it.
struct TrainingStack {
  Fusion fusion = Fusion::megatron;
  CoreKernel core = CoreKernel::flash_2;
  bool writes_norms = false;   ///< RMSNorm is a chain of PyTorch operators
  bool loops_experts = false;  ///< a product for each expert
  TensorExchanges tensor_exchanges = TensorExchanges::waited_for;
  bool hides_data = false;  ///< exchanges of data parallelism run beside layers
  bool operator==(const TrainingStack&) const = default;
};

/// What a device reaches in training under a stack. What was measured on the device itself stays.
Achieved training_rates(const TrainingParameters& p, const HardwareCard& card, const TrainingStack& stack);

/// Runs that are predicted about as well.
enum class EstimateClass : std::uint8_t {
  dense,    ///< fully stated
  assumed,  ///< something that time depends on strongly is assumed, or the device is of no measured architecture
  experts   ///< mixtures of experts
};
template <>
inline constexpr auto choices<EstimateClass> =
    std::array{Choice{EstimateClass::dense, "dense"}, Choice{EstimateClass::assumed, "assumed input"},
               Choice{EstimateClass::experts, "experts"}};

/// `assumed`: something that time depends on strongly was assumed.
EstimateClass estimate_class(const Arch& arch, const HardwareCard& card, bool assumed);

/// The factor for estimates of other plans on a machine, under the same software, where one plan's estimated
/// throughput is `measured_scale` times the measured one: its square root. Half of what a run is off is the run's own:
/// of the powers 0, 1/4, 1/2, 3/4 and 1 the half predicts left-out runs of one source from one another best (90 % of
/// dense ones within 1.21 times, where 1 and 0 have 1.24 and 1.26).
double rescale(double measured_scale);

/// The fitted estimator: presets/estimates/training.json.
using TrainingEstimator = Estimator<TrainingParameters, EstimateClass>;
/// Read when it is first asked for.
const TrainingEstimator& training_estimator();
TrainingEstimator read_training_estimator(const json::Value& value, const std::string& where);
json::Value training_estimator_json(const TrainingEstimator& e);

}  // namespace llmcalc
