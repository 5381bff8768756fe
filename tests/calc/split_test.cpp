// Per-rank shares of sizes that the ranks do not divide evenly: whole heads, the larger share, and sizes that do not
// depend on the number of ranks.

#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Step training{.sequences = 2, .queries = 8, .training = true};
const Step absorbed{.sequences = 2, .queries = 1, .past = 7, .absorbed = true, .fused_glu = true};
const Layout three{3, false};  // 16 heads over 3 ranks: 6, 6 and 4

void same(const OpList& a, const OpList& b) {
  REQUIRE(names(a) == names(b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO(a[i].name);
    CHECK(a[i].shape == b[i].shape);
    CHECK(a[i].unit == b[i].unit);
  }
}

}  // namespace

TEST_CASE("latent attention does not depend on the number of KV heads", "[contract][tensor]") {
  Arch one = even_latent();
  one.kv_heads = 1;
  for (const Step& s : {training, absorbed}) {
    same(first_block(one, s), first_block(even_latent(), s));
    same(first_block(one, s, three), first_block(even_latent(), s, three));
  }
}

TEST_CASE("each of three tensor-parallel ranks has whole heads of grouped attention", "[contract][tensor]") {
  const OpList ops = first_block(even(), training, three);
  CHECK(shape_of<Attention>(ops, "attn.core").heads == 6);
  CHECK(shape_of<Attention>(ops, "attn.core").kv_heads == 3);  // 3 of 8 KV heads
  CHECK(shape_of<Linear>(ops, "attn.q").out == 6 * 8);
  CHECK(shape_of<Linear>(ops, "attn.k").out == 3 * 8);
  CHECK(shape_of<Linear>(ops, "attn.v").out == 3 * 8);
  CHECK(shape_of<Linear>(ops, "attn.out").in == 6 * 8);
}

TEST_CASE("each of three tensor-parallel ranks has whole heads of latent attention", "[contract][tensor]") {
  const OpList ops = first_block(even_latent(), training, three);
  CHECK(shape_of<Linear>(ops, "attn.q_down").out == 24);
  CHECK(shape_of<Linear>(ops, "attn.q_up").out == 6 * (16 + 8));
  CHECK(shape_of<Linear>(ops, "attn.kv_up").out == 6 * (16 + 16));
  CHECK(shape_of<Linear>(ops, "attn.out").in == 6 * 16);
  CHECK(shape_of<Pointwise>(ops, "attn.rope").width == 6 * 8);  // 16 heads and the shared key: 17 over 3 ranks
  Arch direct = even_latent();
  direct.latent.q_rank = 0;
  CHECK(shape_of<Linear>(first_block(direct, training, three), "attn.q").out == 6 * (16 + 8));
  const OpList decode = first_block(even_latent(), absorbed, three);
  for (const char* name : {"attn.q_absorb", "attn.v_absorb"}) {
    CHECK(shape_of<Linear>(decode, name).groups == 6);
    CHECK(shape_of<Linear>(decode, name).rows == 2 * 6);
  }
}

TEST_CASE("each of three tensor-parallel ranks has whole heads of linear attention, its norm and its gate",
          "[contract][tensor]") {
  Arch a = even();
  a.linear_layers = LayerSet::all(3);
  const OpList ops = first_block(a, training, three);
  CHECK(shape_of<LinearAttention>(ops, "attn.core").heads == 6);
  for (const char* name : {"attn.q", "attn.k", "attn.v", "attn.gate"}) CHECK(shape_of<Linear>(ops, name).out == 6 * 8);
  CHECK(shape_of<Norm>(ops, "attn.o_norm").width == 6 * 8);
  CHECK(shape_of<Norm>(ops, "attn.o_norm").weights == 6 * 8);
  CHECK(shape_of<Pointwise>(ops, "attn.gate_mul").width == 6 * 8);
  CHECK(shape_of<Linear>(ops, "attn.out").in == 6 * 8);
}

TEST_CASE("sequence parallelism shards the tokens of the embedding's positions, sum, norm and dropout",
          "[contract][tensor]") {
  Arch a = even();
  a.position = Position::learned;
  a.position_rows = 64;
  a.embedding_norm = true;
  Step s = training;
  s.dropout = true;
  const OpList whole = split_tensor(embedding_ops(a, s), {8, false}),
               cut = split_tensor(embedding_ops(a, s), {8, true});
  for (const auto& [ops, tokens] : {std::pair{&whole, 16}, {&cut, 2}}) {
    CHECK(shape_of<Lookup>(*ops, "embedding.tokens").tokens == 16);  // its rows are sharded instead
    CHECK(shape_of<Lookup>(*ops, "embedding.positions").tokens == tokens);
    CHECK(shape_of<Lookup>(*ops, "embedding.positions").rows == 64);
    CHECK(shape_of<Pointwise>(*ops, "embedding.add").rows == tokens);
    CHECK(shape_of<Norm>(*ops, "embedding.norm").rows == tokens);
    CHECK(shape_of<Pointwise>(*ops, "embedding.dropout").rows == tokens);
  }
}

TEST_CASE("a rank's router, dispatch, combination and residual sums have the full hidden size", "[contract][tensor]") {
  Arch a = even_moe();
  a.moe.shared_gate = true;
  a.block = BlockKind::parallel;
  const OpList whole = first_block(a, training), cut = first_block(a, training, {4, false});
  CHECK(shape_of<Linear>(cut, "mlp.router") == shape_of<Linear>(whole, "mlp.router"));
  for (const char* name :
       {"mlp.route", "mlp.dispatch", "mlp.combine", "mlp.shared_scale", "mlp.shared_add", "block.sum"}) {
    INFO(name);
    CHECK(shape_of<Pointwise>(cut, name) == shape_of<Pointwise>(whole, name));
  }
}

TEST_CASE("with an absorbed core, ranks reduce only gradients of low-rank rows and of the shared key",
          "[contract][tensor]") {
  Step s = training;
  s.absorbed = true;
  Count numbers = 0;
  for (const Op& op : first_block(even_latent(), s, {4, false}))
    if (const Collective* c = std::get_if<Collective>(&op.shape); c && c->backward_on) numbers += c->elements;
  CHECK(numbers == 16 * (24 + 32 + 8 + 64));  // normed q rank, normed KV rank, shared key, the MLP's input
}

TEST_CASE("the FLOPs of a pass are the sum over all layers and the head", "[contract][work]") {
  // Per layer q and out 64 x 128, k and v 64 x 64, three matrices of 64 x 128; 16 tokens. Cores: 2 sequences of 16
  // heads, 2 (8 + 8) per pair; flash computes 36 of 64 pairs.
  const Flops matmuls(3 * 2 * 16 * (2 * 64 * 128 + 2 * 64 * 64 + 3 * 64 * 128)), head(2 * 16 * 512 * 64);
  const Work w = forward_work(even(), training, {.phase = Phase::training});
  CHECK(w.linear == matmuls);
  CHECK(w.head == head);
  CHECK(w.core == Flops(3 * 2 * 16 * 32 * 64));
  Flops executed;
  for_each_operator(even(), {}, {}, training, [&](const OperatorRow& row) {
    executed += row.segment.repeats * forward(row.op, {.phase = Phase::training}).executed;
  });
  CHECK(executed == matmuls + head + Flops(3 * 2 * 16 * 32 * 36));
}
