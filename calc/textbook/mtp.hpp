#pragma once
/// Closed forms of MTP modules (DeepSeek-V3, arXiv:2412.19437, 2.2). A module is a model of one layer plus two norms
/// and a projection of 2 D to D; unless it has its own token embedding and head, it shares the main model's.

#include "calc/textbook/flops.hpp"
#include "calc/textbook/weights.hpp"

namespace llmcalc::textbook {

/// The one-layer model of a module. Its token embedding is always counted; its head is tied unless the module has its
/// own.
Arch module_model(const Arch& arch);

/// Parameters of a module's input: 2 D D + 2 norms of D (LayerNorms of 2 D), replicated on every tensor-parallel rank.
template <class N>
N module_input_parameters(const Arch& model, const Sizes<N>& s) {
  const Count norms = model.norm == NormKind::weight_free ? 0 : model.norm == NormKind::layer_norm ? 4 : 2;
  return N(2) * s.D * s.D + N(norms) * s.D;
}
/// Parameters of a module: its own part of the one-layer model plus its input. `s`: sizes of the one-layer model.
template <class N>
N module_parameters(const Arch& model, const Sizes<N>& s, bool own_embedding) {
  const N all = all_parameters(model, s) + module_input_parameters(model, s);
  return own_embedding ? all : all - s.cut(s.V) * s.D;
}
/// Parameters of one module.
Count module_parameters(const Arch& arch);

/// FLOPs of one module's forward pass: the one-layer model, including the head, and 2 (n + 1) t D^2 for the projections
/// of a token's embedding and of n residual streams.
Flops module_forward_flops(const Arch& arch, const PassShape& pass);

}  // namespace llmcalc::textbook
