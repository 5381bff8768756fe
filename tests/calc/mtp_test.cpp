// MTP modules: their parts, and the costs that they add to a model.

#include "calc/textbook/mtp.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Arch with_modules(Arch a, Count n) {
  a.mtp = {.modules = n, .mixer_of = a.layers - 1, .mlp_of = a.layers - 1, .own_norm = true};
  return a;
}

/// Layers of two attentions, two dense MLPs and experts.
Arch shortcut() {
  Arch a = even_moe();
  a.block = BlockKind::shortcut;
  a.norms_per_layer = 4;
  return a;
}

/// Dense, expert and latent models; windows and experts in some layers; several residual streams; shortcut blocks.
std::vector<Arch> models() {
  Arch mixed = even_moe();
  mixed.local = {.reach = {16}, .layers = LayerSet::every(1, 2, 3)};
  mixed.moe.layers = LayerSet::every(2, 1, 3);
  std::vector<Arch> all;
  for (const Arch& a : {prime_gqa(), prime_gated(), prime_moe(), prime_latent(), even_moe(), mixed})
    for (const unsigned own : {0U, 1U, 2U, 4U, 7U}) {
      Arch m = with_modules(a, 2);
      m.mtp.own_norm = (own & 1U) != 0;
      m.mtp.own_embedding = (own & 2U) != 0;
      m.mtp.own_head = (own & 4U) != 0;
      all.push_back(m);
    }
  mixed.mtp = {.modules = 1, .mixer_of = 1, .mlp_of = 2};
  all.push_back(mixed);
  Arch streams = with_modules(even(), 2);
  streams.streams = 3;
  all.push_back(streams);
  all.push_back(with_modules(shortcut(), 2));
  return all;
}

Plan trained(Count modules) {
  Plan p;
  p.seq = 32;
  p.global_batch = 1;
  p.mtp = modules;
  return p;
}

}  // namespace

TEST_CASE("an MTP module has a layer, two norms and one projection, and shares the table and the head", "[mtp]") {
  const Arch a = with_modules(prime_gated(), 1);  // D 13: q and o 2 x 13 x 15, k and v 2 x 13 x 5, MLP 3 x 13 x 17
  const Count layer = 2 * 13 * 15 + 2 * 13 * 5 + 3 * 13 * 17 + 2 * 13;
  CHECK(mtp_parameters(a).total == layer + 2 * 13 * 13 + 3 * 13);
  CHECK(parameters(a) == parameters(prime_gated()));
  CHECK(names(mtp_input_ops(a, {.training = true})) ==
        "mtp.tokens mtp.token_norm mtp.project_token mtp.result_norm mtp.project_result mtp.add");
  CHECK(names(mtp_head_ops(a, {.training = true})) == "head.norm head.logits head.loss");
}

// D 64, MLP 128, q and o 2 x 64 x 128, k and v 2 x 64 x 64.
TEST_CASE("the MTP module of a model with shortcut blocks has half a block, without experts", "[mtp]") {
  const Count layer = 2 * 64 * 128 + 2 * 64 * 64 + 3 * 64 * 128 + 2 * 64;
  CHECK(mtp_parameters(with_modules(shortcut(), 1)).total == layer + 2 * 64 * 64 + 3 * 64);
}

TEST_CASE("an MTP module reads every residual stream and has separate weights for their sum", "[mtp]") {
  Arch a = with_modules(even(), 1);
  a.streams = 3;
  const Step s{.queries = 5, .training = true};
  CHECK(names(mtp_input_ops(a, s)) ==
        "mtp.tokens mtp.token_norm mtp.project_token mtp.result_norm mtp.project_result mtp.repeat mtp.add");
  CHECK(std::get<Linear>(mtp_input_ops(a, s)[4].shape).rows == 3 * 5);
  // Around each half: 3 x 5 rows of 3 x 64 weights, biases and 3 scales. At the end: 3 rows, their biases and a scale.
  const Count streams = 2 * (15 * 3 * 64 + 15 + 3) + 3 * 3 * 64 + 3 + 1;
  CHECK(mtp_parameters(a).total == mtp_parameters(with_modules(even(), 1)).total + streams);
}

TEST_CASE("parameters and FLOPs of MTP modules match the closed forms", "[mtp][textbook]") {
  for (const Arch& a : models()) {
    CHECK(mtp_parameters(a).total == a.mtp.modules * textbook::module_parameters(a));
    const Plan p = trained(a.mtp.modules);
    const Flops one = textbook::module_forward_flops(a, {1, 32});
    const Flops added = training_flops(a, p).forward - training_flops(a, trained(0)).forward;
    CHECK(added == a.mtp.modules * one);
    CHECK(training_flops(a, p).backward - training_flops(a, trained(0)).backward == 2 * added);
  }
}

