#pragma once
/// Small encoders.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// BERT: learned positions, segments, norms behind each sum, biases, a pooler and logits of masked tokens.
Arch tiny_bert();

/// ModernBERT: three layers, two of which see three tokens; LayerNorms without bias, none before the first attention;
/// logits of masked tokens from a tied head with a bias.
Arch tiny_modernbert();

/// T5: two layers of an encoder and two of a decoder that reads its result, distances in 8 ranges, a tied head.
Arch tiny_t5();

/// Encoders alone, and before decoders.
std::vector<Variant> encoder_variants();

}  // namespace llmcalc::test
