#pragma once
/// Inputs of the operator that pools keys: sums of a group's keys under the softmax, number by number, of their gates
/// and of a learned bias per place in the group (DeepSeek-V4; hf deepseek_v4/modeling_deepseek_v4.py). Where groups
/// overlap, keys and gates are twice as wide: a pooled key takes the second halves of its own group's tokens and the
/// first halves of the group's before. The last group may be open: it is pooled as far as it goes.

#include "calc/units.hpp"

namespace llmcalc::model {

struct PoolView {
  const void *keys = nullptr, *gates = nullptr;  ///< (sequences, queries, wide)
  const void* bias = nullptr;                    ///< (ratio, wide)
  void* state = nullptr;  ///< (sequences, last_tokens, 2, wide): keys and gates of the last tokens, token t at t mod
                          ///< last_tokens, replaced by the new ones; null: not kept
  Count past = 0;         ///< tokens before the first one
};

/// Destinations of the gradients; that of the bias is wide, and added to.
struct PoolGradients {
  void* keys = nullptr;
  bool add_keys = false;
  void* gates = nullptr;
  bool add_gates = false;
  void* bias = nullptr;
};

}  // namespace llmcalc::model
