#pragma once
/// Small encoders.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// BERT: learned positions, segments, post-norms, biases, a pooler and masked-token logits.
Arch tiny_bert();

/// ModernBERT: three layers, two with a window of three tokens; LayerNorms without bias, none before the first
/// attention; masked-token logits from a tied head with a bias.
Arch tiny_modernbert();

/// T5: two encoder layers and two decoder layers with cross-attention, relative positions in 8 buckets, a tied head.
Arch tiny_t5();

/// Encoder-only models and encoder-decoders.
std::vector<Variant> encoder_variants();

}  // namespace llmcalc::test
