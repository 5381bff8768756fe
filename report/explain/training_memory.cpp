#include "calc/textbook/stored.hpp"
#include "calc/textbook/weights.hpp"
#include "report/explain/alive.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/formats.hpp"
#include "report/explain/sum.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

Formula held(S s) { return {textbook::all_parameters(s.arch(), s.rank_sizes()).text()}; }

Formula optimizer(S s) {
  const Plan& p = s.plan();
  const std::string master = p.master && training_weights(p).format().element_bits < 32 ? "4*N_T + " : "";
  switch (p.optimizer) {
    case Optimizer::sgd:
      return {master.empty() ? "0" : "4*N_T"};
    case Optimizer::momentum:
    case Optimizer::lion:
      return {master + "p_s*N_T"};
    case Optimizer::adam:
      return {master + "2*p_s*N_T"};
    case Optimizer::adam8bit:
      return {master + "2*N_T + 8*ceil(N_T/256)"};
    case Optimizer::adafactor:
      return {master + product({"4", textbook::factored_numbers(s.arch(), s.rank_sizes()).text()})};
  }
  return {"0"};
}

Expr logit_bytes(S s) {
  const LogitFormat format = s.plan().logits.format;
  if (format == LogitFormat::fp32) return 4;
  return format == LogitFormat::compute ? compute_bytes(s) : compute_bytes(s) + Expr(8);
}
Formula logits(S s) {
  const Expr all = logit_bytes(s) * s.tokens() * s.rank_sizes().cut(s.sizes().V);
  const Count chunks = s.plan().logits.chunks;
  return {quotient_up(all, chunks == 1 ? Expr(1) : Expr("n_c", chunks)).text()};
}

Formula peak(S s) { return {"M_w + M_g + M_o + sum(b_i)", {}, {alive_terms(alive_in_training(s))}}; }

constexpr Definition training_memory_table[] = {
    {"memory.parameters", "parameters on one rank", "parameters", held,
     "projections, MLPs, table and head are cut over the T ranks; norms, routers, row biases are on every one",
     "Megatron (arXiv:1909.08053); Goon (2.12)"},
    {"memory.weights_bytes", "weights", "bytes",
     [](S s) { return weight_bytes(s, training_weights(s.plan()), "memory.parameters"); }, per_gpu,
     "Goon (2.1), (2.3)"},
    {"memory.gradients_bytes", "gradients", "bytes", fixed<"p_g*N_T">, per_gpu, "Goon (2.4)"},
    {"memory.optimizer_bytes", "optimizer state", "bytes", optimizer,
     "a float32 master copy of 16-bit weights is counted here: 4 bytes per parameter, --master none leaves it out",
     "Goon (2.1), (2.3); ZeRO arXiv:1910.02054; 8-bit arXiv:2110.02861; Adafactor arXiv:1804.04235"},
    {"memory.logits_bytes", "logits during the loss", "bytes", logits,
     "--logits fp32: 4 bytes each; compute: as --precision; bf16+grad: that, a float32 copy, a float32 gradient; "
     "chunked:N: one chunk",
     "Korthikanti 2022 (arXiv:2205.05198) 4.3; compute: karpathy/llm.c"},
    {"memory.workspace_bytes", "workspace: alive at the worst moment beyond what is named", "bytes",
     fixed<"max(0, M_peak - M_w - M_g - M_o - M_act - M_log)">, per_gpu, "liveness of the operators' tensors"},
    {"memory.total_bytes", "sum of all parts", "bytes", fixed<"M_w + M_g + M_o + M_act + M_log + M_ws">, per_gpu,
     "Goon §2"},
    {"memory.peak_bytes", "most alive at once", "bytes", peak,
     "a tensor lives from the operator that makes it to the last that reads it, in forward or in backward",
     "liveness of the operators' tensors"},
    {"memory.capacity_bytes", "memory of the device", "bytes", fixed<"M">, "datasheet", "the hardware file"},
    {"memory.fits", "does it fit?", "", fixed<"M_peak/M">, per_gpu, "the hardware file", "",
     "yes where this is at most 1"},
};

