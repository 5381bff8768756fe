#include "calc/textbook/flops.hpp"

#include <algorithm>

#include "calc/search.hpp"
#include "calc/textbook/muon.hpp"
#include "calc/textbook/weights.hpp"
#include "report/explain/modules.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

const textbook::Sizes<Expr>& n(S s) { return s.sizes(); }
Expr linear_flops(S s) { return s.quantity("F_lin", "flops.forward_linear"); }
/// Tokens per sequence; the constant 1 for a single token, which needs no chunks.
Expr tokens_in_chunks(S s) { return s.plan().seq == 1 ? Expr(1) : s.seq(); }
/// FLOPs of linear attention as executed by kernels, which process states by chunk, not in recurrent form.
Expr executed_linear_flops(S s) {
  const Expr recurrent = textbook::linear_attention_flops(n(s), s.micro_batch(), s.seq());
  const Expr done = textbook::states_done_forward(n(s), s.micro_batch(), tokens_in_chunks(s));
  return done == recurrent ? linear_flops(s) : linear_flops(s) + done - recurrent;
}
bool absorbed(S s) { return s.plan().mla == Mla::absorbed; }

/// The sum of of(tokens) over the documents of a sequence; `packed` false: as if it were a single document.
template <typename Of>
Expr over_documents(S s, bool packed, const Of& of) {
  if (s.plan().documents.empty() || !packed) return of(s.seq());
  Expr all(0);
  Count run = 0;
  for (const DocumentRun& d : s.plan().documents) {
    const std::string i = std::to_string(++run);
    all = all + Expr("n_" + i, d.count) * of(Expr("l_" + i, d.length));
  }
  return all;
}
/// FLOPs of the attention cores: width(sizes, absorbed) for each query-key pair.
template <typename Width>
Expr over_pairs(S s, const Width& width, AttentionFlops convention, bool local = true) {
  return textbook::over_parts(n(s), [&](const textbook::Sizes<Expr>& part) {
    return width(part, absorbed(s)) * s.micro_batch() * over_documents(s, local, [&](const Expr& tokens) {
             return textbook::layer_pairs(part, convention, tokens, tokens, local);
           });
  });
}
/// FLOPs of the indexers' scores, for all keys or only for the chosen keys.
Expr index_scores(S s, AttentionFlops convention, bool chosen, bool packed = true) {
  return over_documents(s, packed, [&](const Expr& tokens) {
    return textbook::over_parts(n(s), [&](const textbook::Sizes<Expr>& part) {
      return textbook::index_flops(part, convention, s.micro_batch(), tokens, tokens, chosen);
    });
  });
}
bool has_indexer(S s) {
  return !(textbook::over_parts(n(s), [](const textbook::Sizes<Expr>& part) { return part.i.L; }) == Expr(0));
}
/// Forward FLOPs of the indexers' matrices. The backward pass costs this much less, because their inputs get no
/// gradient.
Expr index_products(S s) {
  return Expr(2) * s.tokens() * textbook::over_parts(n(s), [](const textbook::Sizes<Expr>& part) {
           return part.i.L == Expr(0) ? Expr(0) : part.i.L * textbook::index_weights(part);
         });
}
/// A formula over pairs, with the symbols for the documents of a packed sequence.
Formula with_documents(S s, const Expr& e) {
  Formula f{e.text()};
  const std::vector<std::string> names = identifiers(f.expression);
  const auto add = [&](const std::string& letter, const char* meaning, Count n) {
    if (std::find(names.begin(), names.end(), letter) != names.end())
      f.own.push_back({letter, meaning, number_text(n)});
  };
  Count run = 0;
  for (const DocumentRun& d : s.plan().documents) {
    const std::string i = std::to_string(++run);
    add("n_" + i, "documents of equal length in a sequence", d.count);
    add("l_" + i, "tokens per such document", d.length);
  }
  return f;
}
constexpr auto core_width = textbook::core_width<Expr>;

Expr outside(S s) { return textbook::outside_flops(n(s), s.tokens()); }

