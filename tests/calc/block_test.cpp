// The operators of every kind of block, by name and order: a contract that the reference transformer also follows.

#include "calc/block/block.hpp"

#include "calc/cost/cost.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Step training{.sequences = 2, .queries = 3, .training = true};
const Step inference{.sequences = 2, .queries = 3, .fused_glu = true};
const std::string attention = "attn.q attn.k attn.v attn.rope attn.core attn.out";
const std::string gated = "mlp.gate mlp.up mlp.act mlp.mul mlp.down";

std::string block(const Arch& a, const Step& s = training) { return names(first_block(a, s)); }

}  // namespace

TEST_CASE("a serial pre-norm block runs norm, attention, add, norm, MLP, add", "[contract][block]") {
  CHECK(block(prime_gated()) == "attn.norm " + attention + " attn.add mlp.norm " + gated + " mlp.add");
  CHECK(block(prime_gqa()) == "attn.norm " + attention + " attn.add mlp.norm mlp.up mlp.act mlp.down mlp.add");
}

TEST_CASE("a fused gated activation is a single operator", "[contract][block]") {
  CHECK(block(prime_gated(), inference) ==
        "attn.norm " + attention + " attn.add mlp.norm mlp.gate mlp.up mlp.act mlp.down mlp.add");
  CHECK(shape_of<Pointwise>(first_block(prime_gated(), inference), "mlp.act").kind == PointwiseKind::gate);
}

TEST_CASE("norms precede or follow branches according to the norm placement", "[contract][block]") {
  Arch a = prime_gated();
  a.norm_placement = NormPlacement::post;
  CHECK(block(a) == attention + " attn.add attn.post_norm " + gated + " mlp.add mlp.post_norm");
  a.norm_placement = NormPlacement::output;
  CHECK(block(a) == attention + " attn.post_norm attn.add " + gated + " mlp.post_norm mlp.add");
  a.norm_placement = NormPlacement::both;
  CHECK(block(a) == "attn.norm " + attention + " attn.post_norm attn.add mlp.norm " + gated + " mlp.post_norm mlp.add");
}

TEST_CASE("a parallel block sums both branches before a single residual add", "[contract][block]") {
  Arch a = prime_gated();
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  CHECK(block(a) == "attn.norm " + attention + " " + gated + " block.sum block.add");
  const OpList one = first_block(a, training);
  CHECK(one[1].in[0] == one[7].in[0]);  // attn.q and mlp.gate read the same norm
  a.norms_per_layer = 2;
  CHECK(block(a) == "attn.norm mlp.norm " + attention + " " + gated + " block.sum block.add");
  const OpList two = first_block(a, training);
  CHECK(two[0].in[0] == block_input);
  CHECK(two[1].in[0] == block_input);  // both norms read the block's input
  CHECK(two[2].in[0] == two[0].out);
  CHECK(two[8].in[0] == two[1].out);
}

TEST_CASE("only training applies dropout, after both branches and after the embedding", "[contract][block]") {
  Step dropping = training;
  dropping.dropout = true;
  CHECK(block(prime_gated(), dropping) ==
        "attn.norm " + attention + " attn.dropout attn.add mlp.norm " + gated + " mlp.dropout mlp.add");
  CHECK(names(embedding_ops(prime_gated(), dropping)) == "embedding.tokens embedding.dropout");
}

TEST_CASE("qk-norms follow the projections and precede RoPE", "[contract][block]") {
  Arch a = prime_gated();
  a.qk_norm = QkNorm::full;
  CHECK(block(a).find("attn.v attn.q_norm attn.k_norm attn.rope attn.core") != std::string::npos);
  a.position = Position::alibi;
  CHECK(block(a).find("attn.v attn.q_norm attn.k_norm attn.core") != std::string::npos);
}

TEST_CASE("a mixture of experts runs router, dispatch, experts and combination, then the shared experts",
          "[contract][block]") {
  const std::string experts =
      "mlp.router mlp.route mlp.dispatch mlp.expert_gate mlp.expert_up mlp.expert_act mlp.expert_mul mlp.expert_down "
      "mlp.combine";
  const std::string shared =
      " mlp.shared_gate mlp.shared_up mlp.shared_act mlp.shared_mul mlp.shared_down mlp.shared_weight mlp.shared_scale "
      "mlp.shared_add";
  CHECK(block(prime_moe()) == "attn.norm " + attention + " attn.add mlp.norm " + experts + shared + " mlp.add");
  Arch a = prime_moe();
  a.moe.shared_experts = 0;
  a.moe.shared_gate = false;
  CHECK(block(a) == "attn.norm " + attention + " attn.add mlp.norm " + experts + " mlp.add");
}

