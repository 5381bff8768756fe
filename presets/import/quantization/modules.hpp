#pragma once
/// Patterns by which a quantization block picks modules of a checkpoint.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "presets/import/expression.hpp"

namespace llmcalc::import {

/// A name with *, ? or [...], which also picks every module below a matching one.
struct NameGlob {
  std::string begin;   ///< literal prefix
  std::string module;  ///< pattern of the module
  std::string below;   ///< pattern of modules below it
};

/// A regular expression for module names.
struct NameExpression {
  std::optional<Expression> rest{};  ///< absent: `name` is the whole pattern
  std::string name{};                ///< literal prefix, if it matches from any position
  bool anywhere = false;             ///< matches from any position, not only from the start
};

/// A set of modules: dotted names ("lm_head", "model.layers.0.mlp"), names with * ("*.attn.*"), or regular expressions
/// ("re:.*self_attn.*"). A name picks its module and, with `below`, every module below it.
class Modules {
 public:
  Modules() = default;
  /// Throws ExpressionError.
  explicit Modules(const std::vector<std::string>& patterns, bool below = true);

  /// Whether the set contains the module. `path` begins with "layers.", or names a module outside the model's layers:
  /// "lm_head", "mtp.layers.0".
  bool contain(const std::string& path) const;
  /// Whether the set has names only, without globs and expressions; only then is names() complete.
  bool has_names_alone() const { return globs_.empty() && expressions_.empty(); }
  const std::unordered_set<std::string>& names() const { return names_; }
  bool reaches_below() const { return below_; }
  bool empty() const { return names_.empty() && globs_.empty() && expressions_.empty(); }

 private:
  bool below_ = true;
  std::unordered_set<std::string> names_;
  std::vector<NameGlob> globs_;
  std::vector<NameExpression> expressions_;
};

/// Finds the first of many sets of modules that names a path, in time independent of the number of sets.
class NamedModules {
 public:
  /// Adds the names of a set. If two sets have the same name, the first applies.
  void add(const Modules& set, std::size_t number);
  /// Lowest number of a set that names the path; absent if there is none.
  std::optional<std::size_t> first(const std::string& path) const;

 private:
  std::unordered_map<std::string, std::size_t> below_, exact_;
};

}  // namespace llmcalc::import
