#pragma once
/// The patterns by which a quantisation block picks some modules of a checkpoint.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "presets/import/expression.hpp"

namespace llmcalc::import {

/// A name with *, ? or [...], which also picks every module below.
struct NameGlob {
  std::string begin;   ///< plain text that it begins with
  std::string module;  ///< the pattern of the module
  std::string below;   ///< the pattern of what is below it
};

/// A regular expression of module names.
struct NameExpression {
  std::optional<Expression> rest{};  ///< none: `name` is all of it
  std::string name{};                ///< plain text that it begins with, where it matches from any place on
  bool anywhere = false;             ///< it matches from any place on, not from the begin alone
};

/// A set of modules: dotted names ("lm_head", "model.layers.0.mlp"), names with * ("*.attn.*"), or regular expressions
/// ("re:.*self_attn.*"). A name picks every module below it, or itself alone.
class Modules {
 public:
  Modules() = default;
  /// Throws ExpressionError.
  explicit Modules(const std::vector<std::string>& patterns, bool below = true);

  /// `path` begins with "layers.", or is that of a module outside the model's layers: "lm_head", "mtp.layers.0".
  bool contain(const std::string& path) const;
  /// Whether it has no patterns: only then do names() say all that it holds.
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

/// Which of many sets of modules names a path first. It takes as long for thousands of sets as for one.
class NamedModules {
 public:
  /// Adds the names of a set; of two sets with one name the first counts.
  void add(const Modules& set, std::size_t number);
  /// The lowest number of a set that contains the path.
  std::optional<std::size_t> first(const std::string& path) const;

 private:
  std::unordered_map<std::string, std::size_t> below_, exact_;
};

}  // namespace llmcalc::import
