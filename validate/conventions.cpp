#include "validate/conventions.hpp"

#include "calc/parameters.hpp"
#include "calc/train.hpp"

namespace llmcalc::validate {

std::vector<Convention> conventions(const Arch& arch, const Plan& plan) {
  const TrainingFlops done = training_flops(arch, plan);
  const Parameters p = parameters(arch);
  const double tokens = static_cast<double>(mul(plan.micro_batch, plan.seq));
  const double six_n = 6 * static_cast<double>(p.active), positions = 6 * static_cast<double>(p.position);
  const double pairs = static_cast<double>(mul(arch.layers, arch.heads, arch.head_dim, plan.seq));
  return {{"model", "operator by operator", static_cast<double>(done.model_total.value) / tokens},
          {"llm_c", "6N + 6 L A d S", six_n + 6 * pairs},
          {"palm", "6N + 12 L A d S", six_n + 12 * pairs},
          {"nanogpt", "the same, N without positions", six_n - positions + 12 * pairs},
          {"six_n", "6N", six_n},
          {"executed", "what the kernels do", static_cast<double>(done.executed.value) / tokens}};
}

}  // namespace llmcalc::validate