// ---- What is kept for backward.

using Tensor = textbook::Stored<Expr>;

textbook::MicroBatch<Expr> micro_batch(S s) {
  const Plan& p = s.plan();
  return {.B = s.micro_batch(),
          .S = s.seq(),
          .p = compute_bytes(s),
          .attention = p.attention,
          .softmax = p.softmax_store,
          .glu = p.glu_store,
          .mla = p.mla,
          .norm_stats = p.norm_stats,
          .attention_dropout = p.dropout,
          .hidden_dropout = p.dropout,
          .log_sum_exps = p.logits.format == LogitFormat::compute,
          .sequence_parallel = sequence_parallel(s.layout()),
          .even = mul(p.micro_batch, p.seq) % ranks(s.layout(), Group::tensor) == 0};
}

template <class What>  // a Recompute, or which tensors
textbook::StoredSum<Expr> kept(S s, const What& what) {
  return textbook::stored(s.arch(), s.rank_sizes(), micro_batch(s), what);
}
template <class What>
Formula kept_bytes(S s, const What& what) {
  return {kept(s, what).bytes(compute_bytes(s)).text()};
}
std::string kept_numbers(S s) { return kept(s, s.plan().recompute).numbers().text(); }
Formula break_even(S s) { return {ratio("2*N*B", product({"4 - p", kept_numbers(s)}))}; }

constexpr std::string_view inputs = "inputs of every operator, each tensor once; masks 1 byte, statistics 4 bytes each";
constexpr Definition activations[] = {
    {"memory.activations_bytes", "activations kept for backward", "bytes",
     [](S s) { return kept_bytes(s, s.plan().recompute); },
     "inputs of every operator, each tensor once: ids, embedding, blocks, head; masks 1 byte",
     "Goon (2.5)-(2.7), (2.14); Korthikanti 2022 (arXiv:2205.05198)"},
    {"activations.blocks_bytes", "kept by the blocks", "bytes",
     [](S s) { return kept_bytes(s, [](const Tensor& x) { return x.in_block; }); }, "without recomputation",
     "Goon (2.5), (2.6); Korthikanti 2022 (arXiv:2205.05198)"},
    {"activations.attention_core_bytes", "of it by the attention cores", "bytes",
     [](S s) { return kept_bytes(s, [](const Tensor& x) { return x.core; }); },
     "naive: S x S scores and masks, 2p + 1 as in the seed or p + 1 more with dropout; flash: log-sum-exps",
     "Goon (2.5); FlashAttention (arXiv:2205.14135)"},
    {"activations.outside_blocks_bytes", "kept by embedding and head", "bytes",
     [](S s) { return kept_bytes(s, [](const Tensor& x) { return !x.in_block; }); }, inputs,
     "Korthikanti 2022 (arXiv:2205.05198) 4.3"},
    {"activations.selective_bytes", "kept under selective recomputation", "bytes",
     [](S s) { return kept_bytes(s, Recompute::selective); }, "attention cores run again",
     "Korthikanti 2022 (arXiv:2205.05198)"},
    {"activations.full_bytes", "kept under full recomputation", "bytes",
     [](S s) { return kept_bytes(s, Recompute::full); }, "the blocks' inputs; blocks run again",
     "Korthikanti 2022 (arXiv:2205.05198)"},
    {"activations.quadratic_equals_linear_seq", "sequence length at which scores take as much as the rest", "tokens",
     fixed<"S*(M_blk - M_core)/M_core">, "as if the rest grew with S and the scores with S^2", "Goon (2.7)",
     "--attention naive"},
    {"activations.mixed_precision_break_even_batch", "sequences from which mixed precision saves memory", "sequences",
     break_even, "2 bytes more per parameter (14 against 12) against 4 - p bytes less per number kept", "Goon (2.9)",
     "a 16-bit precision with a master copy and without tensor parallelism"},
};

}  // namespace

std::span<const Definition> training_memory_definitions() { return training_memory_table; }
std::span<const Definition> activation_definitions() { return activations; }

}  // namespace llmcalc::explain
