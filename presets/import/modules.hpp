#pragma once
/// The matrices of a model under the module names of its checkpoint, and the patterns by which a quantisation block
/// picks some of them.

#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "calc/arch.hpp"
#include "calc/weight_formats.hpp"
#include "presets/import/expression.hpp"

namespace llmcalc::import {

/// A regular expression of module names.
struct NameExpression {
  std::optional<Expression> rest{};  ///< none: `name` is all of it
  std::string name{};                ///< plain text that it begins with, where it matches from any place on
  bool anywhere = false;             ///< it matches from any place on, not from the begin alone
};

/// A set of modules: dotted names ("lm_head", "model.layers.0.mlp"), names with * ("*.attn.*"), or regular expressions
/// ("re:.*self_attn.*"). A name picks every module below it.
class Modules {
 public:
  Modules() = default;
  /// Throws ExpressionError.
  explicit Modules(const std::vector<std::string>& patterns);

  /// `path` begins with "layers." or is that of a module outside the layers.
  bool contain(const std::string& path) const;
  bool empty() const { return names_.empty() && globs_.empty() && expressions_.empty(); }

 private:
  std::unordered_set<std::string> names_;
  std::vector<std::string> globs_;
  std::vector<NameExpression> expressions_;
};

/// A matrix, or all experts' of one kind in one layer. Families name the same matrix differently: each of `paths` is
/// one of its names.
struct Matrix {
  Component component;
  std::vector<std::string> paths;
  Count groups = 1, rows = 0, columns = 0;  ///< of one expert, and their number
  bool biased = false;                      ///< the model adds a bias to what it gives
  Count numbers() const { return mul(groups, rows, columns); }
};

/// The table of tokens.
Matrix token_table(const Arch& arch);

/// Calls visit(const Matrix&) for the routers of all layers, and for the gates of shared experts.
void for_each_router(const Arch& arch, const std::function<void(const Matrix&)>& visit);

/// Calls visit(const Matrix&) for the matrices of all layers and for an untied head; routers and tables are left out.
void for_each_matrix(const Arch& arch, const std::function<void(const Matrix&)>& visit);

}  // namespace llmcalc::import