TEST_CASE("each token is routed to top_k experts, and the shared experts form one wide MLP", "[contract][block]") {
  const OpList ops = first_block(prime_moe(), training);  // 6 tokens, 2 of 7 experts
  CHECK(shape_of<Linear>(ops, "mlp.router") == Linear{.rows = 6, .in = 13, .out = 7});
  CHECK(shape_of<Linear>(ops, "mlp.expert_up") == Linear{.rows = 12, .in = 13, .out = 11, .groups = 7, .top_k = 2});
  CHECK(shape_of<Linear>(ops, "mlp.expert_down") == Linear{.rows = 12, .in = 11, .out = 13, .groups = 7, .top_k = 2});
  CHECK(shape_of<Linear>(ops, "mlp.shared_up") == Linear{.rows = 6, .in = 13, .out = 6});
  CHECK(shape_of<Linear>(ops, "mlp.shared_weight") == Linear{.rows = 6, .in = 13, .out = 1});
}

TEST_CASE("experts, router and linear layers have biases only if the model defines them", "[contract][block]") {
  Arch a = prime_moe();
  a.moe.expert_bias = true;
  OpList ops = first_block(a, training);
  for (const std::string_view n : {"mlp.expert_gate", "mlp.expert_up", "mlp.expert_down"})
    CHECK(shape_of<Linear>(ops, n).bias);
  CHECK_FALSE(shape_of<Linear>(ops, "mlp.router").bias);
  CHECK_FALSE(shape_of<Linear>(ops, "mlp.shared_up").bias);
  a = prime_gated();
  a.qkv_bias = true;
  ops = first_block(a, training);
  for (const std::string_view n : {"attn.q", "attn.k", "attn.v"}) CHECK(shape_of<Linear>(ops, n).bias);
  for (const std::string_view n : {"attn.out", "mlp.gate", "mlp.up", "mlp.down"})
    CHECK_FALSE(shape_of<Linear>(ops, n).bias);
}

TEST_CASE("latent attention applies its KV up-projection, or absorbs it into queries and outputs",
          "[contract][block]") {
  const std::string mlp = " attn.out attn.add mlp.norm ";
  const std::string down = "attn.norm attn.q_down attn.q_norm attn.q_up attn.kv_down attn.kv_norm ";
  CHECK(block(prime_latent()) == down + "attn.kv_up attn.rope attn.core" + mlp + gated + " mlp.add");
  const Step decode{.sequences = 2, .past = 4, .absorbed = true, .fused_glu = true};
  CHECK(block(prime_latent(), decode) ==
        down + "attn.rope attn.q_absorb attn.core attn.v_absorb" + mlp + "mlp.gate mlp.up mlp.act mlp.down mlp.add");
  Arch direct = prime_latent();
  direct.latent.q_rank = 0;
  CHECK(block(direct).find("attn.norm attn.q attn.kv_down") == 0);
  const Attention core = shape_of<Attention>(first_block(prime_latent(), training), "attn.core");
  CHECK(core.qk_dim == 5 + 2);
  CHECK(core.v_dim == 3);
  CHECK(core.cached() == 7 + 2);
  const Attention absorbed = shape_of<Attention>(first_block(prime_latent(), decode), "attn.core");
  CHECK(absorbed.qk_dim == 7 + 2);
  CHECK(absorbed.v_dim == 7);
  CHECK(absorbed.kv_heads == 1);
}

TEST_CASE("linear attention has an output norm and a gate", "[contract][block]") {
  Arch a = prime_gated();
  a.linear_layers = LayerSet::all(1);
  CHECK(block(a).find("attn.norm attn.q attn.k attn.v attn.core attn.o_norm attn.gate attn.gate_mul attn.out") == 0);
}

TEST_CASE("the embedding is a lookup followed by the model's projection, positions and norm", "[contract][block]") {
  Arch a = prime_gqa();
  CHECK(names(embedding_ops(a, training)) == "embedding.tokens");
  a.position = Position::learned;
  a.position_rows = 23;
  a.embedding_norm = true;
  a.embedding_width = 7;
  const OpList ops = embedding_ops(a, training);
  CHECK(names(ops) == "embedding.tokens embedding.project embedding.positions embedding.add embedding.norm");
  CHECK(shape_of<Lookup>(ops, "embedding.tokens") == Lookup{6, 19, 7});
  CHECK(shape_of<Linear>(ops, "embedding.project") == Linear{.rows = 6, .in = 7, .out = 13});
  CHECK(shape_of<Lookup>(ops, "embedding.positions") == Lookup{6, 23, 13});
  const OpList head = head_ops(a, training);
  CHECK(names(head) == "head.norm head.project head.logits head.loss");
  CHECK(shape_of<Linear>(head, "head.logits") == Linear{.rows = 6, .in = 7, .out = 19});
}

