#include "evidence/training_fit.hpp"

namespace llmcalc {

const std::vector<EstimatorTerm>& estimator_terms() {
  using P = TrainingParameter;
  static const std::vector<EstimatorTerm> all{
      {"host",
       "the host takes no time to put kernels and collectives on the device",
       {{P::kernel_tuned, 0}, {P::kernel_torch, 0}, {P::kernel_deepspeed, 0}, {P::collective, 0}, {P::step, 0}}},
      {"launch", "kernels start and end at once", {{P::launch, 0}}},
      {"fusion",
       "every stack moves the bytes that are counted",
       {{P::elementwise_megatron, 1},
        {P::elementwise_tuned, 1},
        {P::elementwise_eager, 1},
        {P::elementwise_unfused, 1},
        {P::elementwise_compiled, 1},
        {P::norm, 1},
        {P::scores, 1}}},
      {"architecture",
       "large products reach 0.7 of every device's peak",
       {{P::matmul_volta, 0.7},
        {P::matmul_ampere, 0.7},
        {P::matmul_hopper, 0.7},
        {P::matmul_blackwell, 0.7},
        {P::matmul_consumer, 0.7},
        {P::matmul_other, 0.7}}},
      {"attention",
       "attention runs at 0.6 of the peak in every kernel",
       {{P::flash_1, 0.6}, {P::flash_2_ampere, 0.6}, {P::flash_2_hopper, 0.6}, {P::flash_vendor, 0.6}}},
      {"size", "small products are as efficient as large ones", {{P::half_matmul, 0}}},
      {"exposed", "a product's bytes hide behind its arithmetic", {{P::exposed, 0}}},
      {"links", "collectives reach the bandwidth of the links", {{P::link, 1}, {P::network, 1}}},
      {"latency",
       "collectives start at once, and their rounds do not wait",
       {{P::start, 0}, {P::round_inside, 0}, {P::round_between, 0}}},
      {"overlap", "all that can be hidden is hidden", {{P::hidden_tensor, 1}, {P::hidden_data, 1}}},
      {"send", "stages do not wait for messages between their slots", {{P::send, 0}, {P::send_chunks, 0}}},
      {"experts", "products of experts are as efficient as others", {{P::experts, 1}}},
  };
  return all;
}

}  // namespace llmcalc
