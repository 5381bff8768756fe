#pragma once
/// Classifies the layers of a row's model by attention: full, limited to a window or chunks, or replaced by another
/// mixer.

#include <string>
#include <string_view>

#include "calc/arch.hpp"

namespace llmcalc {

/// Layers with a window or chunks, as sources describe them: "alternating full / sliding window 128 with sinks", "3 of
/// 4 layers chunked attention (8192)", "5 local : 1 global", "5:1", "every 6th layer global", "6" (Hugging Face's
/// sliding_window_pattern). `window` is the reach if the text has no number. Empty if the text does not state both the
/// layers and the reach.
LocalAttention local_attention(std::string_view text, Count window, Count layers);

struct AttentionLayers {
  LocalAttention local;
  bool sinks = false;
  bool recurrent = false;  ///< whether some layers have no softmax attention; their mixer is not stated
  std::string assumed{};   ///< the assumption as a sentence, if the text does not state the layers or is not understood
};
/// Attention layers in a row's text. A window stated without layers applies to every layer, and text that is not
/// understood means full attention. Both are noted as assumptions. `key` is the row's key, for the sentence.
AttentionLayers attention_layers(const std::string& said, std::string_view key, Count window, Count layers);

}  // namespace llmcalc