TEST_CASE("the head covers every position in training, but only each sequence's last one in inference",
          "[contract][block]") {
  CHECK(shape_of<Linear>(head_ops(prime_gqa(), training), "head.logits").rows == 6);
  const OpList last = head_ops(prime_gqa(), inference);
  CHECK(names(last) == "head.norm head.logits");
  CHECK(shape_of<Linear>(last, "head.logits").rows == 2);
  CHECK(shape_of<Norm>(last, "head.norm").rows == 2);
}

TEST_CASE("identical layers are grouped into one layer kind, and kinds are in order of first appearance",
          "[contract][block]") {
  Arch a = prime_moe();
  a.layers = 7;
  a.local = {{4}, LayerSet::every(0, 2, 7)};  // 0 2 4 6
  a.moe.layers = LayerSet::every(3, 1, 7);    // 3 4 5 6
  const LayerKinds k = layer_kinds(a);
  // 0 and 2: windowed, dense; 1: full, dense; 3 and 5: full, experts; 4 and 6: windowed, experts
  REQUIRE(k.size() == 4);
  const auto is = [&](std::size_t i, bool windowed, bool experts, Count count, Count first, Count last) {
    CAPTURE(i);
    CHECK(k[i].reach == (windowed ? a.local.reach : Reach()));
    CHECK(k[i].experts == experts);
    CHECK(k[i].count == count);
    CHECK(k[i].first == first);
    CHECK(k[i].last == last);
  };
  is(0, true, false, 2, 0, 2);
  is(1, false, false, 1, 1, 1);
  is(2, false, true, 2, 3, 5);
  is(3, true, true, 2, 4, 6);
}

TEST_CASE("a linear-attention layer has no window even if the sliding pattern includes it", "[contract][block]") {
  Arch a = prime_gated();
  a.layers = 4;
  a.linear_layers = LayerSet::every(0, 2, 4);
  a.local = {{8}, LayerSet::all(4)};
  const LayerKinds k = layer_kinds(a);
  REQUIRE(k.size() == 2);
  CHECK(k[0].linear);
  CHECK_FALSE(k[0].reach.limited());
  CHECK(k[1].reach == Reach{8});
  CHECK(k[0].count + k[1].count == 4);
}

TEST_CASE("a layer set reports its size and its first and last layer", "[contract][block]") {
  CHECK(LayerSet::all(64).size() == 64);
  CHECK(LayerSet::all(65).last() == 64);
  CHECK(LayerSet::all(1024).size() == 1024);
  CHECK(LayerSet::all(130) == LayerSet::every(0, 1, 130));
  const LayerSet s = LayerSet::every(5, 64, 200);  // 5 69 133 197
  CHECK(s.size() == 4);
  CHECK(s.first() == 5);
  CHECK(s.last() == 197);
  CHECK(LayerSet().empty());
  CHECK(s.filtered(LayerSet::all(100), true).last() == 69);
  CHECK(s.filtered(LayerSet::all(100), false).first() == 133);
}

TEST_CASE("every operator reads only tensors produced before it", "[contract][block]") {
  for (const Arch& a : {prime_gqa(), prime_moe(), prime_latent()})
    for (const Layout& tp : {Layout{1, false}, Layout{2, false}, Layout{2, true}}) {
      const OpList ops = first_block(a, training, tp);
      std::array<bool, 256> made{};
      made[block_input] = true;
      for (const Op& op : ops) {
        CAPTURE(std::string(op.name), tp.tp, tp.sp);
        for (const TensorId t : op.in) CHECK((t == no_tensor || made[t]));
        if (!op.in_place()) CHECK_FALSE(made[op.out]);
        if (!op.in_place()) made[op.out] = true;
      }
    }
}

TEST_CASE("the largest block fits in the operator list", "[contract][block]") {
  Arch a = even_moe();
  a.attention = AttentionKind::latent;
  a.latent = even_latent().latent;
  a.moe.shared_gate = true;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  const OpList ops = first_block(a, {.training = true, .dropout = true}, {2, true});
  CHECK(ops.size() < OpList::capacity);
  CHECK(ops.tensors() < 128);
}
