// Tensor and sequence parallelism: sharded work adds up, replicas are listed, collectives match the formula sheet.

#include "calc/parallel/tensor.hpp"

#include <map>

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Step training{.sequences = 2, .queries = 8, .training = true};
constexpr Count tokens = 16;

struct Communicated {
  Count forward = 0, backward = 0, regathered = 0;  // number of collectives
  Count forward_numbers = 0, backward_numbers = 0;  // elements; a re-gather counts as backward
  CollectiveOp forward_op = CollectiveOp::p2p, backward_op = CollectiveOp::p2p;
};
Communicated communicated(const OpList& ops) {
  Communicated e;
  for (const Op& op : ops)
    if (const Collective* c = std::get_if<Collective>(&op.shape)) {
      if (c->forward_on) {
        e.forward += c->repeats;
        e.forward_numbers += c->repeats * c->elements;
        e.forward_op = c->forward;
      }
      if (c->backward_on) {
        e.backward += c->repeats;
        e.backward_numbers += c->repeats * c->elements;
        e.backward_op = c->backward;
      }
      if (c->regather) {
        ++e.regathered;
        e.backward_numbers += c->elements;
      }
    }
  return e;
}

/// Model FLOPs by operator name, forward and backward.
std::map<std::string, Int128> work(const OpList& ops) {
  std::map<std::string, Int128> m;
  const Pricing p;
  for (const Op& op : ops)
    if (!std::holds_alternative<Collective>(op.shape))
      m[std::string(op.name)] += forward(op.shape, p).model.value + backward(op.shape, p).model.value;
  return m;
}

/// Whether all ranks run the whole operator, on whole tokens, before or between sharded operators.
bool replicated(std::string_view name) {
  return name == "mlp.router" || name == "attn.q_down" || name == "attn.kv_down" || name == "mlp.shared_weight";
}

void adds_up(const Arch& a, const Step& step, Count ranks) {
  const auto whole = work(first_block(a, step)), cut = work(first_block(a, step, {ranks, false}));
  REQUIRE(whole.size() == cut.size());
  for (const auto& [name, flops] : whole) {
    CAPTURE(name, ranks);
    const Int128 times = replicated(name) ? 1 : static_cast<Int128>(ranks);
    CHECK((cut.at(name) * times == flops));
  }
}

Count learned_of(const OpList& ops) {
  Count n = 0;
  for (const Op& op : ops) n += learned(op.shape).total;
  return n;
}

}  // namespace

TEST_CASE("tensor parallelism over a single rank leaves a block unchanged", "[contract][tensor]") {
  const OpList whole = first_block(even(), training), same = first_block(even(), training, {1, true});
  REQUIRE(whole.size() == same.size());
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(whole[i].shape == same[i].shape);
}

TEST_CASE("the ranks' matmuls add up to the unsharded ones if the sizes divide evenly", "[contract][tensor]") {
  for (const Count ranks : {2, 4, 8}) {
    for (const Arch& a : {even(), even_moe(), even_latent()}) adds_up(a, training, ranks);
    adds_up(even_latent(), {.sequences = 2, .past = 7, .absorbed = true, .fused_glu = true}, ranks);
    Arch parallel = even();
    parallel.block = BlockKind::parallel;
    parallel.norms_per_layer = 1;
    adds_up(parallel, training, ranks);
    Arch lightning = even();
    lightning.linear_layers = LayerSet::all(3);
    adds_up(lightning, training, ranks);
    Arch gated = even_moe();
    gated.moe.shared_gate = true;
    adds_up(gated, training, ranks);
  }
}

TEST_CASE("the head's matmul and its loss are sharded over the vocabulary", "[contract][tensor]") {
  const OpList head = split_tensor(head_ops(even(), training), {8, false});
  CHECK(shape_of<Linear>(head, "head.logits").out == 512 / 8);
  CHECK(shape_of<Loss>(head, "head.loss").vocabulary == 512 / 8);
  CHECK(shape_of<Lookup>(split_tensor(embedding_ops(even(), training), {8, false}), "embedding.tokens").rows ==
        512 / 8);
}

