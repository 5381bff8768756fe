#pragma once
/// The transformer, as the papers write it.

#include "model/pass.hpp"

namespace llmcalc::model {

/// Logits of token ids (sequences x queries): of every token in training, else of the last of each sequence.
Value forward(Pass& p, std::span<const std::int64_t> ids);

/// Whether backward runs a layer again whole, by itself or in its group.
bool runs_again(const Plan& plan, Count layer);
/// Whether groups of a model's layers can run again as one: none of them reads what another made, but its input.
bool runs_again_in_groups(const Arch& arch);

}  // namespace llmcalc::model
