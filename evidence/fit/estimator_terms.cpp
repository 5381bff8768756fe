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
       "the host takes no time to put kernels and collectives on the device",
       {{at(P::kernel_tuned), 0},
        {at(P::kernel_torch), 0},
        {at(P::kernel_deepspeed), 0},
        {at(P::collective), 0},
        {at(P::step), 0}}},
      {"launch", "kernels start and end at once", {{at(P::launch), 0}}},
      {"fusion",
       "every stack moves the bytes that are counted",
       {{at(P::elementwise_megatron), 1},
        {at(P::elementwise_tuned), 1},
        {at(P::elementwise_eager), 1},
        {at(P::elementwise_unfused), 1},
        {at(P::elementwise_compiled), 1},
        {at(P::norm), 1},
        {at(P::scores), 1}}},
      {"architecture",
       "large products reach 0.7 of every device's peak",
       {{at(P::matmul_volta), 0.7},
        {at(P::matmul_ampere), 0.7},
        {at(P::matmul_hopper), 0.7},
        {at(P::matmul_blackwell), 0.7},
        {at(P::matmul_consumer), 0.7},
        {at(P::matmul_other), 0.7}}},
      {"attention",
       "attention runs at 0.6 of the peak in every kernel",
       {{at(P::flash_1), 0.6}, {at(P::flash_2_ampere), 0.6}, {at(P::flash_2_hopper), 0.6}, {at(P::flash_vendor), 0.6}}},
      {"size", "small products are as efficient as large ones", {{at(P::half_matmul), 0}}},
      {"exposed", "a product's bytes hide behind its arithmetic", {{at(P::exposed), 0}}},
      {"links", "collectives reach the bandwidth of the links", {{at(P::link), 1}, {at(P::network), 1}}},
      {"latency",
       "collectives start at once, and their rounds do not wait",
       {{at(P::start), 0}, {at(P::round_inside), 0}, {at(P::round_between), 0}}},
      {"overlap", "all that can be hidden is hidden", {{at(P::hidden_tensor), 1}, {at(P::hidden_data), 1}}},
      {"send", "stages do not wait for messages between their slots", {{at(P::send), 0}, {at(P::send_chunks), 0}}},
      {"experts", "products of experts are as efficient as others", {{at(P::experts), 1}}},
  };
  return all;
}

const std::vector<EstimatorTerm>& terms_of_inference() {
  using P = InferenceParameter;
  static const std::vector<EstimatorTerm> all{
      {"architecture",
       "every device reaches 0.8 of its memory bandwidth and 0.6 of its peak",
       {{at(P::memory_ampere), 0.8},
        {at(P::memory_hopper), 0.8},
        {at(P::memory_blackwell), 0.8},
        {at(P::memory_consumer), 0.8},
        {at(P::memory_unified), 0.8},
        {at(P::memory_apple), 0.8},
        {at(P::memory_neuron), 0.8},
        {at(P::memory_gaudi), 0.8},
        {at(P::memory_amd), 0.8},
        {at(P::memory_other), 0.8},
        {at(P::matmul_ampere), 0.6},
        {at(P::matmul_hopper), 0.6},
        {at(P::matmul_blackwell), 0.6},
        {at(P::matmul_consumer), 0.6},
        {at(P::matmul_apple), 0.6},
        {at(P::matmul_neuron), 0.6},
        {at(P::matmul_gaudi), 0.6},
        {at(P::matmul_other), 0.6}}},
      {"formats",
       "products in few bits, with narrow weights or by an engine's kernels are as efficient as others",
       {{at(P::narrow), 1}, {at(P::weight_only), 1}, {at(P::own_products), 1}}},
      {"exposed", "the shorter of a product's arithmetic and traffic hides", {{at(P::exposed), 0}}},
      {"attention", "attention runs at 0.6 of the peak", {{at(P::flash), 0.6}}},
      {"experts", "products of experts are as efficient as others", {{at(P::experts), 1}}},
      {"launch",
       "kernels start and end at once",
       {{at(P::kernel_recorded), 0}, {at(P::kernel_compiled), 0}, {at(P::kernel_local), 0}, {at(P::kernel_eager), 0}}},
      {"step",
       "a pass costs its engine no time of its own",
       {{at(P::step_vllm), 0},
        {at(P::step_vllm_legacy), 0},
        {at(P::step_tensorrt), 0},
        {at(P::step_tensorrt_legacy), 0},
        {at(P::step_server), 0},
        {at(P::step_neuron), 0}}},
      {"request", "a request takes no time besides passes", {{at(P::request), 0}}},
      {"links",
       "exchanges start at once and reach the bandwidth of the links",
       {{at(P::link), 1}, {at(P::link_host), 1}, {at(P::start), 0}, {at(P::start_library), 0}, {at(P::start_host), 0}}},
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
