#pragma once
/// Parameter count of a list of modules, in the order of the modeling code.

#include "calc/units.hpp"

namespace llmcalc::import {

class ModuleTally {
 public:
  constexpr ModuleTally& numbers(Count n) {
    total_ = add(total_, n);
    return *this;
  }
  /// (rows, width): an embedding, or a matrix without bias.
  constexpr ModuleTally& table(Count rows, Count width) { return numbers(mul(rows, width)); }
  /// (out, in), and a bias (out).
  constexpr ModuleTally& linear(Count in, Count out, bool bias = true) {
    return table(out, in).numbers(bias ? out : 0);
  }
  /// A weight and a bias (width) each. An RMSNorm is numbers(width).
  constexpr ModuleTally& layer_norms(Count n, Count width) { return table(mul(2, n), width); }
  constexpr ModuleTally& copies(Count n, const ModuleTally& of) { return numbers(mul(n, of.total_)); }
  constexpr Count total() const { return total_; }

 private:
  Count total_ = 0;
};

}  // namespace llmcalc::import
