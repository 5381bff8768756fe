#include "report/model/flops_sections.hpp"

#include <fmt/format.h>

#include "ask/request/request.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/textbook.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// The parameter count N in 6N, and its name.
std::pair<Count, std::string> chosen_n(const Request& r) {
  const Parameters p = parameters(r.model.arch);
  switch (r.plan.params_in_6n) {
    case ParamsIn6N::total:
      return {p.total, "total"};
    case ParamsIn6N::non_embedding:
      return {p.non_embedding, "non-embedding"};
    case ParamsIn6N::active:
      return {p.active, "active"};
    case ParamsIn6N::matmul:
      return {p.matmul_active, "matmul"};
  }
  return {p.total, "total"};
}

/// FLOPs per token; an integer if exact.
Quantity per_token(Flops f, Count tokens) {
  const Int128 t = static_cast<Int128>(tokens);
  if (f.value % t == 0) return Flops(f.value / t);
  return static_cast<double>(f.value) / real(tokens);
}

/// Whether the model is a GPT as in the formulas of Megatron and Goon: full-width MHA, plain MLP, serial blocks.
bool is_gpt(const Arch& a) {
  return a.attention == AttentionKind::grouped && a.kv_heads == a.heads && a.heads * a.head_dim == a.hidden &&
         a.mlp == MlpKind::plain && !a.has_experts() && layer_kinds(a).size() == 1 && !layer_kinds(a).begin()->linear &&
         !a.local.reach.limited() && a.recurrent.kind == RecurrentKind::none;
}

TrainingFlops flops_of(const Request& r) {
  return training_flops(r.model.arch, r.plan, r.layout, r.hardware ? r.hardware->cluster : Cluster());
}

}  // namespace

Section flops_section(const Request& r) {
  const Plan& p = r.plan;
  const Count tokens = mul(p.micro_batch, p.seq);
  const TrainingFlops f = flops_of(r);
  Plan alone = p;
  alone.mtp = 0;
  const Work w = whole_flops(r.model.arch, alone, training_step(alone), Phase::training).forward;
  Section s{"flops", fmt::format("FLOPs of one micro-batch, {} x {} tokens", p.micro_batch, p.seq), {}};
  s.add("forward", "forward", f.forward);
  s.add("forward_linear", "  matrices", w.linear);
  s.add("forward_attention", "  attention core", w.core,
        fmt::format("{:.1f} %", 100 * static_cast<double>(w.core.value) / static_cast<double>(w.total().value)));
  s.add("forward_head", "  head", w.head);
  if (p.mtp > 0) s.add("forward_modules", "  modules", f.forward - w.total(), "MTP: projection, layer, head");
  s.add("backward", "backward", f.backward,
        trains_adapters(p) ? "inputs and adapters only; other weights are frozen"
        : trains_part(p)   ? "inputs and trained parameters only"
                           : "2 x forward");
  s.add("recompute", "recomputed", f.recompute);
  s.add("model_total", "model FLOPs", f.model_total, "forward + backward");
  s.add("hardware_total", "hardware FLOPs", f.hardware_total, "including recomputation");
  s.add("executed", "executed FLOPs", f.executed,
        p.attention == AttentionImpl::flash ? "flash kernels" : "naive attention");
  if (traits(p.optimizer).orthogonalizes)
    s.add("optimizer", "optimizer, once per step", update_flops(r.model.arch, p),
          fmt::format("{} Newton-Schulz iterations, executed", p.newton_schulz_steps));
  s.add("per_token", "model FLOPs per token", per_token(f.model_total, tokens), Unit::flops);
  if (const auto equal = w.core.value > 0 ? attention_equals_rest_seq(r.model.arch, p) : std::nullopt)
    s.add("attention_equals_rest_seq", "attention reaches half at", *equal, Unit::tokens, "per sequence");
  return s;
}

Section formulas_section(const Request& r) {
  const Plan& p = r.plan;
  const Arch& a = r.model.arch;
  const Count tokens = mul(p.micro_batch, p.seq);
  const Parameters n = parameters(a);
  const auto [chosen, which] = chosen_n(r);
  Section s{"flops", "published formulas, same micro-batch", {}};
  const auto formula = [&](const char* key, const char* label, Flops value, std::string note) {
    s.add(fmt::format("formulas.{}", key), label, value, std::move(note));
  };
  formula("6nd", "6ND", textbook::six_nd(chosen, tokens),
          fmt::format("N = {}, {}", which, grouped_digits(fmt::format("{}", chosen))));
  const Count widths = textbook::query_widths(a);
  formula("palm", "PaLM", tokens * textbook::palm_flops_per_token(chosen, widths, p.seq), "6N + 12LAd_hS per token");
  formula("palm_causal", "PaLM, causal", tokens * textbook::palm_flops_per_token(chosen, widths, p.seq, true),
          "6N + 6LAd_hS per token");
  formula("kaplan_forward", "Kaplan, forward",
          tokens * textbook::kaplan_flops_per_token(n.non_embedding, widths, p.seq), "2N + 2LSAd_h, non-embedding N");
  if (is_gpt(a) && a.mlp_width % a.hidden == 0)
    formula("seed", "Goon (3.2)",
            textbook::seed_train_flops(p.micro_batch, a.layers, p.seq, a.hidden, a.mlp_width / a.hidden),
            "12BDLS (S + (2+E)D), no head");
  if (is_gpt(a) && a.mlp_width == 4 * a.hidden) {
    const textbook::GptStep g{p.micro_batch, p.seq, a.layers, a.hidden, a.vocabulary};
    formula("megatron", "Megatron", textbook::megatron_flops(g, Recompute::none), "72BLSD^2 (1 + S/6D + V/12DL)");
    formula("narayanan_full_recompute", "Narayanan, full recompute", textbook::megatron_flops(g, Recompute::full),
            "96BLSD^2 (1 + S/6D + V/16LD)");
    formula("korthikanti_selective_paper", "Korthikanti, as printed",
            textbook::megatron_flops(g, Recompute::selective, true), "72BLSD^2 (1 + S/3D + V/12DL)");
    formula("korthikanti_selective_exact", "Korthikanti, exact", textbook::megatron_flops(g, Recompute::selective),
            "72BLSD^2 (1 + S/4.5D + V/12DL)");
  }
  if (p.recompute == Recompute::none)
    formula("8nd", "8ND", Flops(textbook::six_nd(chosen, tokens).value / 3 * 4), "rule for full recomputation");
  return s;
}

Section run_flops_section(const Request& r) {
  Section s{"flops", "FLOPs of the whole run", {}};
  if (!r.run.tokens) return s;
  const auto [chosen, which] = chosen_n(r);
  const TrainingFlops f = flops_of(r);
  const Int128 tokens = static_cast<Int128>(mul(r.plan.micro_batch, r.plan.seq));
  s.add("formulas.6nd_run", "6ND", textbook::six_nd(chosen, *r.run.tokens), fmt::format("N = {}", which));
  s.add("model_run", "model FLOPs", Flops((*r.run.tokens * f.model_total).value / tokens), "per token x tokens");
  return s;
}

}  // namespace llmcalc
