#pragma once
/// The transformer, as the papers write it.

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// Logits of token ids (sequences x queries): of every token in training and where they are verified, else of the last
/// of each sequence.
Value forward(Pass& p, std::span<const std::int64_t> ids);

/// Whether backward runs a layer again whole, by itself or in its group.
bool runs_again(const Plan& plan, Count layer);
/// Whether groups of a model's layers can run again as one: none of them reads what another made, but its input.
bool runs_again_in_groups(const Arch& arch);
/// Whether parts of a model can be frozen, or trained by adapters: no layer reads what another made, but its input, and
/// none has operators of RWKV, alternating updates or a learned scale of its result.
bool trains_in_part(const Arch& arch);
/// What a module for further tokens reads.
struct Further {
  std::span<const std::int64_t> ids;  ///< of module k, for each token of the pass, the one k places ahead of it
  Count token = 0;                    ///< whose logits its head makes, in each sequence; in training those of all
};

/// Hears the logits of the model (k = 0) and of each module; returns what the next one reads.
using TakeLogits = std::function<Further(Count k, Value logits)>;

/// The same, and the modules of the pass's step behind it, one after another (DeepSeek-V3, arXiv:2412.19437, 2.2).
void forward_further(Pass& p, std::span<const std::int64_t> ids, const TakeLogits& take);

}  // namespace llmcalc::model
