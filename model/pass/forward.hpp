#pragma once
/// The transformer, as written in the papers.

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// Logits of token ids (sequences x queries): of every token in training and verification, else of each sequence's last
/// token.
Value forward(Pass& p, std::span<const std::int64_t> ids);

/// Whether backward recomputes a whole layer, individually or in its group.
bool recomputes(const Plan& plan, Count layer);
/// Whether a model's layers can be recomputed in groups, which requires that layers read each other's results only as
/// their input.
bool recomputes_in_groups(const Arch& arch);
/// Whether parts of a model can be frozen, or trained with adapters. Its layers must read each other's results only
/// as their input, and must have neither operators of RWKV or alternating updates nor a learned output scale.
bool trains_in_part(const Arch& arch);
/// Input of an MTP module.
struct Further {
  std::span<const std::int64_t> ids;  ///< for module k, the token k positions after each token of the pass
  Count token = 0;  ///< token of each sequence for which the module's head computes logits; in training, all tokens
};

/// Receives the logits of the model (k = 0) and of each module; returns the next module's input.
using TakeLogits = std::function<Further(Count k, Value logits)>;

/// Runs forward(), then the step's modules in sequence (DeepSeek-V3, arXiv:2412.19437, 2.2).
void forward_further(Pass& p, std::span<const std::int64_t> ids, const TakeLogits& take);

}  // namespace llmcalc::model
