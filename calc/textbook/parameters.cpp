#include "calc/textbook/parameters.hpp"

#include "calc/textbook/flops.hpp"
#include "calc/textbook/weights.hpp"

namespace llmcalc::textbook {
namespace {

/// The model reduced to one layer of softmax attention and a dense MLP.
Arch one_layer(const Arch& a) {
  Arch one = a;
  one.layers = 1;
  one.linear_layers = {};
  one.moe = {};
  one.mixers = {};
  one.mlps = {};
  one.repeats = {};
  return one;
}

}  // namespace

Count gpt2_parameters(Count layers, Count hidden, Count mlp_width, Count vocabulary, Count positions) {
  const Exact l = layers, d = hidden, f = mlp_width;
  return (Exact(4) * l * d * d + Exact(2) * l * d * f + l * (Exact(9) * d + f) + (Exact(vocabulary) + positions) * d +
          Exact(2) * d)
      .count();
}

Count llama_parameters(Count layers, Count hidden, Count heads, Count kv_heads, Count head_dim, Count mlp_width,
                       Count vocabulary, bool tied) {
  const Exact d = hidden, q = Exact(heads) * head_dim, kv = Exact(kv_heads) * head_dim;
  const Exact layer = Exact(2) * q * d + Exact(2) * kv * d + Exact(3) * d * mlp_width + Exact(2) * d;
  return (Exact(layers) * layer + Exact(tied ? 1 : 2) * vocabulary * d + d).count();
}

Count wolfe_parameters(Count layers, Count hidden, Count vocabulary, Count positions, bool bias) {
  const Exact l = layers, d = hidden, v = vocabulary;
  const Exact block = Exact(12) * d * d + Exact(bias ? 13 : 4) * d;
  return (l * block + (Exact(2) * v + positions) * d + Exact(2) * d + (bias ? v : Exact(0))).count();
}

Count ParameterSums::total() const { return (Exact(embedding) + position + attention + mlp + norm + lm_head).count(); }

ParameterSums parameters(const Arch& a) {
  const Sizes<Fraction> s = exact_sizes(a);
  const auto of = [&](Component c) { return parameters_of(a, s, c).count(); };
  return {.embedding = of(Component::embedding),
          .position = of(Component::position),
          .attention = of(Component::attention),
          .mlp = of(Component::mlp),
          .norm = of(Component::norm),
          .lm_head = of(Component::lm_head)};
}

Count attention_parameters(const Arch& a) { return parameters(one_layer(a)).attention; }

Count dense_mlp_parameters(const Arch& a) { return parameters(one_layer(a)).mlp; }

Count routed_parameters(const Arch& a) {
  return parameters_of(a, exact_sizes(a), [](const Weight<Fraction>& w) { return w.routed; }).count();
}

Count active_parameters(const Arch& a) {
  const Sizes<Fraction> s = exact_sizes(a);
  return (all_parameters(a, s) - idle_parameters(a, s, Fraction(a.moe.top_k))).count();
}

Count non_embedding_parameters(const Arch& a) {
  const ParameterSums s = parameters(a);
  return (Exact(s.attention) + s.mlp + s.norm).count();
}

Count nanogpt_parameters(const Arch& a) {
  const ParameterSums s = parameters(a);
  return (Exact(s.total()) - s.position).count();
}

Count matmul_parameters(const Arch& a) { return matmul_weights(a, exact_sizes(a)).count(); }

Count head_matmul_parameters(const Arch& a) {
  const Sizes<Fraction> s = exact_sizes(a);
  return (head_weights(a, s) + (s.narrows_head ? s.D_e * s.D : Fraction(0))).count();
}

Count pooled_matmul_parameters(const Arch& a) { return pooled_weights(a, exact_sizes(a)).count(); }

Count adafactor_numbers(const Arch& a) { return factored_numbers(a, exact_sizes(a)).count(); }

}  // namespace llmcalc::textbook
