// Expert parallelism, alone and combined with all other kinds of parallelism: sharded work adds up, replicated work is
// listed, and collectives match the textbook.

#include "calc/parallel/expert.hpp"

#include <random>
#include <vector>

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/links/collective_call.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/price.hpp"
#include "calc/textbook/parallel.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using textbook::Fraction;

namespace {

constexpr Count sequences = 2, seq = 32, tokens = sequences * seq, hidden = 64, top_k = 2;
const Step training{.sequences = sequences, .queries = seq, .training = true};

Arch gated_shared() {
  Arch a = even_moe();
  a.moe.shared_gate = true;
  return a;
}
Arch unshared() {
  Arch a = even_moe();
  a.moe.shared_experts = 0;
  a.moe.expert_bias = true;
  return a;
}
Arch parallel_mixture() {
  Arch a = even_moe();
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  return a;
}
Arch latent_mixture() {
  Arch a = even_latent();
  a.moe = gated_shared().moe;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  return a;
}
Arch sandwich_mixture() {
  Arch a = even_moe();
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  a.qk_norm = QkNorm::per_head;
  return a;
}
std::vector<Arch> mixtures() {
  return {even_moe(), gated_shared(), unshared(), parallel_mixture(), latent_mixture(), sandwich_mixture()};
}

std::vector<Op> computing(const OpList& ops) {
  std::vector<Op> r;
  for (const Op& op : ops)
    if (!std::holds_alternative<Collective>(op.shape)) r.push_back(op);
  return r;
}
Int128 both_passes(const Op& op) { return forward(op, {}).model.value + backward(op, {}).model.value; }
Int128 both_executed(const Op& op) { return forward(op, {}).executed.value + backward(op, {}).executed.value; }

CollectiveCalls collectives(const OpList& ops, bool is_backward) {
  CollectiveCalls all;
  for (const Op& op : ops)
    if (const Collective* c = std::get_if<Collective>(&op.shape)) {
      if (is_backward)
        add_backward(all, *c, {});
      else
        add_forward(all, *c, {});
    }
  return all;
}
Fraction bytes_sent(const CollectiveCalls& all, Group group, Count ranks) {
  Fraction f;
  for (const CollectiveCall& e : all) {
    if (e.group != group) continue;
    const ByteFraction b = collective_volume(e.op, default_algorithm(e.op), e.bytes, ranks);
    f = f + Fraction(b.numerator.value, b.denominator);
  }
  return f;
}
Fraction bytes_sent(const OpList& ops, const Layout& l, Group group, bool is_backward) {
  return bytes_sent(collectives(ops, is_backward), group, ranks(l, group));
}

bool same_inputs(const Op& a, const Op& b) { return std::equal(a.in.begin(), a.in.end(), b.in.begin(), b.in.end()); }

/// Random layouts, valid for the architecture, with 1 to 8 ranks of each kind.
std::vector<Layout> random_layouts(const Arch& a, std::size_t n) {
  std::mt19937 random(7);
  const auto draw = [&](std::initializer_list<Count> of) { return of.begin()[random() % of.size()]; };
  std::vector<Layout> r;
  while (r.size() < n) {
    const Layout l{.tp = draw({1, 2, 4}),
                   .sp = draw({0, 1}) == 1,
                   .cp = draw({1, 2, 4}),
                   .context_method = static_cast<ContextMethod>(draw({0, 1, 2})),
                   .ep = draw({1, 2, 4, 8}),
                   .etp = draw({0, 1, 2, 4}),
                   .dp = draw({1, 2, 4})};
    if (flaw(a, l, seq) == LayoutFlaw::none) r.push_back(l);
  }
  return r;
}

/// Whether each tensor-parallel rank runs the operator on all of its tokens.
bool is_on_every_tensor_rank(const Op& op, const Layout& l) {
  if (op.name == "mlp.shared_weight") return true;  // scales values that are not yet summed
  if (op.name == "mlp.router") return !folds_experts(l) && !l.sp;
  return !l.sp && (op.name == "attn.q_down" || op.name == "attn.kv_down");
}

}  // namespace