TEST_CASE("a rank's share of an indivisible vocabulary is rounded up", "[contract][tensor]") {
  Arch a = even();
  a.vocabulary = 515;  // 515 / 8 = 64.4
  const Layout tp{8, false};
  CHECK(shape_of<Linear>(split_tensor(head_ops(a, training), tp), "head.logits").out == 65);
  CHECK(shape_of<Lookup>(split_tensor(embedding_ops(a, training), tp), "embedding.tokens").rows == 65);
  Plan p;
  p.seq = 8;
  p.micro_batch = p.global_batch = 2;
  CHECK(training_memory(a, p, tp).logits == Bytes(4 * tokens * 65));
}

TEST_CASE("with fewer KV heads than ranks, each rank holds one KV head", "[contract][tensor]") {
  for (const auto& [kv_heads, ranks, mine] :
       {std::tuple{8, 2, 4}, {8, 8, 1}, {8, 16, 1}, {1, 8, 1}, {2, 4, 1}, {16, 8, 2}}) {
    CAPTURE(kv_heads, ranks);
    Arch a = even();
    a.kv_heads = kv_heads;
    const OpList ops = first_block(a, training, {ranks, false});
    CHECK(shape_of<Attention>(ops, "attn.core").kv_heads == mine);
    CHECK(shape_of<Attention>(ops, "attn.core").heads == 16 / ranks);
    CHECK(shape_of<Linear>(ops, "attn.k").out == 8 * mine);
    CHECK(shape_of<Linear>(ops, "attn.v").out == 8 * mine);
    CHECK(shape_of<Linear>(ops, "attn.q").out == 8 * 16 / ranks);
    CHECK(shape_of<Linear>(ops, "attn.out").in == 8 * 16 / ranks);
    CHECK(shape_of<Pointwise>(ops, "attn.rope").width == 8 * (16 / ranks + mine));
  }
}

TEST_CASE("a latent cache is replicated on every rank, and its heads are sharded", "[contract][tensor]") {
  const Step decode{.sequences = 2, .past = 7, .absorbed = true};
  const OpList ops = first_block(even_latent(), decode, {8, false});
  const Attention core = shape_of<Attention>(ops, "attn.core");
  CHECK(core.heads == 2);
  CHECK(core.kv_heads == 1);
  CHECK(core.cached() == 32 + 8);
  CHECK(shape_of<Linear>(ops, "attn.q_absorb").groups == 2);
  CHECK(shape_of<Linear>(ops, "attn.q_absorb").rows == 2 * 2);
  CHECK(shape_of<Linear>(ops, "attn.q_up").out == 2 * 24);
  CHECK(shape_of<Linear>(first_block(even_latent(), training, {8, false}), "attn.kv_up").out == 2 * 32);
  CHECK(cache_bytes_per_token(even_latent(), {}, {.tp = 8}) == Bytes(3 * 2 * 40));
}

TEST_CASE("qk-norms are sharded by heads, and their weights only if they are not shared by all heads",
          "[contract][tensor]") {
  Arch a = even();
  a.qk_norm = QkNorm::per_head;
  OpList ops = first_block(a, training, {16, false});  // 16 heads over 8 KV heads: one each
  CHECK(shape_of<Norm>(ops, "attn.q_norm") == Norm{tokens, 8, 8});
  CHECK(shape_of<Norm>(ops, "attn.k_norm") == Norm{tokens, 8, 8});
  a.qk_norm = QkNorm::full;
  ops = first_block(a, training, {4, false});
  CHECK(shape_of<Norm>(ops, "attn.q_norm").weights == 4 * 8);
  CHECK(shape_of<Norm>(ops, "attn.k_norm").weights == 2 * 8);
  CHECK(shape_of<Norm>(ops, "attn.q_norm").rows == tokens);  // a row has the rank's heads of one token
  CHECK(shape_of<Norm>(ops, "attn.q_norm").width == 4 * 8);
  a.qk_norm = QkNorm::each_head;
  ops = first_block(a, training, {4, false});
  CHECK(shape_of<Norm>(ops, "attn.q_norm").rows == 4 * tokens);
  CHECK(shape_of<Norm>(ops, "attn.q_norm").weights == 4 * 8);
}

