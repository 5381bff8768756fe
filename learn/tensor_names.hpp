#pragma once
/// The names that checkpoints give to weights: a table per family.

#include <span>
#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc::model {

/// A module of ours under its name in a checkpoint; # is the layer's number, @ an expert's. Its tensors end in
/// ".weight" and ".bias" in both.
struct StoredModule {
  std::string_view ours, stored;
  bool transposed = false;    ///< its matrix lies as (in, out)
  Count part = 0, parts = 1;  ///< its output numbers are this one of `parts` equal ranges that are stored as one tensor
};

struct NameTable {
  std::string_view model_types;                ///< with a space between them
  std::span<const StoredModule> own, modules;  ///< own ones go before those of a relative
  std::span<const std::string_view> prefixes;  ///< every module's name may begin with one of these
  std::span<const std::string_view> ignored;   ///< tensors that are no weights of the model; * is any end
};

/// The table of a model_type; null: its checkpoints are not read.
const NameTable* name_table(std::string_view model_type);

/// Where a weight, or one expert's part of it, lies in a checkpoint: "layers.3.attn.q.weight" is part of
/// "h.3.attn.c_attn.weight". The name is without a prefix.
struct StoredPlace {
  std::string name;
  bool transposed = false;
  Count part = 0, parts = 1;
};
StoredPlace stored_place(const NameTable& table, std::string_view weight, Count expert = 0);

/// Whether the table says that a tensor, without a prefix, is no weight.
bool is_ignored(const NameTable& table, std::string_view name);

}  // namespace llmcalc::model
