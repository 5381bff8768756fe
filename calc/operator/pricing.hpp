#pragma once
/// Inputs of an operator's cost other than its shape: number formats, kernels, and which tensors are stored.

#include "calc/formats/dtype.hpp"
#include "calc/layout.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

enum class Phase : std::uint8_t { training, prefill, decode };

struct Pricing {
  Phase phase = Phase::training;
  DType activation = dtypes::bf16;
  CacheFormats cache{};
  DType product = dtypes::bf16;  ///< format of the blocks' matmuls; all other operators use `activation`
  WeightFormats weight{};
  AttentionImpl attention = AttentionImpl::flash;
  AttentionFlops convention = AttentionFlops::full;
  SoftmaxStore softmax_store = SoftmaxStore::minimal;
  GluStore glu_store = GluStore::all;
  LogitFormat logits = LogitFormat::fp32;
  Count logit_bytes = 0;          ///< bytes per logit, for LogitFormat::copies
  Count logit_chunks = 1;         ///< number of chunks of tokens in which the loss is computed
  DType trained = dtypes::bf16;   ///< weight format of adapters; with adapters, all other weights are frozen and in
                                  ///< format `weight`
  RecomputeModules recomputed{};  ///< modules of a block that backward recomputes
  Documents documents{};          ///< documents of a packed sequence; empty: one document
  bool norm_stats = true, dropout = false;
  Count gradient_bytes = 4;
  bool accumulate = false;  ///< whether gradients accumulate over micro-batches
  bool cached = true;       ///< whether inference caches keys and values
  Offload offload{};        ///< offloaded fractions in inference

  constexpr bool training() const { return phase == Phase::training; }
  /// Format of the logits that the head writes; only a loss needs float32.
  constexpr DType head_output() const { return training() && logits == LogitFormat::fp32 ? dtypes::fp32 : activation; }
  /// Format of the logits that the loss reads, and of their gradient.
  constexpr DType loss_input() const { return logits == LogitFormat::compute ? activation : dtypes::fp32; }
};

/// Number of micro-batches that each replica of the model runs in one optimizer step; global_batch covers all replicas.
constexpr Count micro_batches(const Plan& p, const Layout& l) {
  return p.global_batch / mul(p.micro_batch, replicas(l));
}

constexpr Pricing pricing(const Plan& p, Phase phase, const Layout& l = {}) {
  const bool training = phase == Phase::training;
  return {.phase = phase,
          .activation = working_format(p),
          .cache = p.kv_precision,
          .product = p.precision,
          .weight = training ? held_weights(p) : p.weight_precision,
          .attention = p.attention,
          .convention = p.attention_flops,
          .softmax_store = p.softmax_store,
          .glu_store = p.glu_store,
          .logits = p.logits.format,
          .logit_bytes = p.logits.bytes,
          .logit_chunks = p.logits.chunks,
          .trained = training_weights(p),
          .recomputed = training ? selected_modules(p) : RecomputeModules(),
          .documents = training ? p.documents : Documents(),
          .norm_stats = p.norm_stats,
          .dropout = training && p.dropout,
          .gradient_bytes = p.gradient_bytes,
          .accumulate = training && micro_batches(p, l) > 1,
          .cached = !training && p.kv_cache,
          .offload = training ? Offload() : p.offload};
}

}  // namespace llmcalc
