#include "validate/tensor_work.hpp"

#include <algorithm>

#include "model/cuda/core_choice.hpp"
#include "model/cuda/matvec.hpp"
#include "model/cuda/mma_attention.hpp"

namespace llmcalc::validate {
namespace {

using model::cuda::Band;

double number(Flops f) { return static_cast<double>(f.value); }

/// Experts' and heads' matrices share `rows`: none has more.
bool few_rows(const Linear& s, bool backward) {
  return !backward && (s.groups == 1 || s.top_k > 0) && model::cuda::FewRows<model::bf16>::fits(s.rows, s.in);
}
bool fills_tiles(const Linear& s) {
  constexpr Count tile = 128;
  return s.groups == 1 && s.top_k == 0 && s.rows % tile == 0 && s.in % tile == 0 && s.out % tile == 0;
}

/// Flash attention in whole tiles: 2 products forward; 5 backward, 3 of them as wide as keys.
Flops tiled(const Attention& s, bool backward, int rows, int keys) {
  const Band band(s);
  const Count pairs =
      model::cuda::executed_pairs(band.queries, rows, keys, [&](int i, int end) { return band.of_queries(i, end); });
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

TensorFlops of_attention(const Attention& s, bool backward, AttentionImpl how, const std::string& core) {
  if (s.queries == 1 || how == AttentionImpl::naive) return {};
  const std::string by = model::cuda::said_of(core, backward);
  if (by.starts_with("cuDNN")) return by_cudnn(s, backward);
  if (!by.starts_with("mma")) return {};
  const double exact = number(model::cuda::mma_flops(s, backward));
  return {exact, exact};
}

}  // namespace

std::optional<WorkKind> kind_of(const Shape& shape, bool backward) {
  if (std::holds_alternative<Attention>(shape)) return WorkKind::attention;
  const Linear* const s = std::get_if<Linear>(&shape);
  if (s == nullptr) return std::nullopt;
  return few_rows(*s, backward) || fills_tiles(*s) ? WorkKind::products : WorkKind::padded;
}

TensorFlops tensor_flops(const OpRuns& op, AttentionImpl how, const std::string& core) {
  if (const Attention* const s = std::get_if<Attention>(&op.shape)) return of_attention(*s, op.backward, how, core);
  const Linear* const s = std::get_if<Linear>(&op.shape);
  if (s == nullptr || few_rows(*s, op.backward)) return {};
  return {number(op.flops), number(op.flops)};
}

}  // namespace llmcalc::validate
