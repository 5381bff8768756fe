#include "report/explain/definition.hpp"
#include "report/explain/pairs.hpp"
#include "report/explain/sum.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

PassText training(S s) { return {"S", "", s.plan().mla == Mla::absorbed}; }

/// Head and, where the token table is narrower than the model, the projections are no blocks.
std::string outside(S s) { return s.table_width() == "D" ? "" : "2*D*D_e"; }

Formula forward(S) { return {"F_lin + F_core + F_head"}; }
Formula linear(S s) {
  const std::string attention = linear_attention_text(s, training(s));
  return {"2*B*S*(N_mm - " + product({"V", s.table_width()}) + ")" + (attention == "0" ? "" : " + " + attention)};
}
Formula core(S s) { return {core_text(s, training(s), s.plan().attention_flops)}; }
Formula head(S s) { return {"2*B*S*" + product({s.table_width(), "V"})}; }
Formula recompute(S s) {
  switch (s.plan().recompute) {
    case Recompute::none:
      return {"0"};
    case Recompute::selective:
      return {"F_core"};
    case Recompute::full:
      return {"F_lin + F_core" + (outside(s).empty() ? "" : " - 2*B*S*" + outside(s))};
  }
  return {"0"};
}

/// Forward, backward and what is recomputed of the kernels' own core.
Formula executed(S s) {
  const Plan& p = s.plan();
  const bool flash = p.attention == AttentionImpl::flash || p.seq == 1;
  const char* times = p.recompute == Recompute::none ? "3" : "4";
  const std::string c = core_text(s, training(s), flash ? AttentionFlops::causal_exact : AttentionFlops::full, flash);
  std::string text = "3*(F_lin + F_head)";
  if (p.recompute == Recompute::full) text += outside(s).empty() ? " + F_lin" : " + F_lin - 2*B*S*" + outside(s);
  if (c == "0") return {text};
  text += " + " + product({times, c});
  return {p.attention == AttentionImpl::flash ? text + " + " + scores_text(s, training(s), AttentionFlops::causal_exact)
                                              : text};
}

constexpr std::string_view matmuls = "matmuls only, 1 multiply-add = 2 FLOP; whole model, one micro-batch";
constexpr Definition all[] = {
    {"flops.forward", "FLOPs of the forward pass", "FLOP", Subject::training, false, forward, matmuls,
     "Narayanan 2021 (arXiv:2104.04473)"},
    {"flops.forward_linear", "FLOPs of projections, MLPs and routers", "FLOP", Subject::training, false, linear,
     "2 per weight and token; the head is a row of its own", "Goon §3; Narayanan 2021 (arXiv:2104.04473)"},
    {"flops.forward_attention", "FLOPs of scores and their product with the values", "FLOP", Subject::training, false,
     core, "--attention-flops: full S^2 pairs, causal-half S^2/2, causal-exact S (S + 1)/2; a window counts its token",
     "Goon (3.2); FlashAttention's benchmark for causal-half"},
    {"flops.forward_head", "FLOPs of the head", "FLOP", Subject::training, false, head,
     "every position in training; only the last one in prefill and decode", "Narayanan 2021 (arXiv:2104.04473)"},
    {"flops.backward", "FLOPs of the backward pass", "FLOP", Subject::training, false,
     [](S) -> Formula { return {"2*F_fwd"}; }, "gradients of inputs and of weights, each as much as forward",
     "Goon §3.1 with its factor corrected: 4 D I J, not 5"},
    {"flops.recompute", "FLOPs of the forward pass done again", "FLOP", Subject::training, false, recompute,
     "--recompute selective: the attention cores; full: the blocks; never the head",
     "Korthikanti 2022 (arXiv:2205.05198)"},
    {"flops.model_total", "model FLOPs", "FLOP", Subject::training, false,
     [](S) -> Formula { return {"F_fwd + F_bwd"}; }, matmuls, "Goon (3.2), (3.3); PaLM (arXiv:2204.02311) App. B"},
    {"flops.hardware_total", "hardware FLOPs", "FLOP", Subject::training, false,
     [](S) -> Formula { return {"F_model + F_re"}; }, "recomputation counted, same attention convention",
     "Korthikanti 2022 (arXiv:2205.05198)"},
    {"flops.executed", "FLOPs that the kernels do", "FLOP", Subject::training, false, executed,
     "naive: every pair, windows spare nothing; flash: causal pairs, and the scores once more in backward",
     "FlashAttention (arXiv:2205.14135) and its benchmark"},
    {"flops.per_token", "model FLOPs per token", "FLOP", Subject::training, false,
     [](S) -> Formula { return {"F_model/(B*S)"}; }, matmuls, "PaLM (arXiv:2204.02311) App. B"},
    {"flops.attention_equals_rest_seq", "sequence length at which attention costs as much as all else", "tokens",
     Subject::training, false, [](S) -> Formula { return {"S*(F_lin + F_head)/F_core"}; },
     "as if the core grew with S^2", "Goon (3.3): O(S/D)", "softmax attention"},
    {"flops.model_run", "model FLOPs of the whole run", "FLOP", Subject::training, false,
     [](S) -> Formula { return {"floor(F_model*D_run/(B*S))"}; }, "rounded down", "Goon (3.4)", "--tokens D"},
};

