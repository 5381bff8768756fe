#pragma once
/// Small models of every shape that the transformer has, and numbers to run them on.

#include <string>
#include <vector>

#include "model/transformer.hpp"

namespace llmcalc::test {

struct Variant {
  std::string name;
  Arch arch;
  Plan plan;
};

/// LayerNorm, learned positions, plain MLP with biases, tied head: GPT-2, with heads x head_dim unlike hidden.
Arch tiny_gpt();
/// RMSNorm, RoPE, SwiGLU, grouped heads, no bias, head of its own: Llama.
Arch tiny_llama();
/// DeepSeek-V2: latent attention, experts after a dense layer, shared experts.
Arch tiny_deepseek();

/// Training in small: 2 sequences of 6 tokens in double.
Plan tiny_plan();

/// Every operator, size, place and choice at least once.
std::vector<Variant> variants();
/// Those that continue a text: no encoders.
std::vector<Variant> generating_variants();
/// Those that the backend has all operators of.
std::vector<Variant> variants(const model::Backend& backend);

/// `n` token ids of a vocabulary, and those that follow them.
model::Batch tiny_batch(const Arch& arch, const Plan& plan, std::uint64_t seed);

/// Every weight drawn at random, norms' and biases' too, so that nothing is zero or one.
void scramble(model::Transformer& t, std::uint64_t seed, double deviation = 0.3);

}  // namespace llmcalc::test