Formula linear(S s) {
  if (trains_adapters(s.plan()))
    return from_engine(s, "F_mat", "forward FLOPs of the matrices and their adapters", "flops.forward_linear");
  const Expr weights = s.quantity("N_mm", "parameters.matmul") - textbook::head_weights(s.arch(), n(s)) -
                       textbook::pooled_weights(s.arch(), n(s));
  const Expr recurrent = textbook::linear_attention_flops(n(s), s.micro_batch(), s.seq());
  return {(Expr(2) * s.tokens() * weights + recurrent).text()};
}
Formula core(S s) {
  const AttentionFlops convention = s.plan().attention_flops;
  return with_documents(s, over_pairs(s, core_width, convention) + index_scores(s, convention, false));
}
Formula head(S s) {
  return {(Expr(2) * s.tokens() * textbook::head_weights(s.arch(), n(s)) +
           Expr(2) * s.micro_batch() * textbook::pooled_weights(s.arch(), n(s)))
              .text()};
}
/// Forward FLOPs of the MTP modules. Without documents and adapters, each costs as much as one layer and a head.
Formula forward_of_modules(S s) {
  if (!s.plan().documents.empty())
    return from_engine(s, "F_mod", "forward FLOPs of the MTP modules, within documents", "flops.forward_modules");
  const ModuleFormulas module(s, 1);
  return module.formula(Expr("n_u", s.plan().mtp) * module.flops());
}
Formula forward_pass(S s) { return {s.plan().mtp > 0 ? "F_lin + F_core + F_head + F_mtp" : "F_lin + F_core + F_head"}; }
/// FLOPs of the backward pass: two matmuls per forward matmul. Frozen matrices have no weight gradient.
Formula backward(S s) {
  if (trains_part(s.plan()))
    return from_engine(s, "F_back", "FLOPs of input gradients and of the gradients of trained parameters",
                       "flops.backward");
  if (!has_indexer(s)) return {"2*F_fwd"};
  if (s.plan().mtp > 0)
    return from_engine(s, "F_back", "FLOPs of all gradients, including MTP modules and their indexers",
                       "flops.backward");
  const AttentionFlops convention = s.plan().attention_flops;
  const Expr twice = Expr(2) * s.quantity("F_fwd", "flops.forward"), all = index_scores(s, convention, false);
  return with_documents(s, twice - index_products(s) - Expr(2) * (all - index_scores(s, convention, true)));
}
Formula recompute(S s) {
  if (trains_part(s.plan()) || recomputes_partly(s.plan()) || s.plan().mtp > 0)
    return from_engine(s, "F_again", "forward FLOPs of the recomputed operators, all layers", "flops.recompute");
  switch (s.plan().recompute) {
    case Recompute::none:
      return {"0"};
    case Recompute::selective:
      if (!has_indexer(s)) return {"F_core"};
      return with_documents(
          s, s.quantity("F_core", "flops.forward_attention") - index_scores(s, s.plan().attention_flops, false));
    case Recompute::full:
      return {(linear_flops(s) + s.quantity("F_core", "flops.forward_attention") - outside(s)).text()};
  }
  return {"0"};
}

/// FLOPs of the forward pass, the backward pass and recomputation, including the recomputation in attention kernels.
Formula executed(S s) {
  const Plan& p = s.plan();
  if (trains_part(p) || recomputes_partly(p) || p.mtp > 0)
    return from_engine(s, "F_done", "FLOPs executed by the kernels of all passes, including recomputation",
                       "flops.executed");
  const bool flash = p.attention == AttentionImpl::flash;
  const bool causal = flash || p.seq == 1;  // a single token has one pair
  const AttentionFlops pairs = causal ? AttentionFlops::causal_exact : AttentionFlops::full;
  Expr done = Expr(3) * (executed_linear_flops(s) + s.quantity("F_head", "flops.forward_head"));
  done = done + textbook::recomputed_recurrences(n(s), s.micro_batch(), tokens_in_chunks(s));
  if (p.recompute == Recompute::full) done = done + executed_linear_flops(s) - outside(s);
  done = done + Expr(p.recompute == Recompute::none ? 3 : 4) * over_pairs(s, core_width, pairs, causal);
  if (flash) done = done + over_pairs(s, textbook::scores_width<Expr>, pairs);
  if (!has_indexer(s)) return with_documents(s, done);
  const Expr forward = Expr(p.recompute == Recompute::full ? 2 : 1) * index_scores(s, pairs, false, causal);
  return with_documents(
      s, done - index_products(s) + forward + Expr(3) * index_scores(s, AttentionFlops::causal_exact, true));
}

/// FLOPs of Muon's iterations over all matrices of the blocks.
Formula optimizer_step(S s) {
  if (trains_part(s.plan()) || s.plan().mtp > 0)
    return from_engine(s, "F_ns", "FLOPs of the Newton-Schulz iterations of the trained matrices", "flops.optimizer");
  return {textbook::newton_schulz_flops(s.arch(), n(s), Expr("k_ns", s.plan().newton_schulz_steps)).text(),
          {{"k_ns", "Newton-Schulz iterations", number_text(s.plan().newton_schulz_steps)}}};
}