TEST_CASE("a model with unused MTP modules costs the same as one without modules", "[mtp]") {
  const Cluster c = device(1e12, 1e11);
  for (const Arch& a : models()) {
    Arch without = a;
    without.mtp = {};
    const TrainEstimate one = train(a, trained(0), c), other = train(without, trained(0), c);
    CHECK(one.memory.peak == other.memory.peak);
    CHECK(one.bound.total() == other.bound.total());
    CHECK(infer(a, {}, c).memory.peak == infer(without, {}, c).memory.peak);
  }
}

TEST_CASE("an MTP module's layer has the memory and time of a layer of its kind", "[mtp]") {
  const Cluster c = device(1e12, 1e11);
  for (const Layout& l : {Layout{}, Layout{.tp = 2, .sp = true}, Layout{.ep = 2}}) {
    const Prices p = price(with_modules(even_moe(), 2), trained(2), l, c.device);
    const LayerPrice &layer = p.layer(0), &module = p.mtp()[1];
    CHECK(module.layers == 2);
    CHECK(module.learned.total == layer.learned.total);
    CHECK(module.alive.saved == layer.alive.saved);
    CHECK(module.forward.bound.total() == layer.forward.bound.total());
    CHECK(p.mtp()[2].alive.saved == p.head().alive.saved);
  }
}

// D 64, 32 tokens of 2 bytes. Per module: ids of 8 bytes, the table's row, both norms' results, and 4 bytes of
// statistics per norm. The preceding head saves the input of the second norm.
TEST_CASE("an MTP module saves ids, inputs and results of its norms, and its layer's and head's tensors", "[mtp]") {
  const Arch a = with_modules(even(), 2);
  const Plan none = trained(0), both = trained(2);
  const auto saved = [&](const Plan& p) {
    const Prices prices = price(a, p, {}, {});
    return saved_bytes(prices, p, whole_model(prices.kinds));
  };
  const Prices p = price(a, both, {}, {});
  const Count input = 32 * (8 + 3 * 64 * 2 + 2 * 4);
  CHECK(saved(both) - saved(none) == 2 * (Bytes(input) + p.layer(0).alive.saved + p.head().alive.saved));
}

TEST_CASE("logits of every MTP module are live until backward, unless the loss processes them in chunks", "[mtp]") {
  const Arch a = with_modules(even(), 2);
  Plan p = trained(2);
  const Count one = 32 * 512 * 4;
  CHECK(training_memory(a, p).logits == Bytes(3 * one));
  p.logits.chunks = 4;
  CHECK(training_memory(a, p).logits == Bytes(one / 4));
}

TEST_CASE("MTP modules are on the last stage, which gets fewer layers", "[mtp][cluster]") {
  Arch a = even();
  a.layers = 16;
  a = with_modules(a, 1);
  const Layout four{.pp = 4};
  Plan p = trained(0);
  p.global_batch = 8;
  const Cluster c = device(1e12, 1e11, 1e10);
  const auto of = [&](Count modules, Count rank) {
    p.mtp = modules;
    const Prices prices = price(a, p, four, c.device);
    return stage(prices, p, four, partition(prices, p, four, c), rank);
  };
  CHECK(of(1, 3).layers < of(0, 3).layers);
  // A module, and the last stage's copy of the table.
  const Count added = of(1, 3).memory.parameters - of(0, 3).memory.parameters;
  const Count layer = parameters(a).attention / 16 + parameters(a).mlp / 16 + 2 * 64;
  CHECK(added == mtp_parameters(a).total + 512 * 64 - layer * (of(0, 3).layers - of(1, 3).layers));
}

TEST_CASE("full recomputation includes an MTP module's layer; recomputing a block of layers does not", "[mtp]") {
  const Arch a = with_modules(even(), 1);
  Plan p = trained(1), none = trained(0);
  p.recompute = none.recompute = Recompute::full;
  const Flops layers = training_flops(a, none).recompute, all = training_flops(a, p).recompute;
  CHECK(3 * (all - layers) == layers);
  p.recompute_method = none.recompute_method = RecomputeMethod::block;
  CHECK(training_flops(a, p).recompute == training_flops(a, none).recompute);
}

