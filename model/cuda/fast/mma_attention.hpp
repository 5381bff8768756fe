#pragma once
/// Gain: attention at the rate of tensor cores (H100: 989 TFLOP/s) instead of multiply-adds (67). Measure: the time of
/// attn.core in gpu-check's core_mma relative to core_plain, and validate's tensor_work.
///
/// Flash attention on tensor cores: supported shapes, launches and executed FLOPs.

#include <cstdint>
#include <optional>
#include <type_traits>

#include "model/cuda/fast/mma_backward.hpp"
#include "model/layers/attention_core.hpp"

namespace llmcalc::model::cuda {

/// Calls f with the narrowest kernel width that fits a head, as a type.
template <typename F>
auto with_head_width(Count dim, const F& f) {
  if (dim <= 64) return f(std::integral_constant<int, 64>());
  if (dim <= 96) return f(std::integral_constant<int, 96>());
  return f(std::integral_constant<int, 128>());
}

/// Whether tokens are stored in order, with every head aligned to 16 bytes, the size of one copy.
inline bool mma_reads(const HeadView& v, Count tokens) {
  const bool in_order = v.capacity == 0 || tokens <= v.capacity;
  return in_order && reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0 && v.sequence % 8 == 0 && v.token % 8 == 0 &&
         v.head % 8 == 0;
}

/// Whether mma_reads() holds for queries, keys and values, or for their gradients.
template <typename Heads>
bool mma_reads(const Attention& s, const Heads& x) {
  return s.keys < (Count{1} << 30) && mma_reads(x.q, s.queries) && mma_reads(x.k, s.keys) && mma_reads(x.v, s.keys);
}

/// The reason why these kernels cannot compute an attention of several bf16 queries; absent if they can.
inline std::optional<CoreObstacle> mma_obstacle(const Attention& s, const AttentionInputs& in, const Dropout& d) {
  if (s.qk_dim != s.v_dim || s.qk_dim % 16 != 0 || s.qk_dim > 128) return CoreObstacle::head_width;
  if (in.rope_dim > 0) return CoreObstacle::rotary_part;
  if (in.alibi) return CoreObstacle::alibi;
  if (d.p > 0) return CoreObstacle::dropout;
  if (!(in.scale > 0)) return CoreObstacle::scale;
  if (!mma_reads(s, in)) return CoreObstacle::layout;
  return std::nullopt;
}

/// A tensor of (sequences, queries, heads, v_dim): the output or its gradient.
inline MmaHeads output_heads(const Attention& s, const bf16* data) {
  return MmaHeads(
      HeadView{.data = data, .sequence = s.queries * s.heads * s.v_dim, .token = s.heads * s.v_dim, .head = s.v_dim});
}

template <typename Device>
void mma_attention(Device& device, const Scores<bf16>& c, float* log_sum_exp, bf16* o) {
  const MmaShape s(c.s, c.in.scale);
  with_head_width(c.s.qk_dim, [&](auto width) {
    using Kernel = MmaForward<width.value>;
    const Kernel kernel{s,
                        MmaHeads(c.in.q),
                        MmaHeads(c.in.k),
                        MmaHeads(c.in.v),
                        output_heads(c.s, o),
                        static_cast<const bf16*>(c.in.sinks),
                        log_sum_exp};
    device.launch(kernel, mul(kernel.stretches(), c.s.heads, c.s.sequences), Kernel::threads, Kernel::room);
  });
}

/// Computes the gradients of queries, keys and values; p.delta is o . do of every row.
template <typename Device>
void mma_attention_gradient(Device& device, const FlashPairs<bf16>& p, const AttentionGradients& to) {
  const Attention& s = p.c.s;
  const AttentionInputs& in = p.c.in;
  const MmaGradientInputs from{MmaShape(s, in.scale),  MmaHeads(in.q), MmaHeads(in.k), MmaHeads(in.v),
                               output_heads(s, p.d_o), p.log_sum_exp,  p.delta};
  with_head_width(s.qk_dim, [&](auto width) {
    using Query = MmaQueryGradient<width.value>;
    using Key = MmaKeyGradient<width.value>;
    const Query query{from, MmaHeads(to.q)};
    const Key key{from, MmaHeads(to.k), MmaHeads(to.v)};
    device.launch(query, mul(query.stretches(), s.heads, s.sequences), Query::threads, Query::room);
    device.launch(key, mul(key.stretches(), s.kv_heads, s.sequences), Key::threads, Key::room);
  });
}

/// Number of query-key pairs that are computed for a head: `rows` tokens of one side at a time, with tiles of `columns`
/// tokens of the other side within reach(token, end).
template <typename F>
Count executed_pairs(int tokens, int rows, int columns, const F& reach) {
  Count tiles = 0;
  for (int x = 0; x < tokens; x += rows) {
    const TokenBand r = reach(x, std::min(x + rows, tokens));
    if (r.first < r.end) tiles += (r.end - 1) / columns - r.first / columns + 1;
  }
  return tiles * rows * columns;
}
template <typename Kernel, typename F>
Count executed_pairs(int tokens, const F& reach) {
  return executed_pairs(tokens, Kernel::rows, Kernel::columns, reach);
}

/// Exact FLOPs that tensor cores execute, in whole tiles: masked pairs and the padding of narrow heads count. Forward:
/// 2 matmuls; backward: 3 for the gradient of the queries, and 4 for those of keys and values.
inline Flops mma_flops(const Attention& s, bool backward) {
  const Band band(s);
  const auto of_queries = [&](int i, int end) { return band.of_queries(i, end); };
  const auto of_keys = [&](int j, int end) { return band.of_keys(j, end); };
  return with_head_width(s.qk_dim, [&](auto width) {
    const Count pairs = !backward ? 2 * executed_pairs<MmaForward<width.value>>(band.queries, of_queries)
                                  : 3 * executed_pairs<MmaQueryGradient<width.value>>(band.queries, of_queries) +
                                        4 * executed_pairs<MmaKeyGradient<width.value>>(band.keys(), of_keys);
    return (s.sequences * s.heads) * flops(2, pairs, width.value);
  });
}

}  // namespace llmcalc::model::cuda
