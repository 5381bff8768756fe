#pragma once
/// The transformer, as the papers write it.

#include "model/pass.hpp"

namespace llmcalc::model {

/// Token ids (sequences x queries) to logits of every token (training) or of the last of each sequence.
Value forward(Pass& p, std::span<const std::int64_t> ids);

}  // namespace llmcalc::model
