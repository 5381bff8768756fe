#pragma once
/// The transformer, as the papers write it.

#include "model/pass.hpp"

namespace llmcalc::model {

/// Logits of token ids (sequences x queries): of every token in training and where they are verified, else of the last
/// of each sequence.
Value forward(Pass& p, std::span<const std::int64_t> ids);

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