TEST_CASE("collectives precede and follow sharded experts", "[contract][expert]") {
  const Layout l{.tp = 2, .sp = true, .ep = 4, .dp = 4};  // expert tensor-parallel degree: 2, like tp
  REQUIRE(flaw(even_moe(), l, seq) == LayoutFlaw::none);
  const OpList ops = first_block(even_moe(), training, l);
  const std::string n = names(ops);
  CHECK(n.substr(n.find(" mlp.norm") + 1) ==
        "mlp.norm mlp.router mlp.route mlp.dispatch +mlp.dispatch +mlp.dispatch mlp.expert_gate mlp.expert_up "
        "mlp.expert_act mlp.expert_mul mlp.expert_down +mlp.expert_down +mlp.expert_down mlp.combine +mlp.shared_gate "
        "mlp.shared_gate mlp.shared_up mlp.shared_act mlp.shared_mul mlp.shared_down +mlp.shared_down mlp.shared_add "
        "mlp.add");
  // 64 tokens, 32 on this rank. Each goes to 2 experts, and both ranks of a pair process all tokens of the pair.
  const Count own = tokens / 2, sent = own * top_k, rows = sent * 2;
  CHECK(shape_of<Linear>(ops, "mlp.router") == Linear{.rows = own, .in = hidden, .out = 8});
  CHECK(shape_of<Pointwise>(ops, "mlp.dispatch").rows == sent);
  CHECK(shape_of<Pointwise>(ops, "mlp.combine").rows == own);
  CHECK(shape_of<Pointwise>(ops, "mlp.shared_add").rows == own);
  CHECK(shape_of<Linear>(ops, "mlp.expert_up") ==
        Linear{.rows = rows, .in = hidden, .out = 16, .groups = 2, .top_k = top_k, .expert_ranks = 4});
  CHECK(shape_of<Linear>(ops, "mlp.expert_down") ==
        Linear{.rows = rows, .in = 16, .out = hidden, .groups = 2, .top_k = top_k, .expert_ranks = 4});
  CHECK(shape_of<Pointwise>(ops, "mlp.expert_mul").rows == rows);
  CHECK(shape_of<Pointwise>(ops, "mlp.expert_mul").width == 16);
}

TEST_CASE("expert collectives produce exactly the elements read next, and backward mirrors forward",
          "[contract][expert]") {
  // Copies that a rank sends: 64 tokens over 2 tensor-parallel and 2 context-parallel ranks, each to 2 experts. Twice
  // that with 2 expert tensor-parallel ranks.
  const Count sent = tokens / 4 * top_k * hidden;
  using C = CollectiveOp;
  struct Expected {
    Group group;
    C forward, backward;
    Count elements, out_elements;
  };
  const std::array all{Expected{Group::expert, C::all_to_all, C::all_to_all, sent, sent},
                       Expected{Group::expert_tensor, C::all_gather, C::reduce_scatter, 2 * sent, 2 * sent},
                       Expected{Group::expert_tensor, C::reduce_scatter, C::all_gather, 2 * sent, sent},
                       Expected{Group::expert, C::all_to_all, C::all_to_all, sent, sent}};
  std::size_t i = 0;
  for (const Op& op : first_block(even_moe(), training, {.tp = 2, .sp = true, .cp = 2, .ep = 4, .dp = 2})) {
    const Collective* c = std::get_if<Collective>(&op.shape);
    if (!c || (c->group != Group::expert && c->group != Group::expert_tensor)) continue;
    REQUIRE(i < all.size());
    const Expected& e = all[i++];
    CHECK(c->group == e.group);
    CHECK(c->forward == e.forward);
    CHECK(c->backward == e.backward);
    CHECK(c->elements == e.elements);
    CHECK(c->out_elements == e.out_elements);
    CHECK(c->forward_on);
    CHECK(c->backward_on);
    CHECK_FALSE(c->regather);  // received tensors are saved
  }
  CHECK(i == all.size());
}

TEST_CASE("FLOPs per rank add up to the model's, and weights per rank are the rank's share", "[contract][expert]") {
  Plan plan;
  plan.seq = seq;
  plan.micro_batch = sequences;
  plan.global_batch = 4 * sequences;
  for (const Layout& l : {Layout{.ep = 4, .dp = 4}, {.tp = 2, .sp = true, .cp = 2, .ep = 4, .dp = 2}, {.cp = 4}}) {
    const Prices prices = price(even_moe(), plan, l, {});
    const Count n = ranks(l, Group::tensor) * ranks(l, Group::context);
    Flops forward, backward;
    for (const LayerPrice& row : prices.rows) {
      forward += row.layers * row.forward.cost.model;
      backward += row.layers * (row.backward_input.cost.model + row.backward_weight.cost.model);
    }
    CHECK(n * forward == prices.whole.forward.total());
    CHECK(n * backward == prices.whole.backward);
    // 8 experts of three 64 x 32 matrices, plus attention, shared experts (width 16), router and norms.
    const Count tp = l.tp, u = ranks(l, Group::expert_tensor);
    const Count dense = (2 * 64 * 128 + 2 * 64 * 64 + 3 * 64 * 16) / tp + 64 * 8 + 2 * 64;
    CHECK(prices.layer(0).learned.total == 8 * 3 * 64 * 32 / (l.ep * u) + dense);
  }
}

