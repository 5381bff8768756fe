#pragma once
/// Inputs of the operator that pools keys. A pooled key is the sum of its group's keys, weighted by the element-wise
/// softmax of their gates plus a learned bias per position in the group (DeepSeek-V4; hf
/// deepseek_v4/modeling_deepseek_v4.py). If groups overlap, keys and gates are twice as wide: a pooled key uses the
/// second halves for tokens of its own group and the first halves for tokens of the previous group. The last group may
/// be incomplete; it is then pooled from the tokens that it has.

#include "calc/units.hpp"

namespace llmcalc::model {

struct PoolView {
  const void *keys = nullptr, *gates = nullptr;  ///< (sequences, queries, wide)
  const void* bias = nullptr;                    ///< (ratio, wide)
  void* state = nullptr;  ///< (sequences, last_tokens, 2, wide): keys and gates of the last tokens, token t at t mod
                          // /< last_tokens, updated by the call; null: not stored
  Count past = 0;         ///< number of tokens before the first token of the pass
};

/// Destinations of the gradients. The gradient of the bias is wide and accumulated.
struct PoolGradients {
  void* keys = nullptr;
  bool add_keys = false;
  void* gates = nullptr;
  bool add_gates = false;
  void* bias = nullptr;
};

}  // namespace llmcalc::model
