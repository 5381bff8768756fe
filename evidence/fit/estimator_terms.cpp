#include "evidence/fit/estimator_terms.hpp"

#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

namespace {

template <typename P>
constexpr std::size_t at(P parameter) {
  return static_cast<std::size_t>(parameter);
}

const std::vector<EstimatorTerm>& terms_of_training() {
  using P = TrainingParameter;
  static const std::vector<EstimatorTerm> all{
      {"host",
       "host-side launch of kernels and collectives takes no time",
       {{at(P::kernel_tuned), 0},
        {at(P::kernel_torch), 0},
        {at(P::kernel_deepspeed), 0},
        {at(P::collective), 0},
        {at(P::step), 0}}},
      {"launch", "kernels have no launch overhead", {{at(P::launch), 0}}},
      {"fusion",
       "every stack moves exactly the counted bytes",
       {{at(P::elementwise_megatron), 1},
        {at(P::elementwise_tuned), 1},
        {at(P::elementwise_eager), 1},
        {at(P::elementwise_unfused), 1},
        {at(P::elementwise_compiled), 1},
        {at(P::norm), 1},
        {at(P::scores), 1}}},
      {"architecture",
       "large matrix products reach 0.7 of the peak on every device",
       {{at(P::matmul_volta), 0.7},
        {at(P::matmul_ampere), 0.7},
        {at(P::matmul_hopper), 0.7},
        {at(P::matmul_blackwell), 0.7},
        {at(P::matmul_consumer), 0.7},
        {at(P::matmul_other), 0.7}}},
      {"attention",
       "every attention kernel reaches 0.6 of the peak",
       {{at(P::flash_1), 0.6}, {at(P::flash_2_ampere), 0.6}, {at(P::flash_2_hopper), 0.6}, {at(P::flash_vendor), 0.6}}},
      {"size", "small matrix products are as efficient as large ones", {{at(P::half_matmul), 0}}},
      {"exposed", "memory traffic of a matrix product is fully overlapped with its arithmetic", {{at(P::exposed), 0}}},
      {"links", "collectives reach the full link bandwidth", {{at(P::link), 1}, {at(P::network), 1}}},
      {"latency",
       "collectives have no start-up time and no latency per round",
       {{at(P::start), 0}, {at(P::round_inside), 0}, {at(P::round_between), 0}}},
      {"overlap",
       "all communication that can be overlapped is overlapped",
       {{at(P::hidden_tensor), 1}, {at(P::hidden_data), 1}}},
      {"send", "pipeline stages do not wait for messages between slots", {{at(P::send), 0}, {at(P::send_chunks), 0}}},
      {"experts", "matrix products of experts are as efficient as others", {{at(P::experts), 1}}},
  };
  return all;
}

const std::vector<EstimatorTerm>& terms_of_inference() {
  using P = InferenceParameter;
  static const std::vector<EstimatorTerm> all{
      {"architecture",
       "every device reaches 0.8 of its memory bandwidth and 0.6 of its peak",
       {{at(P::memory_ampere), 0.8},   {at(P::memory_hopper), 0.8},    {at(P::memory_blackwell), 0.8},
        {at(P::memory_consumer), 0.8}, {at(P::memory_unified), 0.8},   {at(P::memory_apple), 0.8},
        {at(P::memory_neuron), 0.8},   {at(P::memory_gaudi), 0.8},     {at(P::memory_cdna), 0.8},
        {at(P::memory_rdna), 0.8},     {at(P::memory_other), 0.8},     {at(P::matmul_ampere), 0.6},
        {at(P::matmul_hopper), 0.6},   {at(P::matmul_blackwell), 0.6}, {at(P::matmul_consumer), 0.6},
        {at(P::matmul_apple), 0.6},    {at(P::matmul_neuron), 0.6},    {at(P::matmul_gaudi), 0.6},
        {at(P::matmul_unified), 0.6},  {at(P::matmul_cdna), 0.6},      {at(P::matmul_rdna), 0.6},
        {at(P::matmul_other), 0.6}}},
      {"formats",
       "low-precision, weight-only and engine-specific matrix products are as efficient as others",
       {{at(P::narrow), 1}, {at(P::weight_only), 1}, {at(P::own_products), 1}, {at(P::vulkan), 1}}},
      {"exposed",
       "the shorter of arithmetic and memory traffic of a matrix product is fully overlapped",
       {{at(P::exposed), 0}}},
      {"attention", "attention reaches 0.6 of the peak", {{at(P::flash), 0.6}, {at(P::flash_own), 0.6}}},
      {"experts", "matrix products of experts are as efficient as others", {{at(P::experts), 1}}},
      {"launch",
       "kernels have no launch overhead",
       {{at(P::kernel_recorded), 0},
        {at(P::kernel_vllm), 0},
        {at(P::kernel_prompt), 0},
        {at(P::kernel_tensorrt), 0},
        {at(P::kernel_compiled), 0},
        {at(P::kernel_cuda), 0},
        {at(P::kernel_metal), 0},
        {at(P::kernel_local), 0},
        {at(P::kernel_eager), 0}}},
      {"scan", "a layer of linear attention is one kernel", {{at(P::scan), 1}}},
      {"step",
       "the engine adds no time per pass",
       {{at(P::step_vllm), 0},
        {at(P::step_vllm_legacy), 0},
        {at(P::step_tensorrt), 0},
        {at(P::step_tensorrt_legacy), 0},
        {at(P::step_server), 0},
        {at(P::step_neuron), 0}}},
      {"sequence",
       "the engine adds no time per sequence of a pass",
       {{at(P::sequence_vllm), 0}, {at(P::sequence_tensorrt), 0}, {at(P::sequence_server), 0}}},
      {"request",
       "the engine adds no time per request",
       {{at(P::request_vllm), 0}, {at(P::request_tensorrt), 0}, {at(P::request_server), 0}}},
      {"first-wave",
       "the first requests of clients that start together wait no longer than others",
       {{at(P::first_wave_vllm), 0}, {at(P::first_wave_tensorrt), 0}, {at(P::first_wave_server), 0}}},
      {"links",
       "collectives have no start-up time and reach the full link bandwidth",
       {{at(P::link), 1},
        {at(P::link_host), 1},
        {at(P::link_host_tensorrt), 1},
        {at(P::start), 0},
        {at(P::start_library), 0},
        {at(P::start_host), 0}}},
  };
  return all;
}

}  // namespace

std::span<const EstimatorTerm> estimator_terms(AccuracyKind kind) {
  if (kind == AccuracyKind::training) return terms_of_training();
  if (kind == AccuracyKind::inference) return terms_of_inference();
  return {};
}

}  // namespace llmcalc
