#pragma once
/// MTP modules (Mtp) in formulas. A size that equals the model's is written with the model's symbol, any other with a
/// symbol that ends in _p.

#include "report/explain/definition.hpp"

namespace llmcalc::explain {

/// One MTP module on one of `ranks` tensor-parallel ranks.
class ModuleFormulas {
 public:
  ModuleFormulas(const Setting& s, Count ranks);
  /// Parameters of one module: all of them; parameters replicated on every rank and used only for its tokens;
  /// parameters used only for its heads.
  Expr parameters() const;
  Expr parameters_for_tokens() const;
  Expr parameters_for_heads() const;
  /// Forward FLOPs of one module for a micro-batch.
  Expr flops() const;
  /// A formula that also defines the symbols that the model does not have.
  Formula formula(const Expr& e) const;

 private:
  const Setting& s_;
  Arch model_;
  std::vector<Symbol> own_;
  textbook::Sizes<Expr> sizes_;
};

}  // namespace llmcalc::explain
