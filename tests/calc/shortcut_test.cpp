// Blocks of two attentions and two dense MLPs with parallel experts, and experts that return their input.

#include "calc/block/block.hpp"
#include "calc/cost/cost.hpp"
#include "calc/memory.hpp"
#include "calc/operator/operand.hpp"
#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// 8 experts with weights and 4 without; a token chooses 3, on average 2 with weights.
Arch shortcut() {
  Arch a = even();
  a.block = BlockKind::shortcut;
  a.norms_per_layer = 4;
  a.moe = {.experts = 8, .top_k = 3, .width = 32, .zero_experts = 4, .layers = LayerSet::all(3)};
  return a;
}

}  // namespace

TEST_CASE("the experts of a shortcut block start with the first MLP and rejoin after the second", "[contract][block]") {
  const std::string half = "attn.norm attn.q attn.k attn.v attn.rope attn.core attn.out attn.add mlp.norm ";
  const std::string mlp = "mlp.gate mlp.up mlp.act mlp.mul mlp.down mlp.add ";
  CHECK(names(first_block(shortcut(), {.training = true})) ==
        half +
            "mlp.router mlp.route mlp.dispatch mlp.expert_gate mlp.expert_up mlp.expert_act mlp.expert_mul "
            "mlp.expert_down mlp.combine mlp.zero_add " +
            mlp + half + mlp + "block.shortcut_add");
}

// A layer: 2 x (64 x 16 x 8 + 2 x 64 x 8 x 8 + 16 x 8 x 64) of attention, 2 x 3 x 64 x 128, 12 x 64, 8 x 3 x 64 x 32.
TEST_CASE("a shortcut block has two attentions, two MLPs and one mixture of experts", "[parameters]") {
  const Parameters p = parameters(shortcut());
  CHECK(p.attention == 3 * 2 * (2 * 64 * 128 + 2 * 64 * 64));
  CHECK(p.mlp == 3 * (2 * 3 * 64 * 128 + 12 * 64 + 8 * 3 * 64 * 32));
  CHECK(p.norm == 3 * 4 * 64 + 64);
  CHECK(cache_elements_per_token(shortcut()) == 3 * 2 * 2 * 64);
}

TEST_CASE("zero experts reduce a token's active parameters and the expected number of active experts",
          "[parameters][cost]") {
  const Arch a = shortcut();
  const Parameters p = parameters(a);
  const Count one = 3 * 3 * 64 * 32;  // an expert of every layer
  CHECK(p.active == p.total - 5 * one);
  CHECK(p.active_mean == p.total - 6 * one);
  CHECK(p.active_least == p.total - 8 * one);
  const OpList ops = first_block(a, {.sequences = 2, .queries = 5, .training = true});
  CHECK(shape_of<Linear>(ops, "mlp.router").out == 12);
  CHECK(shape_of<Linear>(ops, "mlp.expert_up").rows == 10 * 2);
  // Each of 10 tokens misses an expert with probability 1 - 3/12.
  CHECK(groups_touched(shape_of<Linear>(ops, "mlp.expert_up")) == Approx(8 * (1 - std::pow(0.75, 10))));
}

TEST_CASE("the mean number of selected experts that have weights is rounded up", "[parameters]") {
  CHECK(Moe{.experts = 8, .top_k = 3, .zero_experts = 4, .layers = {}}.visited() == 2);
  CHECK(Moe{.experts = 8, .top_k = 3, .zero_experts = 5, .layers = {}}.visited() == 2);  // 24/13
  CHECK(Moe{.experts = 8, .top_k = 3, .layers = {}}.visited() == 3);
}

TEST_CASE("tensor-parallel ranks sum five results of a shortcut block in the forward pass", "[contract][tensor]") {
  Count sums = 0;
  for (const Op& op : first_block(shortcut(), {.training = true}, {2, false}))
    if (const Collective* c = std::get_if<Collective>(&op.shape)) sums += c->forward_on ? 1 : 0;
  CHECK(sums == 5);  // two of attention, two of MLPs, the mixture
}

TEST_CASE("the largest shortcut block with adapters fits in the operator list", "[contract][block]") {
  Arch a = shortcut();
  a.attention = AttentionKind::latent;
  a.latent = even_latent().latent;
  Step s{.training = true, .dropout = true, .lora_rank = 4};
  s.lora_targets = LoraTargets::all();
  const OpList ops = first_block(a, s, {2, true});
  CHECK(ops.size() < OpList::capacity);
  CHECK(ops.tensors() < most_tensors);
}
