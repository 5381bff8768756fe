#pragma once
/// The transformer, as the papers write it.

#include "model/pass.hpp"

namespace llmcalc::model {

/// Logits of token ids (sequences x queries): of every token in training, else of the last of each sequence.
Value forward(Pass& p, std::span<const std::int64_t> ids);

}  // namespace llmcalc::model
