#pragma once
/// Muon (Jordan et al. 2024, github.com/KellerJordan/Muon; arXiv:2502.16982): Newton-Schulz iterations orthogonalize
/// the momentum of every block matrix before it is subtracted. AdamW updates all other parameters.

#include "calc/cost/cost.hpp"

namespace llmcalc {

/// `count` matrices (in, out), each updated separately.
struct Matrices {
  Count count = 0, in = 0, out = 0;
  constexpr Count numbers() const { return mul(count, in, out); }
  constexpr bool operator==(const Matrices&) const = default;
};

/// An operator's matrices that Muon updates: trained matrices of attention and of the MLP, including routers,
/// adapters and every expert. Excludes token embedding, position tables, head, the projections of these, norms,
/// biases and other vectors (arXiv:2502.16982, 2.2; torch.optim.Muon).
Matrices muon_matrices(const Op& op);

/// Newton-Schulz iterations of matrices (m, n), m <= n, in bf16:
///
///   A = X X'          2 m^2 n FLOPs, reads m n elements, writes m^2
///   B = b A + c A A   2 m^3          reads m^2, writes m^2
///   X = a X + B X     2 m^2 n        reads m^2 and m n, writes m n
///
/// Does not exploit symmetry. Excludes the norm before the first iteration, casts and launches. Source:
/// zeropower_via_newtonschulz5 of github.com/KellerJordan/Muon.
Cost newton_schulz(const Matrices& matrices, Count iterations);

}  // namespace llmcalc
