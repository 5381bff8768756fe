#pragma once
/// Patterns by which a quantization block selects modules of a checkpoint.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "presets/import/expression.hpp"

namespace llmcalc::import {

/// A name with *, ? or [...]. It also matches every module below a matching module.
struct NameGlob {
  std::string begin;   ///< literal prefix
  std::string module;  ///< pattern for the module
  std::string below;   ///< pattern for modules below it
};

/// A regular expression for module names.
struct NameExpression {
  std::optional<Expression> rest{};  ///< compiled pattern; absent: `name` is the whole pattern
  std::string name{};                ///< literal prefix of the pattern; used if the pattern matches at any position
  bool anywhere = false;             ///< whether it matches at any position, not only at the start
};

/// A set of modules, specified by names ("lm_head", "model.layers.0.mlp"), globs ("*.attn.*") or regular expressions
/// ("re:.*self_attn.*"). A name matches its module and, if `below` is set, every module below it.
class Modules {
 public:
  Modules() = default;
  /// Throws ExpressionError if a regular expression is not accepted.
  explicit Modules(const std::vector<std::string>& patterns, bool below = true);

  /// Whether the set contains the module. `path` begins with "layers.", or names a module outside the model's layers:
  /// "lm_head", "mtp.layers.0".
  bool contain(const std::string& path) const;
  /// Whether the set has only names, without globs and expressions. Only then is names() complete.
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
  /// Adds the names in a set. If two sets have the same name, the first one applies.
  void add(const Modules& set, std::size_t number);
  /// Lowest number of a set that names the path; absent if no set does.
  std::optional<std::size_t> first(const std::string& path) const;

 private:
  std::unordered_map<std::string, std::size_t> below_, exact_;
};

}  // namespace llmcalc::import
