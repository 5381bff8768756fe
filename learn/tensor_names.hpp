#pragma once
/// Names of weights in checkpoints, with one table per family.

#include <span>
#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc::model {

/// A module of this program's model and its name in a checkpoint; # stands for the layer number, @ for the expert
/// number. Under both names, its tensors end in ".weight" and ".bias".
struct StoredModule {
  std::string_view ours, stored;
  bool transposed = false;    ///< whether the module's matrix is stored as (in, out)
  Count part = 0, parts = 1;  ///< the stored tensor has `parts` equal output ranges; this module is range `part`
};

struct NameTable {
  std::string_view model_types;                ///< model_types that use this table, separated by spaces
  std::span<const StoredModule> own, modules;  ///< `own` takes precedence over `modules`, the table of a related family
  std::span<const std::string_view> prefixes;  ///< possible prefixes of every module's name
  std::span<const std::string_view> ignored;   ///< tensors that are not weights; * matches any ending
};

/// The table for a model_type; null if its checkpoints are not supported.
const NameTable* name_table(std::string_view model_type);

/// Location of a weight, or of one expert's part of it, in a checkpoint: "layers.3.attn.q.weight" is part of
/// "h.3.attn.c_attn.weight". The name excludes the prefix.
struct StoredPlace {
  std::string name;
  bool transposed = false;
  Count part = 0, parts = 1;
};
StoredPlace stored_place(const NameTable& table, std::string_view weight, Count expert = 0);

/// Whether the table's `ignored` list contains a tensor; `name` excludes the prefix.
bool is_ignored(const NameTable& table, std::string_view name);

}  // namespace llmcalc::model
