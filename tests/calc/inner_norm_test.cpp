// Attention and MLP variants of single families: norms before the last matrices (BitNet), low-rank queries (Step 3),
// factors of queries that read another layer's keys (Hunyuan-Large), a bias of only the last matrix (GTE), learned
// positions in addition to relative ones (MPNet).

#include "calc/parallel/tensor.hpp"
#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/stored_check.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Step training{.sequences = 1, .queries = 3, .training = true};

const Op& op_of(const OpList& ops, std::string_view name) {
  for (const Op& op : ops)
    if (op.name == name && !std::holds_alternative<Collective>(op.shape)) return op;
  throw std::runtime_error(std::string(name));
}

Arch with_sub_norms() {
  Arch a = prime_gated();
  a.sub_norms = true;
  return a;
}

Arch with_low_rank() {
  Arch a = prime_gated();
  a.latent.q_rank = 11;
  return a;
}

/// Two layers of 16 heads of width 8 over 8 KV heads; the second layer reads the first's keys and values.
Arch with_query_scale() {
  Arch a = even();
  a.layers = 2;
  LayerMixer second;
  static_cast<Mixer&>(second) = a;
  second.shared_kv = second.query_scale = true;
  second.layers.insert(1);
  a.mixers.push(second);
  return a;
}

OpList second_layer(const Arch& a) { return block_ops(a, layer_kinds(a)[1], training); }

}  // namespace

TEST_CASE("norms before the output projections have one weight per input of the projection", "[engine][inner_norm]") {
  const Parameters with = parameters(with_sub_norms()), without = parameters(prime_gated());
  CHECK(with.attention == without.attention + 3 * 5);
  CHECK(with.mlp == without.mlp + 17);
  const Arch a = with_sub_norms();
  const OpList ops = block_ops(a, layer_kinds(a)[0], training);
  CHECK(op_of(ops, "attn.sub_norm").shape == Shape(Norm{3, 15, 15}));
  CHECK(op_of(ops, "mlp.sub_norm").shape == Shape(Norm{3, 17, 17}));
}

TEST_CASE("experts have no norm before their down-projection", "[engine][inner_norm]") {
  Arch a = prime_moe();
  const Count without = parameters(a).total;
  a.sub_norms = true;
  CHECK(parameters(a).total == without + 3 * 5);
}

TEST_CASE("low-rank queries are two matrices with a norm between them", "[engine][inner_norm]") {
  CHECK(parameters(with_low_rank()).attention ==
        parameters(prime_gated()).attention - 13 * 15 + 13 * 11 + 11 + 11 * 15);
  CHECK(cache_elements_per_token(with_low_rank()) == cache_elements_per_token(prime_gated()));
  Arch biased = with_low_rank();
  biased.qkv_bias = true;
  CHECK(parameters(biased).attention == parameters(with_low_rank()).attention + 11 + 2 * 5);
}

TEST_CASE("every rank holds the full low-rank query projection and its own heads", "[engine][inner_norm]") {
  Arch a = even();
  a.latent.q_rank = 24;
  const Layout four{.tp = 4};
  const OpList ops = split_tensor(block_ops(a, layer_kinds(a)[0], training), four);
  CHECK(op_of(ops, "attn.q_down").shape == Shape(Linear{.rows = 3, .in = 64, .out = 24}));
  CHECK(op_of(ops, "attn.q_up").shape == Shape(Linear{.rows = 3, .in = 24, .out = 4 * 8}));
}

TEST_CASE("learned query scales are shared by all heads, and their gradient is summed across ranks",
          "[engine][inner_norm]") {
  const Arch a = with_query_scale();
  Arch without = a;
  without.mixers[0].query_scale = false;
  CHECK(parameters(a).total == parameters(without).total + 8);
  CHECK(cache_elements_per_token(a) == 2 * 8 * 8);
  CHECK(op_of(second_layer(a), "attn.q_scale").shape ==
        Shape(Pointwise{.kind = PointwiseKind::activate, .rows = 3 * 16, .width = 8, .weights = 8}));
  const Layout four{.tp = 4};
  const OpList ops = split_tensor(second_layer(a), four), others = split_tensor(second_layer(without), four);
  CHECK(std::get<Pointwise>(op_of(ops, "attn.q_scale").shape).rows == 3 * 4);
  CHECK(summed_over_tensor_ranks(ops, four) == summed_over_tensor_ranks(others, four) + 8);
}

TEST_CASE("mlp_out_bias adds a bias only to the down-projection of a dense MLP", "[engine][inner_norm]") {
  Arch a = prime_gated();
  a.mlp_out_bias = true;
  CHECK(parameters(a).mlp == parameters(prime_gated()).mlp + 13);
  a = prime_moe();
  a.mlp_out_bias = true;
  CHECK(parameters(a).total == parameters(prime_moe()).total);  // this model has only experts
}

TEST_CASE("learned positions can be added to relative ones", "[engine][inner_norm]") {
  Arch a = prime_gqa();
  a.bidirectional = true;
  a.position = Position::relative;
  a.position_rows = 7;
  const Parameters relative = parameters(a);
  a.added_rows = 71;
  CHECK(parameters(a).total == relative.total + 71 * 13);
  CHECK(a.learned_rows() == 71);
}
