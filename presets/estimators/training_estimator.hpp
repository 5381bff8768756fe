#pragma once
/// Estimator of a training step. It determines the rates that a device achieves from its architecture and software.
/// These rates only change how the engine's rows are priced, not the rows (calc/roofline.hpp,
/// calc/step/row_time.hpp).
///
/// A step's time depends on at most 40 parameters; no parameter is specific to one type of GPU. Each has physical
/// bounds and a default with a public source. `llmcalc-fit training --out` fits them to published measurements,
/// regularized toward the defaults, and writes presets/estimates/training.json.

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

/// Cards in the order of TrainingParameter.
extern const std::array<ParameterCard, training_parameter_count> training_parameter_cards;

struct TrainingParameters : ParameterValues<TrainingParameter, training_parameter_count> {
  TrainingParameters() : ParameterValues(training_parameter_cards) {}
};

/// Classes of architectures. Devices in one class achieve similar fractions of their peaks.
enum class Silicon : std::uint8_t { volta, ampere, hopper, blackwell, consumer, other };
/// Class of a device's architecture, from its hardware file.
Silicon silicon_of(const HardwareCard& card);

/// How much element-wise work a training stack fuses, and how it launches kernels.
enum class Fusion : std::uint8_t {
  megatron,  ///< Megatron-LM: fused bias, GELU, dropout, softmax and norms; PyTorch launches them
  tuned,     ///< TransformerEngine's modules, or other custom kernels: few kernels that are fast to launch
  compiled,  ///< compiler output: torch.compile, XLA
  eager,     ///< PyTorch, operator by operator
  unfused,   ///< eager, with hooks around modules and float32 tensors between them (DeepSpeed)
  native     ///< one C++ program or one captured graph, without host overhead
};
/// Attention kernels in training.
enum class CoreKernel : std::uint8_t { unfused, fused_softmax, flash_1, flash_2, vendor };

/// Overlap of a layer's tensor-parallel collectives.
enum class TensorCollectives : std::uint8_t {
  waited_for,
  beside_weights,  ///< backward collectives overlap with weight gradients that do not depend on them
  overlapped       ///< all collectives are split up and overlap with the adjacent matmuls
};

/// Properties of a training stack that affect time.
struct TrainingStack {
  Fusion fusion = Fusion::megatron;
  CoreKernel core = CoreKernel::flash_2;
  bool writes_norms = false;   ///< whether RMSNorm is a chain of PyTorch operators
  bool loops_experts = false;  ///< whether each expert has a separate matmul instead of a grouped matmul
  TensorCollectives tensor_collectives = TensorCollectives::waited_for;
  bool hides_data = false;     ///< whether data-parallel collectives overlap with layers
  bool hides_experts = false;  ///< whether expert-parallel exchanges overlap with another micro-batch
  bool graphs = false;         ///< whether captured CUDA graphs launch the kernels, without host time per operator
  bool operator==(const TrainingStack&) const = default;
};

/// Rates that a device achieves in training with a stack. Rates measured on the device are kept unchanged.
Achieved training_rates(const TrainingParameters& p, const HardwareCard& card, const TrainingStack& stack);

/// Runs, grouped by prediction accuracy.
enum class EstimateClass : std::uint8_t {
  dense,    ///< fully specified runs of dense models
  assumed,  ///< an assumed input strongly affects time, or the fit has no measurements on the device's architecture
  experts   ///< mixtures of experts
};
template <>
inline constexpr auto choices<EstimateClass> =
    std::array{Choice{EstimateClass::dense, "dense"}, Choice{EstimateClass::assumed, "assumed input"},
               Choice{EstimateClass::experts, "experts"}};

/// Accuracy class of a run. `assumed`: whether an input that strongly affects time was assumed.
EstimateClass estimate_class(const Arch& arch, const HardwareCard& card, bool assumed);

/// Factor for the estimated times of other plans on the same machine and software, given `measured_scale`, the ratio of
/// estimated to measured throughput of one plan. The factor is its square root, because half of the error is specific
/// to the run: of the exponents 0, 1/4, 1/2, 3/4 and 1, 1/2 best predicts held-out runs from other runs of the same
/// source (90 % of dense runs are within a factor of 1.21, compared with 1.24 and 1.26 for the exponents 1 and 0).
double rescale(double measured_scale);

/// The fitted estimator: presets/estimates/training.json.
using TrainingEstimator = Estimator<TrainingParameters, EstimateClass>;
/// The fitted estimator, which is read on first use.
const TrainingEstimator& training_estimator();
TrainingEstimator read_training_estimator(const json::Value& value, const std::string& where);
json::Value training_estimator_json(const TrainingEstimator& e);

}  // namespace llmcalc