TEST_CASE("expert-parallel traffic matches the textbook", "[textbook][expert]") {
  for (const Arch& a : mixtures())
    for (const Layout& l : random_layouts(a, 40)) {
      CAPTURE(l.tp, l.cp, l.ep, l.etp, l.dp);
      const OpList ops = first_block(a, training, l);
      const Count own = own_tokens(tokens, l);
      const Fraction want = folds_experts(l) ? textbook::expert_parallel_forward(own, hidden, top_k, l.ep, 2, 2) : 0;
      CHECK(bytes_sent(ops, l, Group::expert, false) == want);
      CHECK(bytes_sent(ops, l, Group::expert, true) == want);
      // (u-1)/u of the gathered tensor, and as much for the reduce-scatter.
      const Count u = ranks(l, Group::expert_tensor);
      const Fraction widths = folds_experts(l) ? Fraction(2 * 2 * (u - 1) * own * top_k * hidden) : 0;
      CHECK(bytes_sent(ops, l, Group::expert_tensor, false) == widths);
      CHECK(bytes_sent(ops, l, Group::expert_tensor, true) == widths);
    }
}

TEST_CASE("FLOPs of all ranks add up to the model's plus those of operators listed as replicated",
          "[contract][expert]") {
  for (const Arch& a : mixtures())
    for (const Layout& l : random_layouts(a, 60)) {
      CAPTURE(l.tp, l.sp, l.cp, l.ep, l.etp, l.dp);
      const auto whole = computing(first_block(a, training)), part = computing(first_block(a, training, l));
      REQUIRE(whole.size() == part.size());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        CAPTURE(whole[i].name);
        CHECK(whole[i].name == part[i].name);
        const Count times = is_on_every_tensor_rank(whole[i], l) ? l.cp : l.tp * l.cp;
        CHECK((static_cast<Int128>(times) * both_passes(part[i]) == both_passes(whole[i])));
        CHECK((static_cast<Int128>(times) * both_executed(part[i]) == both_executed(whole[i])));
      }
    }
}

TEST_CASE("weights of all ranks add up to the model's plus the weights listed as replicated", "[contract][expert]") {
  for (const Arch& a : mixtures())
    for (const Layout& l : random_layouts(a, 60)) {
      CAPTURE(l.tp, l.sp, l.cp, l.ep, l.etp, l.dp);
      const OpList dense =
          first_block(a, training, {.tp = l.tp, .sp = l.sp});  // reference for weights outside the experts
      const auto whole = computing(first_block(a, training)), tensor = computing(dense),
                 part = computing(first_block(a, training, l));
      for (std::size_t i = 0; i < whole.size(); ++i) {
        CAPTURE(whole[i].name);
        const Count all = learned(whole[i].shape).total, mine = learned(part[i].shape).total;
        if (!is_divided_over_experts(whole[i])) {
          CHECK(mine == learned(tensor[i].shape).total);
          continue;
        }
        // A bias added to the sum over row shards is on every expert tensor rank.
        const Linear* down = std::get_if<Linear>(&whole[i].shape);
        const bool biased = down && down->bias && whole[i].split == Split::row;
        const Count u = ranks(l, Group::expert_tensor), again = biased ? (u - 1) * down->groups * down->out : 0;
        CHECK(mine * l.ep * u == all + again);
        // Gradients are reduced across the ranks with the same experts.
        CHECK(ranks(l, Group::expert_data) * l.ep * u == l.tp * l.cp * l.dp);
      }
    }
}

