#pragma once
/// What mixes the tokens of a layer, written like the papers: attention (mixer.cpp, compressed.cpp), recurrences
/// (recurrence.cpp).

#include "model/pass.hpp"

namespace llmcalc::model {

/// The current layer's mixer on x (tokens, hidden): attention, a recurrence, or the sum of both.
Value mixed(Pass& p, Value x);

/// The current layer's compressed attention on x, as wide as x.
Value compressed_attention(Pass& p, Value x);

/// The current layer's recurrence (Mixer::recurrent) on x, as wide as x.
Value recurrence(Pass& p, Value x);

/// Lightning attention (MiniMax-01, arXiv:2501.08313) on x, as wide as x.
Value linear_attention(Pass& p, Value x);

}  // namespace llmcalc::model
