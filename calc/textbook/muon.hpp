#pragma once
/// Closed forms of Muon (github.com/KellerJordan/Muon; arXiv:2502.16982): the parameters that it leaves to AdamW, and
/// the FLOPs of its Newton-Schulz iterations.

#include "calc/textbook/weights.hpp"

namespace llmcalc::textbook {

/// Whether Muon updates the weight: a matrix of attention or of an MLP, including routers and every expert.
template <class N>
bool is_of_muon(const Weight<N>& w) {
  return w.matrix && (w.component == Component::attention || in_mlp(w.component));
}

/// Number of parameters that have AdamW's two states; all others have one state, the momentum.
template <class N>
N adamw_parameters(const Arch& a, const Sizes<N>& s) {
  return parameters_of(a, s, [](const Weight<N>& w) { return !is_of_muon(w); });
}

/// FLOPs of the iterations: 2 m^2 n + 2 m^3 + 2 m^2 n each for a matrix (m, n), m <= n.
template <class N>
N newton_schulz_flops(const Arch& a, const Sizes<N>& s, const N& iterations) {
  return iterations * sum_of_own_weights(a, s, [](const Weight<N>& w) {
           if (!is_of_muon(w)) return N(0);
           const N m = min(w.in, w.out), n = max(w.in, w.out);
           return N(w.times) * w.copies * (N(4) * m * m * n + N(2) * m * m * m);
         });
}

Count adamw_parameters(const Arch& arch);
Flops newton_schulz_flops(const Arch& arch, Count iterations);

}  // namespace llmcalc::textbook