TEST_CASE("peaks under combined parallelism equal the sum of live tensors", "[contract][expert]") {
  std::size_t longest = 0;
  for (const Arch& a : mixtures())
    for (const Layout& l : random_layouts(a, 60)) {
      const Count own = own_tokens(tokens, l) * hidden;
      Step dropping = training;
      dropping.dropout = true;
      for (const Step& s : {training, dropping})
        for (const RecomputeModules& again : recomputed_modules()) {
          const OpList ops = first_block(a, s, l);
          longest = std::max(longest, ops.size());
          Pricing p;
          p.dropout = s.dropout;
          p.recomputed = again;
          const Liveness live = liveness(ops, p, own);
          const WorstMoments w = worst_moments(ops, p, own);
          CHECK(live.output == Bytes(2 * own));
          CHECK(w.forward.total() == live.forward);
          CHECK(w.backward.total() == live.backward);
        }
    }
  // Sandwich norms, latent attention and gated shared experts with dropout: 34 operators, plus collectives of tensor
  // parallelism (4 in attention, 2 around shared experts), of context parallelism (2 of Ulysses) and of experts (4).
  CHECK(longest == 34 + 6 + 2 + 4);
}

TEST_CASE("without expert and context parallelism, a layout has only the operators of tensor parallelism",
          "[contract][expert]") {
  for (Arch a : mixtures())
    for (const bool dense : {false, true})
      for (const Layout& l :
           {Layout{}, Layout{.tp = 4}, {.tp = 4, .sp = true}, {.tp = 4, .sp = true, .etp = 4, .dp = 2}}) {
        if (dense) a.moe = {};
        const OpList today = split_tensor(block_ops(a, first_kind(a), training), {.tp = l.tp, .sp = l.sp}),
                     ops = first_block(a, training, l);
        REQUIRE(names(ops) == names(today));
        for (std::size_t i = 0; i < ops.size(); ++i) {
          CHECK(ops[i].shape == today[i].shape);
          CHECK(ops[i].split == today[i].split);
          CHECK(same_inputs(ops[i], today[i]));
          CHECK(ops[i].out == today[i].out);
        }
      }
}

TEST_CASE("under expert imbalance, the most loaded rank computes more rows but dispatches no more",
          "[contract][expert]") {
  const Layout balanced{.ep = 4, .dp = 4};
  Layout loaded = balanced;
  loaded.expert_load = {5, 4};
  const OpList even_ops = first_block(even_moe(), training, balanced), ops = first_block(even_moe(), training, loaded);
  const Count rows = tokens * top_k;
  CHECK(shape_of<Linear>(even_ops, "mlp.expert_up").rows == rows);
  CHECK(shape_of<Linear>(ops, "mlp.expert_up").rows == rows * 5 / 4);
  CHECK(shape_of<Pointwise>(ops, "mlp.expert_act").rows == rows * 5 / 4);
  CHECK(shape_of<Pointwise>(ops, "mlp.dispatch").rows == rows);
  CHECK(shape_of<Pointwise>(ops, "mlp.combine").rows == tokens);
  CHECK(Fraction(4) * bytes_sent(ops, loaded, Group::expert, false) ==
        Fraction(5) * bytes_sent(even_ops, balanced, Group::expert, false));
  // The most loaded rank saves a quarter more rows of its experts' inputs (64 values) and of their four tensors (32
  // each).
  const auto saved = [](const OpList& list) { return liveness(list, {}, tokens * hidden).saved; };
  CHECK(saved(ops) - saved(even_ops) == Bytes(2 * rows / 4 * (hidden + 4 * 32)));
  loaded.expert_load = {129, 128};  // 128 rows: one more
  CHECK(shape_of<Linear>(first_block(even_moe(), training, loaded), "mlp.expert_up").rows == rows + 1);
  loaded.expert_load = {1001, 1000};  // rounded up
  CHECK(shape_of<Linear>(first_block(even_moe(), training, loaded), "mlp.expert_up").rows == rows + 1);
}

TEST_CASE("expert-parallel ranks save the rows sent to them, even if several ranks shard an expert's width",
          "[contract][expert]") {
  const auto saved = [](const Layout& l) {
    return liveness(first_block(even_moe(), training, l), {}, tokens * hidden).saved;
  };
  const Bytes alone = saved({});
  CHECK(saved({.ep = 4, .dp = 4}) == alone);
  CHECK(saved({.ep = 1, .etp = 2, .dp = 2}) == alone + Bytes(2 * tokens * top_k * hidden));
  CHECK(saved({.ep = 2, .etp = 4, .dp = 8}) == alone + Bytes(2 * tokens * top_k * hidden * 3));
}

TEST_CASE("a rank reads only its experts that receive a token from any rank", "[cost][expert]") {
  // 8 experts over 4 ranks, 1 token on each, 2 experts per token: 4 tokens miss an expert with probability (3/4)^4.
  const Step one{.sequences = 1, .queries = 1, .training = true};
  const Linear up = shape_of<Linear>(first_block(even_moe(), one, {.ep = 4, .dp = 4}), "mlp.expert_up");
  CHECK(up.rows == 2);
  CHECK(forward(up, {}).moved.weights == Approx(2 * (1 - 81.0 / 256) * hidden * 32 * 2));
}