// ---- Named formulas, of one micro-batch of B*S tokens.

std::string chosen_n(S s) {
  switch (s.plan().params_in_6n) {
    case ParamsIn6N::total:
      return "N";
    case ParamsIn6N::non_embedding:
      return "N_ne";
    case ParamsIn6N::active:
      return "N_act";
    case ParamsIn6N::matmul:
      return "N_mm";
  }
  return "N";
}
std::string width(S s) { return s.latent() ? "(d_n + d_r)" : "d_h"; }
Formula palm(S s, const char* factor) {
  return {"B*S*(6*" + chosen_n(s) + " + " + factor + "*L*A*" + width(s) + "*S)"};
}
Formula seed(S s) {
  return {"12*B*D*L*S*(S + (2 + E)*D)", {{"E", "expansion F/D", number_text(s.arch().mlp_width / s.arch().hidden)}}};
}

constexpr std::string_view gpt = "multi-head attention as wide as the model, plain MLP of width 4 D, full pairs";
constexpr std::string_view chosen = "N by --params-in-6n: total, non-embedding, active or matmul";
constexpr std::string_view gpt_only = "a GPT: multi-head attention, A d_h = D, plain MLP";
constexpr Definition named[] = {
    {"flops.formulas.6nd", "6 N D", "FLOP", Subject::training, false,
     [](S s) -> Formula { return {"6*" + chosen_n(s) + "*B*S"}; }, chosen,
     "Kaplan 2020 (arXiv:2001.08361); Goon (3.4)"},
    {"flops.formulas.palm", "PaLM's formula", "FLOP", Subject::training, false, [](S s) { return palm(s, "12"); },
     chosen, "PaLM (arXiv:2204.02311) App. B"},
    {"flops.formulas.palm_causal", "PaLM's formula, causal pairs", "FLOP", Subject::training, false,
     [](S s) { return palm(s, "6"); }, chosen, "PaLM (arXiv:2204.02311) App. B, S^2/2 pairs"},
    {"flops.formulas.kaplan_forward", "Kaplan's forward pass", "FLOP", Subject::training, false,
     [](S s) -> Formula { return {"B*S*(2*N_ne + 2*L*S*A*" + width(s) + ")"}; },
     "N without embedding; equals the causal-half count", "Kaplan 2020 (arXiv:2001.08361) Table 1"},
    {"flops.formulas.seed", "forward and backward by dimensions", "FLOP", Subject::training, false, seed,
     "no head, full pairs", "Goon (3.2)", gpt_only},
    {"flops.formulas.megatron", "Megatron's model FLOPs", "FLOP", Subject::training, false,
     [](S) -> Formula { return {"72*B*L*S*D^2*(1 + S/(6*D) + V/(12*D*L))"}; }, gpt,
     "Korthikanti 2022 (arXiv:2205.05198) App. A", gpt_only},
    {"flops.formulas.narayanan_full_recompute", "hardware FLOPs under full recomputation", "FLOP", Subject::training,
     false, [](S) -> Formula { return {"96*B*L*S*D^2*(1 + S/(6*D) + V/(16*L*D))"}; }, gpt,
     "Narayanan 2021 (arXiv:2104.04473) (3)", gpt_only},
    {"flops.formulas.korthikanti_selective_paper", "selective recomputation as printed", "FLOP", Subject::training,
     false, [](S) -> Formula { return {"72*B*L*S*D^2*(1 + S/(3*D) + V/(12*D*L))"}; },
     "doubles the core of backward too: 12 B S^2 D per layer where 4 are done", "Korthikanti 2022 (arXiv:2205.05198)",
     gpt_only},
    {"flops.formulas.korthikanti_selective_exact", "selective recomputation, exact", "FLOP", Subject::training, false,
     [](S) -> Formula { return {"72*B*L*S*D^2*(1 + S/(4.5*D) + V/(12*D*L))"}; },
     "scores and their product with the values once more: 4 B S^2 D per layer",
     "Korthikanti 2022 (arXiv:2205.05198), corrected", gpt_only},
    {"flops.formulas.8nd", "8 N D", "FLOP", Subject::training, false,
     [](S s) -> Formula { return {"8*" + chosen_n(s) + "*B*S"}; }, chosen,
     "Narayanan 2021 (arXiv:2104.04473): full recomputation", "--recompute none"},
    {"flops.formulas.6nd_run", "6 N D of the whole run", "FLOP", Subject::training, false,
     [](S s) -> Formula { return {"6*" + chosen_n(s) + "*D_run"}; }, chosen, "Goon (3.4)", "--tokens D"},
};

}  // namespace

std::span<const Definition> flops_definitions() { return all; }
std::span<const Definition> formula_definitions() { return named; }

}  // namespace llmcalc::explain
