#include "calc/textbook/seeds.hpp"

namespace llmcalc::textbook {
namespace {

Exact tokens_layers(const SeedActivations& s) { return Exact(s.batch) * s.seq * s.layers; }
/// Number of ranks across which sequence parallelism shards the activations that tensor parallelism does not shard.
Count unsharded_ranks(const SeedActivations& s) { return s.sequence_parallel ? s.tensor_parallel : 1; }

}  // namespace

Fraction seed_parameters(Count layers, Count hidden, Fraction expansion, Count tables, Count tensor_parallel) {
  const Fraction blocks = (Fraction(4) + Fraction(2) * expansion) * Fraction(Exact(layers) * hidden * hidden, 1);
  return blocks * Fraction(1, tensor_parallel) + Fraction(Exact(tables) * hidden, 1);
}

Fraction seed_attention_activations(const SeedActivations& s) {
  const Exact p = s.precision, d = s.hidden, scores = (Exact(2) * p + 1) * s.heads * s.seq;
  const Fraction per_token =
      Fraction((p + 1) * d, unsharded_ranks(s)) + Fraction(Exact(4) * p * d + scores, s.tensor_parallel);
  return Fraction(tokens_layers(s), 1) * per_token;
}
Fraction seed_mlp_activations(const SeedActivations& s) {
  const Exact p = s.precision, d = s.hidden;
  const Fraction per_token =
      Fraction((p + 1) * d, unsharded_ranks(s)) + Fraction(Exact(2) * s.expansion * p * d, s.tensor_parallel);
  return Fraction(tokens_layers(s), 1) * per_token;
}
Fraction seed_norm_activations(const SeedActivations& s) {
  return {Exact(2) * s.precision * s.hidden * tokens_layers(s), unsharded_ranks(s)};
}
Fraction seed_activations(const SeedActivations& s) {
  return seed_attention_activations(s) + seed_mlp_activations(s) + seed_norm_activations(s);
}

Fraction mixed_precision_break_even_batch(Count hidden, Count heads, Count seq) {
  return {Exact(6) * hidden * hidden, Exact(8) * hidden * seq + Exact(heads) * seq * seq};
}
Fraction activation_crossover_seq(Count hidden, Count heads) { return {Exact(34) * hidden, Exact(5) * heads}; }

Flops seed_train_flops(Count batch, Count layers, Count seq, Count hidden, Count expansion) {
  return (Exact(12) * batch * hidden * layers * seq * (Exact(seq) + Exact(2 + expansion) * hidden)).flops();
}
Fraction attention_flops_share(Count seq, Count hidden, Count expansion) {
  return {seq, Exact(seq) + Exact(2 + expansion) * hidden};
}
Count flops_crossover_seq(Count hidden, Count expansion) { return (Exact(2 + expansion) * hidden).count(); }

Fraction seed_kv_cache(Count batch, Count seq, Count hidden, Count layers, Count precision, Count tensor_parallel) {
  return {Exact(2) * precision * batch * hidden * layers * seq, tensor_parallel};
}
Count cache_crossover_tokens(Count hidden, Count expansion) { return (Exact(2 + expansion) * hidden).count(); }

double seed_matmul_intensity(Count batch, Count seq, Count hidden, double precision) {
  const double t = real(batch) * real(seq), d = real(hidden);
  return 2 * t * d / (precision * (2 * t + d));
}
double seed_decode_intensity(Count params, Count batch, Count layers, Count hidden, Count context, double precision) {
  const double n = real(params), b = real(batch), cache = real(layers) * real(hidden) * real(context);
  return (2 * b * n + 4 * b * cache) / (precision * (n + 2 * b * cache));
}
double seed_decode_intensity_limit(Count params, Count layers, Count hidden, Count context, double precision) {
  const double cache = real(layers) * real(hidden) * real(context);
  return (real(params) + 2 * cache) / (precision * cache);
}
double seed_decode_mlp_intensity(Count batch, Count hidden, double precision) {
  return seed_matmul_intensity(batch, 1, hidden, precision);
}
double seed_decode_attention_intensity(Count batch, Count hidden, Count context, double precision) {
  const double b = real(batch), d = real(hidden), c = real(context);
  return (8 * b * d * d + 4 * b * d * c) / (precision * (4 * d * d + 2 * b * d * c));
}

double Gpt3CaseStudy::activation_ratio(Count seq) const {
  const double s = real(seq);
  return (real(linear_per_token.value) * s + real(quadratic_per_token2.value) * s * s) / real(states().value);
}

Gpt3CaseStudy gpt3_case_study(Gpt3States states) {
  const Exact l = 96, d = 12288, a = 96, v = 50257, ranks = 8;
  const Exact half = states == Gpt3States::corrected ? 1 : 2;  // the printed digits count only half of the bytes
  const Exact blocks = Exact(12) * l * d * d, n = blocks + v * d;
  return {.params = n.count(),
          .weights = (Exact(2) * n / half).bytes(),
          .gradients = (Exact(4) * n / half).bytes(),
          .optimizer = (Exact(12) * n / half).bytes(),
          .linear_per_token = (Exact(34) * d * l).bytes(),
          .quadratic_per_token2 = (Exact(5) * a * l).bytes(),
          .sharded_states = (Exact(18) * (blocks / ranks + v * d) / half).bytes(),
          .sharded_linear = {Exact(10 * 8 + 24) * d * l, ranks},
          .sharded_quadratic = {Exact(5) * a * l, ranks}};
}

}  // namespace llmcalc::textbook
