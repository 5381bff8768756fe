#pragma once
/// Small encoders.

#include "tests/model/tiny.hpp"

namespace llmcalc::test {

/// BERT: learned positions, segments, norms behind each sum, biases, a pooler and logits of masked tokens.
Arch tiny_bert();

std::vector<Variant> encoder_variants();

}  // namespace llmcalc::test