TEST_CASE("MTP modules add as much cache as the same number of layers", "[mtp]") {
  Arch longer = even();
  longer.layers += 2;
  Plan p;
  p.mtp = 2;
  CHECK(cache_bytes(with_modules(even(), 2), p, 100) == cache_bytes(longer, {}, 100));
  CHECK(weights_bytes(with_modules(even(), 2), p) ==
        weights_bytes(even(), {}) + Bytes(2 * mtp_parameters(with_modules(even(), 2)).total));
}

// A head whose logits are the peak holds the logits of one token, 2 bytes each, and the norm's result. A module after
// it also needs the tokens' final hidden states: 32 x 64 values of 2 bytes.
TEST_CASE("in a prefill, final hidden states are kept for the MTP module that follows the head", "[mtp]") {
  Arch a = even();
  a.vocabulary = Count{1} << 20;
  const auto workspace = [&](Count modules) {
    Plan p;
    p.mtp = modules;
    return pass_workspace(price_prefill(with_modules(a, modules), p, {}, {}, 32));
  };
  const Bytes head(2 * (64 + a.vocabulary));
  CHECK(workspace(0) == head);
  CHECK(workspace(1) == head + Bytes(32 * 64 * 2));
  CHECK(workspace(2) == head + Bytes(32 * 64 * 2));
}

TEST_CASE("the last step of a generation with MTP modules verifies only as many drafts as tokens remain", "[mtp]") {
  Plan p;
  p.prompt = 10;
  for (const Count modules : {1, 3})
    for (const Count generate : {1, 2, 7}) {
      p.mtp = modules;
      p.generate = generate;
      const Step s = last_step(p);
      CHECK(s.past + s.queries == p.prompt + p.generate);
      CHECK(s.queries == std::min(1 + modules, generate));
      CHECK(s.verifies);
      CHECK(s.mtp == modules);
    }
}

// Naive attention of one short prompt: the scores of 2 queries, 16 heads and 1000 keys are the peak.
TEST_CASE("inference memory with MTP modules includes the pass that verifies their drafts", "[mtp]") {
  Plan p;
  p.prompt = 1;
  p.generate = 999;
  p.attention = AttentionImpl::naive;
  p.mtp = 1;
  const Arch a = with_modules(even(), 1);
  const Bytes verifying = inference_memory(a, p).workspace;
  p.mtp = 0;
  const Bytes plain = inference_memory(a, p).workspace;
  CHECK(verifying - plain >= Bytes(even().heads * 1000 * 2));
  CHECK(verifying <= 2 * plain);
}

TEST_CASE("checkpoint bytes of MTP modules apply only to the modules, in memory and in the bytes read", "[mtp]") {
  const Arch a = with_modules(even_moe(), 2);
  const auto holding = [](Count times) {
    Plan p = trained(2);
    p.weight_precision.hold(Component::experts, {Bytes(times), Bytes(1)}, Owner::modules);
    return p;
  };
  const auto prices = [&](Count times) { return price_holdings(a, holding(times), {}); };
  const Prices once = prices(1), thrice = prices(3);
  const Bytes experts = once.weights_of(Owner::modules)[Component::experts];
  REQUIRE(experts > Bytes());
  const auto bytes = [&](Count times) { return weights_bytes(a, holding(times)); };
  CHECK(bytes(3) == bytes(1) + 2 * experts);
  Plan alone = holding(3);
  alone.mtp = 0;
  CHECK(weights_bytes(a, alone) == bytes(1) - (weights_bytes(a, trained(2)) - weights_bytes(a, trained(0))));
  const auto read = [](const LayerPrice& row) { return row.forward.cost.moved.weights; };
  const double more = read(thrice.mtp()[1]) - read(once.mtp()[1]);
  CHECK(more > 0);
  CHECK(read(prices(5).mtp()[1]) - read(once.mtp()[1]) == 2 * more);
  CHECK(read(thrice.layer(0)) == read(once.layer(0)));
}

TEST_CASE("a table that MTP modules share with the model is read in the model's storage format", "[mtp]") {
  const Arch a = with_modules(prime_gated(), 1);
  Plan plain = trained(1), held = plain;
  for (const Component c : {Component::lm_head, Component::embedding})
    held.weight_precision.hold(c, {Bytes(2), Bytes(1)}, Owner::model);
  const auto head_reads = [&](const Plan& p) { return price_holdings(a, p, {}).mtp()[2].forward.cost.moved.weights; };
  CHECK(head_reads(held) > 1.9 * head_reads(plain));  // the norm is unchanged
}
