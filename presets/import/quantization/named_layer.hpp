#pragma once
/// Helpers of matrices.cpp and recurrent_matrices.cpp for the names of a layer's matrices.

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "presets/formats/fused_matrices.hpp"
#include "presets/import/quantization/matrices.hpp"

namespace llmcalc::import {

using NameChoices = std::vector<std::string>;

/// Visits a layer's matrices with their names in hf and in the checkpoints' code. `fused` and `visit` must outlive
/// it.
class NamedLayer {
 public:
  NamedLayer(std::string prefix, const FusedMatrices& fused, const std::function<void(const Matrix&)>& visit)
      : prefix_(std::move(prefix)), fused_(fused), visit_(visit) {}
  NamedLayer(Count index, const FusedMatrices& fused, const std::function<void(const Matrix&)>& visit)
      : NamedLayer(fmt::format("layers.{}.", index), fused, visit) {}

  const FusedMatrices& fused() const { return fused_; }

  void matrix(Component c, const NameChoices& parents, const NameChoices& leaves, Count rows, Count columns,
              Count groups = 1, bool biased = false, bool by_name = false) const {
    Matrix m{c, {}, groups, rows, columns, biased, by_name};
    for (const std::string& parent : parents)
      for (const std::string& leaf : leaves) m.paths.push_back(prefix_ + parent + "." + leaf);
    if (parents.empty()) m.paths.push_back(prefix_ + leaves.front());
    visit_(m);
  }

 private:
  std::string prefix_;
  const FusedMatrices& fused_;
  const std::function<void(const Matrix&)>& visit_;
};

inline NameChoices both(NameChoices names, const NameChoices& others) {
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

inline const NameChoices attention_names{"self_attn", "attn", "attention", "self_attention", "mixer"};

/// A layer's attention matrices, in any of the parent modules.
class Projections {
 public:
  Projections(const NamedLayer& l, NameChoices parents) : l_(l), parents_(std::move(parents)) {}
  void operator()(const NameChoices& leaves, Count rows, Count columns, bool biased = false) const {
    l_.matrix(Component::attention, parents_, leaves, rows, columns, 1, biased);
  }
  /// A matrix in a module that has other parameters. Only groups that name it match it, because groups for all
  /// matrices cover only modules with a single matrix.
  void parameter(const char* leaf, Count rows, Count columns, Count groups = 1) const {
    l_.matrix(Component::attention, parents_, {leaf}, rows, columns, groups, false, true);
  }

 private:
  const NamedLayer& l_;
  NameChoices parents_;
};

}  // namespace llmcalc::import
