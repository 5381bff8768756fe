#pragma once
/// Closed forms of MTP modules (DeepSeek-V3, arXiv:2412.19437, 2.2). A module is a one-layer model plus two norms and
/// a projection from 2 D to D. Unless it has its own token embedding and head, it shares the main model's.

#include "calc/textbook/flops.hpp"
#include "calc/textbook/weights.hpp"

namespace llmcalc::textbook {

/// The one-layer model inside a module. Its token embedding is always counted; its head is tied unless the module has
/// its own.
Arch module_model(const Arch& arch);

/// Parameters that combine a module's inputs: 2 D D + 2 norms of D (LayerNorms of 2 D), replicated on every
/// tensor-parallel rank.
template <class N>
N module_input_parameters(const Arch& model, const Sizes<N>& s) {
  const Count norms = model.norm == NormKind::weight_free ? 0 : model.norm == NormKind::layer_norm ? 4 : 2;
  return N(2) * s.D * s.D + N(norms) * s.D;
}
/// Parameters of a module: the unshared parameters of the one-layer model, plus the parameters that combine the
/// inputs. `s`: sizes of the one-layer model.
template <class N>
N module_parameters(const Arch& model, const Sizes<N>& s, bool own_embedding) {
  const N all = all_parameters(model, s) + module_input_parameters(model, s);
  return own_embedding ? all : all - s.cut(s.V) * s.D;
}
/// Parameters of one module.
Count module_parameters(const Arch& arch);

/// FLOPs of one module's forward pass: the one-layer model, including the head, and 2 (n + 1) t D^2 for the projections
/// of the token embedding and of n residual streams.
Flops module_forward_flops(const Arch& arch, const PassShape& pass);

}  // namespace llmcalc::textbook