/// Ratio of the FLOPs of the attention cores to all other FLOPs, at the explained sequence length.
Formula attention_share(S s) {
  const Row* row = s.row("flops.attention_equals_rest_seq");
  const Work w = work_of_sequence(s.arch(), s.plan(), row ? std::get<Count>(row->value) : longest_searched);
  return {"F_c/F_o",
          {{"F_c", "forward FLOPs of the attention cores at that sequence length", digits(w.core.value)},
           {"F_o", "forward FLOPs of everything else at that sequence length", digits((w.linear + w.head).value)}}};
}

constexpr std::string_view matmuls = "matmuls only, 1 multiply-add = 2 FLOP; whole model, one micro-batch";
constexpr Definition flops_table[] = {
    {"flops.forward", "FLOPs of the forward pass", "FLOP", forward_pass, matmuls, "Narayanan 2021 (arXiv:2104.04473)"},
    {"flops.forward_linear", "FLOPs of projections, MLPs and routers", "FLOP", linear,
     "2 per weight and token; excludes the head", "Goon §3; Narayanan 2021 (arXiv:2104.04473)"},
    {"flops.forward_attention", "FLOPs of attention scores and their product with the values", "FLOP", core,
     "--attention-flops: full S^2 pairs, causal-half S^2/2, causal-exact S (S + 1)/2; a window includes the token "
     "itself; a chunk or a packed document counts as a separate sequence; an indexer scores all keys, the core only "
     "the selected keys",
     "Goon (3.2); FlashAttention's benchmark for causal-half"},
    {"flops.forward_head", "FLOPs of the head", "FLOP", head,
     "every position in training; only the last position in prefill and decode", "Narayanan 2021 (arXiv:2104.04473)"},
    {"flops.forward_modules", "FLOPs of MTP modules", "FLOP", forward_of_modules,
     "every position; per module a projection from 2 D to D, a layer and a head", "DeepSeek-V3 (arXiv:2412.19437) 2.2",
     "--mtp N"},
    {"flops.backward", "FLOPs of the backward pass", "FLOP", backward,
     "input gradients and weight gradients, each as expensive as forward; no gradient for the inputs of an indexer, "
     "and gradients of its scores only for the selected keys",
     "Goon §3.1 with its factor corrected: 4 D I J, not 5"},
    {"flops.recompute", "FLOPs of the recomputed forward pass", "FLOP", recompute,
     "--recompute selective: the attention cores; full: the blocks; never the head",
     "Korthikanti 2022 (arXiv:2205.05198)"},
    {"flops.model_total", "model FLOPs", "FLOP", fixed<"F_fwd + F_bwd">, matmuls,
     "Goon (3.2), (3.3); PaLM (arXiv:2204.02311) App. B"},
    {"flops.hardware_total", "hardware FLOPs", "FLOP", fixed<"F_model + F_re">,
     "includes recomputation; same attention convention", "Korthikanti 2022 (arXiv:2205.05198)"},
    {"flops.executed", "FLOPs executed by kernels", "FLOP", executed,
     "naive: all pairs, without savings from windows or chunks; flash: causal pairs, with scores recomputed in "
     "backward",
     "FlashAttention (arXiv:2205.14135) and its benchmark"},
    {"flops.optimizer", "FLOPs of the optimizer per step", "FLOP", optimizer_step,
     "4 m^2 n + 2 m^3 per iteration for every (m, n) matrix of the blocks, m <= n; executed FLOPs, not model FLOPs; "
     "each matrix once per step",
     "Muon: github.com/KellerJordan/Muon; arXiv:2502.16982", "--optimizer muon"},
    {"flops.per_token", "model FLOPs per token", "FLOP", fixed<"F_model/(B*S)">, matmuls,
     "PaLM (arXiv:2204.02311) App. B"},
    {"flops.attention_equals_rest_seq", "sequence length at which attention costs as much as everything else", "tokens",
     attention_share, "includes windows and the --attention-flops convention; found by search", "Goon (3.3): O(S/D)",
     "softmax attention without a window in some layers", "the smallest sequence length at which this is at least 1"},
    {"flops.model_run", "model FLOPs of the whole run", "FLOP", fixed<"floor(F_model*D_run/(B*S))">, "rounded down",
     "Goon (3.4)", "--tokens D"},
};

// ---- Named formulas, for one micro-batch of B*S tokens.

