#include "model/cuda/instruments/tensor_work.hpp"

#include "model/cuda/fast/matvec.hpp"
#include "model/cuda/fast/mma_attention.hpp"

namespace llmcalc::model::cuda {
namespace {

/// Whether a matmul has few rows. Matrices of experts and heads share `rows`, so each has at most this many.
bool few_rows(const Linear& s, bool backward) {
  return !backward && (s.groups == 1 || s.top_k > 0) && FewRows<bf16>::fits(s.rows, s.in);
}
bool fills_tiles(const Linear& s) {
  constexpr Count tile = 128;
  return s.groups == 1 && s.top_k == 0 && s.rows % tile == 0 && s.in % tile == 0 && s.out % tile == 0;
}

double of_attention(const Attention& s, const TensorOp& op) {
  if (s.queries == 1 || op.attention == AttentionImpl::naive || op.core != AttentionCore::mma) return 0;
  return static_cast<double>(mma_flops(s, op.backward).value);
}

TensorWork of_product(const Linear& s, const TensorOp& op) {
  if (few_rows(s, op.backward)) return {};
  return {fills_tiles(s) ? WorkKind::products : WorkKind::padded, static_cast<double>(op.flops.value)};
}

}  // namespace

std::optional<TensorWork> tensor_work(const TensorOp& op) {
  if (const Attention* const s = std::get_if<Attention>(&op.shape))
    return TensorWork{WorkKind::attention, of_attention(*s, op)};
  if (const Linear* const s = std::get_if<Linear>(&op.shape)) return of_product(*s, op);
  return std::nullopt;
}

}  // namespace llmcalc::model::cuda
