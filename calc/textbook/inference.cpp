#include "calc/textbook/inference.hpp"

#include <algorithm>
#include <cmath>

#include "calc/elementary.hpp"
#include "calc/textbook/parameters.hpp"
#include "calc/textbook/weights.hpp"

namespace llmcalc::textbook {
namespace {

/// Bytes of an indexer's key for one token, which every rank stores.
Exact index_key_bytes(const Mixer& m, Count precision, Count scale_bytes) {
  return m.indexer.runs() && m.compressed.ratio == 0 ? Exact(precision) * m.indexer.width + scale_bytes : Exact(0);
}
/// Bytes of the pooled keys of one group of tokens, including an indexer's.
Exact pooled_bytes(const Mixer& m, Count precision, Count scale_bytes) {
  if (m.compressed.ratio == 0) return 0;
  const Exact key = Exact(precision) * m.head_dim + scale_bytes;
  return m.indexer.runs() ? key + Exact(precision) * m.indexer.width + scale_bytes : key;
}
/// Cache bytes per token in one layer with this mixer on one rank, for its attention and its indexer.
Exact layer_token_bytes(const Mixer& m, Count precision, Count tensor_parallel, Count scale_bytes) {
  const Exact p = precision, index = index_key_bytes(m, precision, scale_bytes);
  if (m.attention == AttentionKind::compressed) return p * m.head_dim + scale_bytes;
  if (m.attention == AttentionKind::latent) return p * (m.latent.kv_rank + m.latent.rope_dim) + scale_bytes + index;
  return ceil(m.kv_heads, tensor_parallel) * (p * (m.head_dim + m.v_dim()) + Exact(2) * scale_bytes) + index;
}

/// The sum of f(mixer, reach, layer counts) over the model's mixers.
template <class F>
Exact over_mixers(const Arch& a, const F& f) {
  Exact all = 0;
  for (std::size_t i = 0; i <= a.mixers.size(); ++i) {
    LayerCounts n = layer_counts(a, i);
    if (a.block == BlockKind::shortcut)
      for (Count* attentions : {&n.full, &n.local}) *attentions *= 2;  // two attentions in every layer
    all = all + f(a.mixer(i), i == 0 ? a.local.reach : a.mixers[i - 1].reach, n);
  }
  return all;
}

double step_seconds(double flops, double bytes, const Machine& m) {
  const double compute = flops / (real(m.devices) * m.peak * m.flops_efficiency);
  const double memory = bytes / (real(m.devices) * m.bandwidth * m.bandwidth_efficiency);
  return std::max(compute, memory);
}

double free_bytes(const Capacity& r) {
  return std::max(real(r.devices) * real(r.memory) * r.utilization - real(r.weights) - real(r.reserve), 0.0);
}

}  // namespace

Bytes kv_bytes_per_token(const Arch& a, Count precision, Count tensor_parallel, Count scale_bytes) {
  return over_mixers(a,
                     [&](const Mixer& m, const Reach&, const LayerCounts& n) {
                       if (m.shared_kv || m.bidirectional) return Exact(0);
                       const Exact pooled =
                           pooled_bytes(m, precision, scale_bytes) / std::max<Count>(1, m.compressed.ratio);
                       return (Exact(n.full) + n.local) *
                              (layer_token_bytes(m, precision, tensor_parallel, scale_bytes) + pooled);
                     })
      .bytes();
}

Bytes kv_cache_bytes(const Arch& a, Count batch, Count context, Count precision, Count tensor_parallel, Count page,
                     Count scale_bytes) {
  return over_mixers(
             a,
             [&](const Mixer& m, const Reach& reach, const LayerCounts& n) {
               if (m.shared_kv || m.bidirectional) return Exact(0);
               const Exact all = ceil(context, page) * page, local = ceil(std::min(context, reach.tokens), page) * page;
               const Exact groups = context / std::max<Count>(1, m.compressed.ratio);
               return Exact(batch) * ((n.full * all + n.local * local) *
                                          layer_token_bytes(m, precision, tensor_parallel, scale_bytes) +
                                      (Exact(n.full) + n.local) * groups * pooled_bytes(m, precision, scale_bytes));
             })
      .bytes();
}

Bytes state_bytes_per_sequence(const Arch& a, Count precision) {
  return sequence_state<Fraction>(exact_sizes(a), precision).bytes();
}

Flops decode_flops(const Arch& a, Count batch, Count context, bool absorbed) {
  return forward_flops(a, {batch, 1, context - 1, AttentionFlops::causal_exact, Head::all, absorbed}).total();
}

double experts_touched(Count experts, Count top_k, Count tokens) {
  const double n = real(experts);
  return n * (1 - elementary::pow(1 - real(top_k) / n, real(tokens)));
}

namespace {
/// Number of weights that are read again because later layers reuse them, including the final norm between loops.
/// `routed` selects the routed experts; otherwise everything else is counted.
Exact reread(const Arch& a, bool routed) {
  if (!a.has_repeats()) return 0;
  const auto of = [routed](bool owned) {
    return [routed, owned](const Weight<Fraction>& w) {
      const bool out = w.component == Component::lm_head || w.routed != routed || (owned && w.tied);
      return out ? Fraction(0) : w.numbers();
    };
  };
  const Sizes<Fraction> s = exact_sizes(a);
  return Exact((sum_of_weights(a, s, of(false)) - sum_of_own_weights(a, s, of(true))).count());
}
}  // namespace

double weight_bytes_read(const Arch& a, Count tokens, Count weight_bytes) {
  const ParameterSums s = parameters(a);
  const Count routed = routed_parameters(a);
  const Exact per_layer = Exact(a.layers) * a.per_layer.width;
  const Exact rows = Exact(tokens) * (a.summed_width() + (a.learned_rows() > 0 ? a.summed_width() : 0) + per_layer) +
                     per_layer * a.hidden;
  const Exact mix = a.hyper_connected() ? Exact(a.streams) + 1 : Exact(0);  // bias and scale of the mix before the head
  const Exact streams =  // projections of the streams after the embedding, and AltUp's routers, which each layer
                         // reads twice
      a.altup ? Exact(a.hidden) * (Exact(a.streams - 1) * a.hidden + Exact(a.layers) * a.streams) : Exact(0);
  const Exact head =
      Exact(head_matmul_parameters(a)) + (a.head_bias ? a.vocabulary : 0) + (a.head.exit_gate ? 1 : 0) + mix;
  const double fixed = (Exact(s.attention) + s.mlp + s.norm - routed + head + rows + streams + reread(a, false)).real();
  const Count choices = a.moe.experts + a.moe.zero_experts;
  const double share = routed > 0 ? experts_touched(choices, a.moe.top_k, tokens) / real(choices) : 0;
  return real(weight_bytes) * (fixed + share * (Exact(routed) + reread(a, true)).real());
}

double decode_step_seconds(const Arch& a, Count batch, Count context, Count weight_bytes, Count kv_bytes,
                           const Machine& m, double communication) {
  const double flops = static_cast<double>(decode_flops(a, batch, context).value);
  const double cache = over_mixers(a, [&](const Mixer& mixer, const Reach& r, const LayerCounts& n) {
                         const Count seen = r.chunked ? (context - 1) % r.tokens + 1 : std::min(context, r.tokens);
                         const Count chosen = mixer.indexer.selection().seen(context - 1);
                         const Exact index = index_key_bytes(mixer, kv_bytes, 0);
                         const Exact own = layer_token_bytes(mixer, kv_bytes, 1, 0) - index;
                         if (mixer.attention == AttentionKind::compressed) {
                           const Count groups = mixer.compressed.ratio > 0 ? context / mixer.compressed.ratio : 0;
                           const bool runs = mixer.indexer.runs();
                           const Exact read = runs ? std::min(groups, mixer.indexer.top_k) : groups;
                           const Exact keys = Exact(kv_bytes) * mixer.head_dim;
                           return Exact(batch) * (Exact(n.full) + n.local) *
                                  ((r.limited() ? Exact(seen) : Exact(context)) * keys + read * keys +
                                   (runs ? Exact(groups) * kv_bytes * mixer.indexer.width : Exact(0)));
                         }
                         return Exact(batch) * ((Exact(n.full) * chosen + Exact(n.local) * seen) * own +
                                                Exact(n.full) * context * index);
                       }).real();
  return step_seconds(flops, weight_bytes_read(a, batch, weight_bytes) + cache, m) + communication;
}

double prefill_seconds(const Arch& a, const PassShape& pass, Count weight_bytes, const Machine& m) {
  const double flops = static_cast<double>(forward_flops(a, pass).total().value);
  return step_seconds(flops, weight_bytes_read(a, pass.batch * pass.seq, weight_bytes), m);
}

Count max_batch(const Capacity& r, Count kv_per_token, Count context) {
  return static_cast<Count>(std::floor(free_bytes(r) / (real(kv_per_token) * real(context))));
}
Count max_context(const Capacity& r, Count kv_per_token, Count batch) { return max_batch(r, kv_per_token, batch); }

double speculative_tokens(double acceptance, Count draft) {
  if (acceptance == 1) return real(draft + 1);
  return (1 - elementary::pow(acceptance, real(draft + 1))) / (1 - acceptance);
}
double speculative_speedup(double acceptance, Count draft, double cost_ratio) {
  return speculative_tokens(acceptance, draft) / (real(draft) * cost_ratio + 1);
}
Count best_draft(double acceptance, double cost_ratio, Count limit) {
  Count best = 0;
  for (Count g = 1; g <= limit; ++g)
    if (speculative_speedup(acceptance, g, cost_ratio) > speculative_speedup(acceptance, best, cost_ratio)) best = g;
  return best;
}

double serving_step_seconds(const Serving& s) {
  const double context = real(s.prompt) + real(s.generated + 1) / 2;
  return s.fixed + real(s.batch) * s.per_context_token * context;
}
double requests_per_second(const Serving& s) {
  return 1 / (real(s.generated) * serving_step_seconds(s) / real(s.batch) + s.prefill);
}
double serving_tokens_per_second(const Serving& s) { return requests_per_second(s) * real(s.generated); }
double time_per_output_token(const Serving& s) {
  return serving_step_seconds(s) + real(s.batch) * s.prefill / real(s.generated);
}

}  // namespace llmcalc::textbook