TEST_CASE("all ranks' weights minus their replicated copies add up to the model's", "[contract][tensor]") {
  Arch a = even();
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.head_bias = true;
  const Count d = 64, layers = 3;
  for (const Count ranks : {2, 4, 8}) {
    CAPTURE(ranks);
    Plan p;
    p.seq = p.global_batch = 1;
    // Two norms per layer and the final one; the biases of attn.out and mlp.down, added after the sum.
    const Count once = d * (2 * layers + 1) + 2 * d * layers;
    CHECK(ranks * training_states(a, p, {.tp = ranks}).parameters - (ranks - 1) * once == parameters(a).total);
  }
  // Weights of experts and routers; 16 ranks hold each of 8 KV heads twice.
  const OpList whole = first_block(even_moe(), training), cut = first_block(even_moe(), training, {16, false});
  const Count router = 64 * 8, norms = 2 * 64, kv = 2 * 64 * 8 * 8;
  CHECK(16 * learned_of(cut) - 15 * (router + norms) - kv == learned_of(whole));
  // Down-projections to the latent ranks, and their norms, are replicated.
  const Count down = 64 * 24 + 24 + 64 * (32 + 8) + 32;
  const OpList latent = first_block(even_latent(), training);
  CHECK(8 * learned_of(first_block(even_latent(), training, {8, false})) - 7 * (down + norms) == learned_of(latent));
}

TEST_CASE("under sequence parallelism, a rank runs the router and saves its values for its tokens only",
          "[contract][tensor]") {
  const Count tokens = training.tokens(), experts = 8, top_k = 2;
  const auto saved = [](const OpList& ops) {
    Bytes all;
    for (const Op& op : ops)
      if (op.name == "mlp.route" || op.name == "mlp.combine") all += held(op.shape, Pricing()).saved;
    return all;
  };
  for (const Count t : {2, 4, 8}) {
    const OpList cut = first_block(even_moe(), training, {t, true});
    CHECK(saved(cut) == Bytes(tokens * (8 * experts + 4 * top_k) / t));
    CHECK(saved(first_block(even_moe(), training, {t, false})) == Bytes(tokens * (8 * experts + 4 * top_k)));
    CHECK(shape_of<Linear>(cut, "mlp.router").rows == tokens / t);
    CHECK(shape_of<Pointwise>(cut, "mlp.combine").rows == tokens);
  }
}

TEST_CASE("a serial block has two all-reduces forward and two backward", "[contract][tensor]") {
  for (const NormPlacement place :
       {NormPlacement::pre, NormPlacement::post, NormPlacement::output, NormPlacement::both}) {
    Arch a = even();
    a.norm_placement = place;
    const Communicated e = communicated(first_block(a, training, {4, false}));
    CHECK(e.forward == 2);
    CHECK(e.backward == 2);
    CHECK(e.regathered == 0);
    CHECK(e.forward_op == CollectiveOp::all_reduce);
    CHECK(e.backward_op == CollectiveOp::all_reduce);
    CHECK(e.forward_numbers == 2 * tokens * 64);
    CHECK(e.backward_numbers == 2 * tokens * 64);
  }
}

TEST_CASE("a parallel block has one all-reduce forward and one per norm backward", "[contract][tensor]") {
  Arch a = even();
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  Communicated e = communicated(first_block(a, training, {4, false}));
  CHECK(e.forward == 1);
  CHECK(e.backward == 1);
  a.norms_per_layer = 2;
  e = communicated(first_block(a, training, {4, false}));
  CHECK(e.forward == 1);
  CHECK(e.backward == 2);  // each norm's weights need the whole gradient of its output
}

TEST_CASE("sequence parallelism gathers inputs, scatters outputs and re-gathers saved inputs in backward",
          "[contract][tensor]") {
  const Communicated e = communicated(first_block(even(), training, {4, true}));
  CHECK(e.forward == 4);  // 2 all-gathers, 2 reduce-scatters
  CHECK(e.backward == 4);
  CHECK(e.regathered == 2);
  CHECK(e.forward_numbers == 4 * tokens * 64);
  CHECK(e.backward_numbers == (4 + 2) * tokens * 64);
}

