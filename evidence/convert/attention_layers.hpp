#pragma once
/// Which layers of a row's model see all tokens, which a window or chunks, and which have another mixer.

#include <string>
#include <string_view>

#include "calc/arch.hpp"

namespace llmcalc {

/// Layers with a window or chunks, as sources write them: "alternating full / sliding window 128 with sinks", "3 of 4
/// layers chunked attention (8192)", "5 local : 1 global", "5:1", "every 6th layer global", "6" (Hugging Face's
/// sliding_window_pattern). Without a number in the text, `window` is the reach. Nothing where the text tells no layers
/// or no reach.
LocalAttention local_attention(std::string_view text, Count window, Count layers);

struct AttentionLayers {
  LocalAttention local;
  bool sinks = false;
  bool recurrent = false;  ///< some layers have no softmax attention: what they have is not told
  std::string assumed{};   ///< the sentence, where the text is silent about the layers or not understood
};
/// What a row says of its layers. A window whose layers are not told is every layer's; a text that is not understood
/// means attention over all tokens; both are assumed. `key` is the row's own, for the sentence.
AttentionLayers attention_layers(const std::string& said, std::string_view key, Count window, Count layers);

}  // namespace llmcalc