Expr chosen_n(S s) {
  switch (s.plan().params_in_6n) {
    case ParamsIn6N::total:
      return s.quantity("N", "parameters.total");
    case ParamsIn6N::non_embedding:
      return s.quantity("N_ne", "parameters.non_embedding");
    case ParamsIn6N::active:
      return s.quantity("N_act", "parameters.active");
    case ParamsIn6N::matmul:
      return s.quantity("N_mm", "parameters.matmul");
  }
  return 0;
}
Formula palm(S s, bool causal) {
  return {(s.tokens() * textbook::palm_per_token(chosen_n(s), textbook::query_widths(n(s)), s.seq(), causal)).text()};
}
Formula kaplan(S s) {
  const Expr weights = s.quantity("N_ne", "parameters.non_embedding");
  return {(s.tokens() * textbook::kaplan_per_token(weights, textbook::query_widths(n(s)), s.seq())).text()};
}
Formula six_nd(S s) { return {textbook::six_nd(chosen_n(s), s.tokens()).text()}; }
Formula six_nd_run(S s) {
  return {textbook::six_nd(chosen_n(s), Expr("D_run", s.request().run.tokens.value_or(0))).text()};
}
template <Recompute recompute, bool as_printed>
Formula megatron(S s) {
  return {textbook::megatron_step(s.micro_batch(), n(s).L, s.seq(), n(s).D, n(s).V, recompute, as_printed).text()};
}
Formula seed(S s) {
  return {"12*B*D*L*S*(S + (2 + E)*D)",
          {{"E", "MLP expansion F/D", number_text(s.arch().mlp_width / s.arch().hidden)}}};
}

constexpr std::string_view gpt = "multi-head attention as wide as the model, plain MLP of width 4 D, full pairs";
constexpr std::string_view chosen = "N set by --params-in-6n: total, non-embedding, active or matmul";
constexpr std::string_view gpt_only = "a GPT: multi-head attention, A d_h = D, plain MLP";
constexpr Definition formula_table[] = {
    {"flops.formulas.6nd", "6 N D", "FLOP", six_nd, chosen, "Kaplan 2020 (arXiv:2001.08361); Goon (3.4)"},
    {"flops.formulas.palm", "PaLM's formula", "FLOP", [](S s) { return palm(s, false); }, chosen,
     "PaLM (arXiv:2204.02311) App. B"},
    {"flops.formulas.palm_causal", "PaLM's formula, causal pairs", "FLOP", [](S s) { return palm(s, true); }, chosen,
     "PaLM (arXiv:2204.02311) App. B, S^2/2 pairs"},
    {"flops.formulas.kaplan_forward", "Kaplan's forward pass", "FLOP", kaplan,
     "non-embedding N; equals the causal-half count", "Kaplan 2020 (arXiv:2001.08361) Table 1"},
    {"flops.formulas.seed", "forward and backward from the dimensions", "FLOP", seed, "excludes the head; full pairs",
     "Goon (3.2)", gpt_only},
    {"flops.formulas.megatron", "Megatron's model FLOPs", "FLOP", megatron<Recompute::none, false>, gpt,
     "Korthikanti 2022 (arXiv:2205.05198) App. A", gpt_only},
    {"flops.formulas.narayanan_full_recompute", "hardware FLOPs under full recomputation", "FLOP",
     megatron<Recompute::full, false>, gpt, "Narayanan 2021 (arXiv:2104.04473) (3)", gpt_only},
    {"flops.formulas.korthikanti_selective_paper", "selective recomputation as printed", "FLOP",
     megatron<Recompute::selective, true>, "also doubles the backward core: 12 B S^2 D per layer instead of 4",
     "Korthikanti 2022 (arXiv:2205.05198)", gpt_only},
    {"flops.formulas.korthikanti_selective_exact", "selective recomputation, exact", "FLOP",
     megatron<Recompute::selective, false>,
     "recomputes the scores and their product with the values: 4 B S^2 D per layer",
     "Korthikanti 2022 (arXiv:2205.05198), corrected", gpt_only},
    {"flops.formulas.8nd", "8 N D", "FLOP",
     [](S s) -> Formula { return {(Expr(8) * chosen_n(s) * s.tokens()).text()}; }, chosen,
     "Narayanan 2021 (arXiv:2104.04473): full recomputation", "--recompute none"},
    {"flops.formulas.6nd_run", "6 N D of the whole run", "FLOP", six_nd_run, chosen, "Goon (3.4)", "--tokens D"},
};

}  // namespace

std::span<const Definition> flops_definitions() { return flops_table; }
std::span<const Definition> formula_definitions() { return formula_table; }

}  // namespace llmcalc::explain