TEST_CASE("sequence parallelism shards tokens only in norms, residual sums and dropout", "[contract][tensor]") {
  Step dropping = training;
  dropping.dropout = true;
  const OpList ops = first_block(even(), dropping, {4, true});
  for (const std::string_view name : {"attn.norm", "mlp.norm"}) CHECK(shape_of<Norm>(ops, name) == Norm{4, 64, 64});
  for (const std::string_view name : {"attn.add", "mlp.add", "attn.dropout", "mlp.dropout"})
    CHECK(shape_of<Pointwise>(ops, name).rows == 4);
  CHECK(shape_of<Linear>(ops, "attn.q").rows == tokens);
  CHECK(shape_of<Linear>(ops, "mlp.down").rows == tokens);
  CHECK(shape_of<Attention>(ops, "attn.core").queries == 8);
}

TEST_CASE("sequence parallelism shards tokens in a latent block's norms and in the table's projections",
          "[contract][tensor]") {
  const OpList block = first_block(even_latent(), training, {4, true});
  CHECK(shape_of<Norm>(block, "attn.q_norm").rows == tokens / 4);
  CHECK(shape_of<Norm>(block, "attn.kv_norm").rows == tokens / 4);
  Arch narrow = even();
  narrow.embedding_width = 32;
  const Layout four{4, true};
  CHECK(shape_of<Linear>(split_tensor(embedding_ops(narrow, training), four), "embedding.project").rows == tokens / 4);
  CHECK(shape_of<Linear>(split_tensor(head_ops(narrow, training), four), "head.project").rows == tokens / 4);
}

TEST_CASE("a shared expert's gate runs on all tokens and scales rows of full width on every rank",
          "[contract][tensor]") {
  Arch a = even_moe();
  a.moe.shared_experts = 1;
  a.moe.shared_width = 32;
  a.moe.shared_gate = true;
  const OpList block = first_block(a, training, {4, true});
  CHECK(shape_of<Linear>(block, "mlp.shared_weight").rows == tokens);
  CHECK(shape_of<Pointwise>(block, "mlp.shared_scale") ==
        Pointwise{.kind = PointwiseKind::multiply, .rows = tokens, .width = a.hidden});
}

TEST_CASE("RoPE is sharded by heads, including the shared key", "[contract][tensor]") {
  // 16 heads and a shared key of 8 elements on 2 ranks: 17 units of 8, 9 on the fuller rank.
  CHECK(shape_of<Pointwise>(first_block(even_latent(), training, {2, false}), "attn.rope").width == 9 * 8);
}

TEST_CASE("collectives of the embedding and the head match the formula sheet", "[contract][tensor]") {
  const Communicated embedding = communicated(split_tensor(embedding_ops(even(), training), {4, false}));
  CHECK(embedding.forward == 1);
  CHECK(embedding.forward_numbers == tokens * 64);
  CHECK(embedding.backward == 0);
  const OpList ops = split_tensor(head_ops(even(), training), {4, false});
  CHECK(names(ops) == "head.norm +head.logits head.logits head.loss +head.loss");
  const Communicated head = communicated(ops);
  CHECK(head.backward == 1);
  CHECK(head.backward_numbers == tokens * 64);
  // The loss: maximum, sum of exponentials and the target's logit, float32, one value per token.
  CHECK(head.forward == 3);
  CHECK(head.forward_numbers == 3 * tokens);
  CHECK(shape_of<Collective>(ops, "head.loss").number_bytes == 4);
}

TEST_CASE("a mixture of experts has the collectives of a dense MLP", "[contract][tensor]") {
  const Communicated e = communicated(first_block(even_moe(), training, {4, false}));
  CHECK(e.forward == 2);
  CHECK(e.backward == 2);
  CHECK(e.forward_numbers == 2 * tokens * 64);
  CHECK(e.backward_numbers == 2 * tokens * 64);
}

TEST_CASE("latent attention all-reduces gradients of its latent rows and of the shared key in backward",
          "[contract][tensor]") {
  // Backward: gradients of the normed q rank 24, of the normed KV rank 32 and of the 8 shared key elements, to which
  // each rank's heads contribute; and of the MLP's input 64.
  const Communicated e = communicated(first_block(even_latent(), training, {4, false}));
  CHECK(e.forward_numbers == 2 * tokens * 64);
  CHECK(e.backward_numbers == tokens * (24 + 32 + 8 + 64));
}

TEST_CASE("a rank's share of an indivisible number of tokens is rounded up", "[contract][tensor]") {
  const Step odd{.sequences = 1, .queries = 9, .training = true};
  CHECK(shape_of<Norm>(first_block(even(), odd, {4, true}), "attn.norm").rows == 3);
}
