#pragma once
/// The estimator of inference: what a device reaches in prefill and decode, from its architecture and the engine that
/// runs on it. The rows of calc/price.hpp stay as they are, and are priced at other rates.
///
/// A pass depends on at most 40 parameters, none of which belongs to a single type of device. Each has physical bounds
/// and a default with a public source; `llmcalc accuracy inference --fit` fits them to published measurements, with a
/// pull towards the defaults, and writes presets/estimates/inference.json.

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
  memory_amd,
  memory_other,
  matmul_ampere,
  matmul_hopper,
  matmul_blackwell,
  matmul_consumer,
  matmul_apple,
  matmul_neuron,
  matmul_gaudi,
  matmul_other,
  narrow,
  weight_only,
  own_products,
  exposed,
  flash,
  experts,
  kernel_recorded,
  kernel_compiled,
  kernel_local,
  kernel_eager,
  step_vllm,
  step_vllm_legacy,
  step_tensorrt,
  step_tensorrt_legacy,
  step_server,
  step_neuron,
  request,
  link,
  link_host,
  start,
  start_library,
  start_host
};
inline constexpr std::size_t inference_parameter_count = 40;

/// In the order of InferenceParameter.
extern const std::array<ParameterCard, inference_parameter_count> inference_parameter_cards;

struct InferenceParameters : ParameterValues<InferenceParameter, inference_parameter_count> {
  InferenceParameters() : ParameterValues(inference_parameter_cards) {}
};

/// Devices that reach a like share of their datasheet in inference.
enum class Chip : std::uint8_t { ampere, hopper, blackwell, consumer, unified, apple, neuron, gaudi, amd, other };
Chip chip_of(const HardwareCard& card);

/// How an engine puts the kernels of a decode step on the device.
enum class Launching : std::uint8_t {
  recorded,   ///< replays a recording (CUDA graphs), or runs a compiled program
  compiled,   ///< fused kernels, one by one, from C++ or a compiler
  local,      ///< kernel by kernel from C++: llama.cpp, Metal
  eager,      ///< PyTorch, operator by operator
  persistent  ///< one kernel for a step
};
/// The loop around the passes, which schedules requests, samples and returns text.
enum class ServingLoop : std::uint8_t { none, vllm, vllm_legacy, tensorrt, tensorrt_legacy, server, neuron };

/// An engine, as far as time depends on it.
struct InferenceStack {
  Launching launching = Launching::recorded;
  ServingLoop loop = ServingLoop::vllm;
  bool own_products = false;   ///< products of prompts by kernels of its own, not of the vendor's library
  bool own_exchanges = false;  ///< exchanges by kernels of its own, not of a library for collectives
  bool prompts_first = false;  ///< passes of prompts alone as long as one waits (Batching::prompts_first)
  bool half_sums = false;      ///< sums products in fp16, which GeForce cards do at twice the rate of fp32 sums
  bool operator==(const InferenceStack&) const = default;
};

/// What a device reaches in inference under an engine. What was measured on the device itself stays.
Achieved inference_rates(const InferenceParameters& p, const HardwareCard& card, const InferenceStack& stack,
                         const Plan& plan);

/// Seconds of a request besides passes, under an engine that serves.
Seconds request_seconds(const InferenceParameters& p, const InferenceStack& stack);

/// Figures that are predicted about as well.
enum class InferenceClass : std::uint8_t {
  decode,         ///< of a fixed batch
  served_decode,  ///< beside other requests' prompts
  whole_batch,
  prefill,
  first_token,  ///< beside other requests
  assumed       ///< of either: something that time depends on strongly is assumed, or no such device was measured
};
template <>
inline constexpr auto choices<InferenceClass> = std::array{
    Choice{InferenceClass::decode, "decode"},           Choice{InferenceClass::served_decode, "decode under load"},
    Choice{InferenceClass::whole_batch, "whole batch"}, Choice{InferenceClass::prefill, "prefill"},
    Choice{InferenceClass::first_token, "first token"}, Choice{InferenceClass::assumed, "assumed input"}};

/// The fitted estimator: presets/estimates/inference.json.
using InferenceEstimator = Estimator<InferenceParameters, InferenceClass>;
/// The class of a figure of that class on a device that no row of the fit was measured on: the wider of its own and
/// that of assumed inputs.
InferenceClass class_on_unmeasured(const InferenceEstimator& e, InferenceClass kind);
/// Read when it is first asked for.
const InferenceEstimator& inference_estimator();
InferenceEstimator read_inference_estimator(const json::Value& value, const std::string& where);
json::Value inference_estimator_json(const InferenceEstimator& e);

}  // namespace llmcalc
