#include "ask/answer/conventions.hpp"

#include "calc/textbook/flops.hpp"
#include "calc/train.hpp"

namespace llmcalc {

std::array<Convention, convention_count> conventions(const Arch& arch, const Plan& plan, const Layout& layout,
                                                     const Cluster& cluster) {
  const TrainingFlops done = training_flops(arch, plan, layout, cluster);
  const Parameters p = parameters(arch);
  const double tokens = static_cast<double>(mul(plan.micro_batch, plan.seq));
  const auto palm = [&](Count n, bool causal) {
    return static_cast<double>(textbook::palm_flops_per_token(n, textbook::query_widths(arch), plan.seq, causal).value);
  };
  const auto per_token = [&](Flops f) { return static_cast<double>(f.value) / tokens; };
  const auto executed = [&] {  // includes the optimizer
    const double micro_batches = per_token(done.executed);
    if (!traits(plan.optimizer).orthogonalizes) return micro_batches;
    const double of_step = static_cast<double>(mul(plan.global_batch, plan.seq));
    return micro_batches + static_cast<double>(update_flops(arch, plan).value) / of_step;
  };
  const auto model = [&](AttentionFlops counted) {
    Plan other = plan;
    other.attention_flops = counted;
    return per_token(training_flops(arch, other).model_total);
  };
  return {{{"model", "sum over operators", per_token(done.model_total)},
           {"model_full", "same, all query-key pairs", model(AttentionFlops::full)},
           {"model_causal_half", "same, half of the pairs", model(AttentionFlops::causal_half)},
           {"model_causal_exact", "same, causal pairs only", model(AttentionFlops::causal_exact)},
           {"llm_c", "6N + 6 L A d S", palm(p.active, true)},
           {"palm", "6N + 12 L A d S", palm(p.active, false)},
           {"nanogpt", "same, N without position embeddings", palm(p.active - p.position, false)},
           {"six_n", "6N", static_cast<double>(textbook::six_nd(p.active, 1).value)},
           {"hardware", "model FLOPs plus recomputation (HFU)", per_token(done.hardware_total)},
           {"executed", "FLOPs executed by the kernels", executed()}}};
}

}  // namespace llmcalc
