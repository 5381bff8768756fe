#include "model/cuda/tensor_work.hpp"

#include <algorithm>

#include "model/cuda/matvec.hpp"
#include "model/cuda/mma_attention.hpp"

namespace llmcalc::model::cuda {
namespace {

double number(Flops f) { return static_cast<double>(f.value); }

/// Experts' and heads' matrices share `rows`: none has more.
bool few_rows(const Linear& s, bool backward) {
  return !backward && (s.groups == 1 || s.top_k > 0) && FewRows<bf16>::fits(s.rows, s.in);
}
bool fills_tiles(const Linear& s) {
  constexpr Count tile = 128;
  return s.groups == 1 && s.top_k == 0 && s.rows % tile == 0 && s.in % tile == 0 && s.out % tile == 0;
}

/// Flash attention in whole tiles: 2 products forward; 5 backward, 3 of them as wide as keys.
Flops tiled(const Attention& s, bool backward, int rows, int keys) {
  const Band band(s);
  const Count pairs = executed_pairs(band.queries, rows, keys, [&](int i, int end) { return band.of_queries(i, end); });
  return (s.sequences * s.heads) * flops(2, pairs, backward ? 3 * s.qk_dim + 2 * s.v_dim : s.qk_dim + s.v_dim);
}

TensorFlops by_cudnn(const Attention& s, bool backward) {
  constexpr int smallest = 64, largest = 128, step = 16;
  Flops least = tiled(s, backward, smallest, smallest), most = least;
  for (int rows = smallest; rows <= largest; rows += step)
    for (int keys = smallest; keys <= largest; keys += step) {
      const Flops one = tiled(s, backward, rows, keys);
      least = std::min(least, one);
      most = std::max(most, one);
    }
  return {number(least), number(most)};
}

TensorFlops of_attention(const Attention& s, const TensorOp& op) {
  if (s.queries == 1 || op.attention == AttentionImpl::naive) return {};
  if (op.core == AttentionCore::cudnn) return by_cudnn(s, op.backward);
  if (op.core != AttentionCore::mma) return {};
  const double exact = number(mma_flops(s, op.backward));
  return {exact, exact};
}

TensorWork of_product(const Linear& s, const TensorOp& op) {
  if (few_rows(s, op.backward)) return {};
  const double all = number(op.flops);
  return {fills_tiles(s) ? WorkKind::products : WorkKind::padded, {all, all}};
}

}  // namespace

std::optional<TensorWork> tensor_work(const TensorOp& op) {
  if (const Attention* const s = std::get_if<Attention>(&op.shape))
    return TensorWork{WorkKind::attention, of_attention(*s, op)};
  if (const Linear* const s = std::get_if<Linear>(&op.shape)) return of_product(*s, op);
  return std::nullopt;
}

}  // namespace llmcalc::model::cuda
