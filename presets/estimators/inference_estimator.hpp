#pragma once
/// Estimator of inference. It determines the rates that a device achieves in prefill and decode, from the device's
/// architecture and the engine. These rates only change how the rows of calc/price.hpp are priced, not the rows.
///
/// A pass depends on about twenty of the parameters; no parameter is specific to one type of device. Each has physical
/// bounds and a default with a public source. `llmcalc-fit inference --out` fits them to published measurements,
/// regularized toward the defaults, and writes presets/estimates/inference.json.

#include <array>
#include <cstdint>

#include "calc/device.hpp"
#include "calc/plan.hpp"
#include "presets/estimators/estimate.hpp"
#include "presets/hardware_file.hpp"

namespace llmcalc {

enum class InferenceParameter : std::uint8_t {
  memory_ampere,
  memory_hopper,
  memory_blackwell,
  memory_consumer,
  memory_unified,
  memory_apple,
  memory_neuron,
  memory_gaudi,
  memory_cdna,
  memory_rdna,
  memory_other,
  matmul_ampere,
  matmul_hopper,
  matmul_blackwell,
  matmul_consumer,
  matmul_unified,
  matmul_apple,
  matmul_neuron,
  matmul_gaudi,
  matmul_cdna,
  matmul_rdna,
  matmul_other,
  narrow,
  narrow_cdna,
  weight_only,
  own_products,
  vulkan,
  exposed,
  flash,
  flash_own,
  experts,
  scan,
  kernel_recorded,
  kernel_vllm,
  kernel_prompt,
  kernel_tensorrt,
  kernel_compiled,
  kernel_cuda,
  kernel_metal,
  kernel_local,
  kernel_eager,
  step_vllm,
  step_vllm_legacy,
  step_tensorrt,
  step_tensorrt_legacy,
  step_server,
  step_neuron,
  sequence_vllm,
  sequence_tensorrt,
  sequence_server,
  request_vllm,
  request_tensorrt,
  request_server,
  first_wave_vllm,
  first_wave_tensorrt,
  first_wave_server,
  link,
  link_host,
  link_host_tensorrt,
  start,
  start_library,
  start_host
};
inline constexpr std::size_t inference_parameter_count = 62;

/// Cards in the order of InferenceParameter.
extern const std::array<ParameterCard, inference_parameter_count> inference_parameter_cards;

struct InferenceParameters : ParameterValues<InferenceParameter, inference_parameter_count> {
  InferenceParameters() : ParameterValues(inference_parameter_cards) {}
};

/// Classes of devices. Devices in one class achieve similar fractions of their datasheet rates in inference.
enum class Chip : std::uint8_t {
  ampere,
  hopper,
  blackwell,
  consumer,
  unified,
  apple,
  neuron,
  gaudi,
  cdna,
  rdna,
  other
};
Chip chip_of(const HardwareCard& card);

/// How an engine launches the kernels of a decode step.
enum class Launching : std::uint8_t {
  recorded,      ///< replays captured CUDA graphs, or runs a compiled program
  compiled,      ///< fused kernels, one by one, from C++ or a compiler
  local,         ///< kernels launched one by one from C++: llama.cpp, Metal
  local_graphs,  ///< like `local`, but decode steps replay CUDA graphs on NVIDIA devices: llama.cpp since May 2024
  eager,         ///< PyTorch, one operator at a time
  persistent     ///< a single persistent kernel per step
};
/// Type of the engine's loop around the passes, which schedules requests, samples tokens and returns text.
enum class ServingLoop : std::uint8_t { none, vllm, vllm_legacy, tensorrt, tensorrt_legacy, server, neuron };

/// Properties of an inference engine that affect time.
struct InferenceStack {
  Launching launching = Launching::recorded;
  ServingLoop loop = ServingLoop::vllm;
  bool own_products = false;  ///< whether prompt matmuls run in the engine's own kernels, not in the vendor's library
  bool own_collectives = false;  ///< whether collectives run in the engine's own kernels, not in a library
  bool prompts_first = false;    ///< whether passes contain only prompts while prompts wait (Batching::prompts_first)
  bool half_sums = false;  ///< whether matmuls accumulate in fp16, which is twice as fast as fp32 on GeForce cards
  bool vulkan = false;     ///< whether kernels are Vulkan shaders instead of the vendor's language
  bool operator==(const InferenceStack&) const = default;
};

/// Rates that a device achieves in inference with an engine. Rates measured on the device are kept unchanged.
Achieved inference_rates(const InferenceParameters& p, const HardwareCard& card, const InferenceStack& stack,
                         const Plan& plan);

/// Factor on the estimated times of a machine's passes after one of its runs has taken `ratio` times its estimate: the
/// square root, because about half of a run's error is specific to the run (docs/estimates.md).
double paced_by(double ratio);

/// Time that a serving engine spends on a request outside its passes: web server, tokenizer, queue. 0 without a server.
Seconds request_seconds(const InferenceParameters& p, const InferenceStack& stack);
/// Delay of the first pass of a benchmark whose clients start together: connections, and kernels compiled, tuned or
/// loaded at their first use.
Seconds first_wave_seconds(const InferenceParameters& p, const InferenceStack& stack);

/// Predicted quantities, grouped by accuracy.
enum class InferenceClass : std::uint8_t {
  decode,         ///< decode at a fixed batch size
  served_decode,  ///< decode while other requests' prompts are processed
  whole_batch,
  prefill,
  first_token,  ///< time to first token while other requests run
  assumed,      ///< any quantity with an assumed input that strongly affects it
  pooled,       ///< any other quantity of servers with drafts, or with separate engines for prompts
  pooled_first  ///< time to first token of such servers
};
template <>
inline constexpr auto choices<InferenceClass> =
    std::array{Choice{InferenceClass::decode, "decode"},
               Choice{InferenceClass::served_decode, "decode under load"},
               Choice{InferenceClass::whole_batch, "whole batch"},
               Choice{InferenceClass::prefill, "prefill"},
               Choice{InferenceClass::first_token, "first token"},
               Choice{InferenceClass::assumed, "assumed input"},
               Choice{InferenceClass::pooled, "drafts or pools"},
               Choice{InferenceClass::pooled_first, "first token of drafts or pools"}};

/// The fitted estimator: presets/estimates/inference.json.
using InferenceEstimator = Estimator<InferenceParameters, InferenceClass>;
/// The fitted estimator, which is read on first use.
const InferenceEstimator& inference_estimator();
InferenceEstimator read_inference_estimator(const json::Value& value, const std::string& where);
json::Value inference_estimator_json(const InferenceEstimator& e);

}  // namespace llmcalc