TEST_CASE("a rank counts its share of top_k, rounded up, as active experts per token", "[cost][expert]") {
  const auto up = [](Count ep) {
    return learned(shape_of<Linear>(first_block(even_moe(), training, {.ep = ep, .dp = ep}), "mlp.expert_up"));
  };
  CHECK(up(1).idle == 6 * hidden * 32);
  CHECK(up(2).idle == 3 * hidden * 32);
  CHECK(up(8).idle == 0);  // one expert, to which 2 of 8 tokens are routed
}

TEST_CASE("tensor-parallel ranks reduce gradients of routers on token shards, but not of sharded experts",
          "[contract][expert]") {
  const Layout apart{.tp = 2, .sp = true, .ep = 4, .dp = 4}, together{.tp = 2, .sp = true};
  const auto summed = [&](const Layout& l) {
    return summed_gradients(first_block(unshared(), training, l), l, Group::tensor);
  };
  // Two norms and the router. `together`: also the experts' biases, added after the sum.
  CHECK(summed(apart) == 2 * hidden + hidden * 8);
  CHECK(summed(together) == 2 * hidden + hidden * 8 + 8 * hidden);
  CHECK(is_divided_over_experts(first_block(unshared(), training, apart)[0]) == false);
  Count divided = 0;
  for (const Op& op : first_block(unshared(), training, apart))
    if (is_divided_over_experts(op)) divided += learned(op.shape).total;
  // 2 of 8 experts, widths of 16: three matrices, the biases of two matmuls with 16 columns, and the full bias of 64.
  CHECK(divided == 2 * (3 * hidden * 16 + 2 * 16 + hidden));
}

TEST_CASE("expert parallelism is rejected for indivisible experts, too few ranks or unsharded tokens",
          "[contract][layout]") {
  const auto of = [](const Layout& l) { return flaw(even_moe(), l); };
  CHECK(of({.ep = 8, .dp = 8}) == LayoutFlaw::none);
  CHECK(of({.ep = 16, .dp = 16}) == LayoutFlaw::experts);
  CHECK(of({.ep = 3, .dp = 3}) == LayoutFlaw::experts);
  CHECK(flaw(even(), {.ep = 2, .dp = 2}) == LayoutFlaw::experts);
  CHECK(of({.ep = 8, .dp = 4}) == LayoutFlaw::expert_ranks);
  CHECK(of({.cp = 2, .ep = 8, .dp = 4}) == LayoutFlaw::none);
  CHECK(of({.tp = 2, .ep = 4, .dp = 4}) == LayoutFlaw::expert_tokens);
  CHECK(of({.tp = 2, .sp = true, .ep = 4, .dp = 4}) == LayoutFlaw::none);
  CHECK(of({.tp = 2, .sp = true, .ep = 4, .etp = 1, .dp = 2}) == LayoutFlaw::none);
  CHECK(of({.tp = 2, .sp = true, .ep = 4, .etp = 2, .dp = 2}) == LayoutFlaw::expert_ranks);
  CHECK(of({.tp = 2, .etp = 1}) == LayoutFlaw::expert_tokens);
  CHECK(of({.tp = 2, .sp = true, .etp = 1}) == LayoutFlaw::none);
  CHECK(flaw(even(), {.tp = 2, .etp = 1}) == LayoutFlaw::none);  // no experts to shard
  CHECK(of({.ep = 2, .expert_load = {3, 4}, .dp = 2}) == LayoutFlaw::expert_load);
}

TEST_CASE("the expert tensor-parallel degree defaults to the tensor-parallel degree", "[contract][layout]") {
  CHECK(ranks({.tp = 4}, Group::expert_tensor) == 4);
  CHECK(ranks({.tp = 4, .etp = 1}, Group::expert_tensor) == 1);
  CHECK(ranks({.tp = 4, .ep = 2, .dp = 6}, Group::expert_data) == 3);
  CHECK(lines({.tp = 4, .ep = 2, .dp = 6}, Group::expert).inner.stride == 4);
  CHECK(lines({.tp = 4, .ep = 2, .dp = 6}, Group::expert_data).inner.stride == 8);
  CHECK_FALSE(folds_experts({.tp = 4}));
  CHECK(folds_experts({.tp = 4, .etp = 1}));
}
