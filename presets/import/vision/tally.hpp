#pragma once
/// Adds up the parameters of modules, listed in the order of the modeling code.

#include "calc/units.hpp"

namespace llmcalc::import {

class ModuleTally {
 public:
  constexpr ModuleTally& numbers(Count n) {
    total_ = add(total_, n);
    return *this;
  }
  /// Adds a (rows, width) embedding, or a matrix without bias.
  constexpr ModuleTally& table(Count rows, Count width) { return numbers(mul(rows, width)); }
  /// Adds an (out, in) matrix and, with `bias`, a bias (out).
  constexpr ModuleTally& linear(Count in, Count out, bool bias = true) {
    return table(out, in).numbers(bias ? out : 0);
  }
  /// Adds n LayerNorms, each with a weight and a bias (width). An RMSNorm is numbers(width).
  constexpr ModuleTally& layer_norms(Count n, Count width) { return table(mul(2, n), width); }
  constexpr ModuleTally& copies(Count n, const ModuleTally& of) { return numbers(mul(n, of.total_)); }
  constexpr Count total() const { return total_; }

 private:
  Count total_ = 0;
};

}  // namespace llmcalc::import
