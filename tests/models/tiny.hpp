#pragma once
/// Small models that cover every shape of the transformer, and inputs and weights for them.

#include <string>
#include <vector>

#include "model/transformer.hpp"

namespace llmcalc::test {

struct Variant {
  std::string name;
  Arch arch;
  Plan plan;
};

/// GPT-2: LayerNorm, learned positions, plain MLP with biases, tied head. heads x head_dim differs from hidden.
Arch tiny_gpt();
/// Llama: RMSNorm, RoPE, SwiGLU, grouped heads, no biases, untied head.
Arch tiny_llama();
/// DeepSeek-V2: latent attention, experts after a dense layer, shared experts.
Arch tiny_deepseek();

/// A small training plan: 2 sequences of 6 tokens.
Plan tiny_plan();

/// Variants that cover every operator, size, position and option at least once.
std::vector<Variant> variants();
/// The variants that generate text: no encoders.
std::vector<Variant> generating_variants();
/// The variants whose operators the backend supports.
std::vector<Variant> variants(const model::Backend& backend);

/// Random token IDs and targets of a micro-batch.
model::Batch tiny_batch(const Arch& arch, const Plan& plan, std::uint64_t seed);

/// Draws every weight at random, including norms and biases, so that none is exactly zero or one.
void scramble(model::Transformer& t, std::uint64_t seed, double deviation = 0.3);

}  // namespace llmcalc::test
