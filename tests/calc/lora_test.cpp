// Training of adapters only: parameters, memory, FLOPs, and sharding across ranks.

#include "calc/train.hpp"
#include "calc/training/adapter.hpp"
#include "calc/training/gradient_flow.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

LoraTargets targets(std::initializer_list<LoraTarget> some) {
  LoraTargets all;
  for (const LoraTarget t : some) all.add(t);
  return all;
}
Plan adapted(Count rank, LoraTargets to = LoraTargets::all()) {
  Plan p;
  p.seq = 512;
  p.global_batch = 4;
  p.lora_rank = rank;
  p.lora_targets = to;
  return p;
}
Plan whole() { return adapted(0); }

const Cluster cards = device(300e12, 2e12, 300e9);
TrainEstimate trained(const Arch& a, const Plan& p, const Layout& l = {}) { return train(a, p, l, cards); }
Count trained_numbers(const Arch& a, const Plan& p) { return trained(a, p).memory.trained; }

}  // namespace

TEST_CASE("adapters of Llama-2-7B have the published parameter counts", "[lora]") {
  // Per layer rank x (in + out) of every target: q, k, v, out 4096 + 4096; gate, up 4096 + 11008; down the reverse.
  const Count attention = 4096 + 4096, mlp = 4096 + 11008;
  CHECK(trained_numbers(llama2_7b(), adapted(8, targets({LoraTarget::q, LoraTarget::v}))) == 32 * 8 * 2 * attention);
  CHECK(32 * 8 * 2 * attention == 4'194'304);  // as PEFT prints for r = 8 on q_proj and v_proj
  CHECK(trained_numbers(llama2_7b(), adapted(16)) == 32 * 16 * (4 * attention + 3 * mlp));
  CHECK(32 * 16 * (4 * attention + 3 * mlp) == 39'976'960);
}

TEST_CASE("adapters have gradients and optimizer states, and frozen weights have neither", "[lora]") {
  for (const Arch& a : {even(), even_moe(), even_latent()}) {
    const Memory full = trained(a, whole()).memory, lora = trained(a, adapted(4)).memory;
    const Count n = lora.trained;
    CHECK(n > 0);
    CHECK(lora.parameters == full.parameters + n);
    CHECK(lora.weights == full.weights + Bytes(2 * n));
    CHECK(lora.gradients == Bytes(4 * n));
    CHECK(lora.optimizer == Bytes(12 * n));
    CHECK(full.trained == full.parameters);
  }
}

TEST_CASE("frozen weights are stored in the inference format, adapters in the training format", "[lora]") {
  Plan p = adapted(4);
  p.base_precision = *dtype("nf4");
  Plan inference;
  inference.weight_precision = p.base_precision;
  for (const Arch& a : {even(), even_moe(), even_latent()}) {
    const Memory m = trained(a, p).memory;
    CHECK(m.weights == weights_bytes(a, inference) + Bytes(2 * m.trained));
  }
}

TEST_CASE("frozen matrices have no weight gradient; adapters have weight and input gradients", "[lora]") {
  const Arch a = even();
  const Plan p = adapted(4);
  const TrainingFlops full = training_flops(a, whole()), lora = training_flops(a, p);
  const Count tokens = p.seq, n = trained_numbers(a, p);
  const Flops adapters(2 * static_cast<Int128>(tokens) * static_cast<Int128>(n));
  CHECK(lora.forward == full.forward + adapters);
  const Work w = whole_flops(a, whole(), training_step(whole()), Phase::training).forward;
  // Full: twice the forward pass. LoRA: input gradients once per matrix, four matmuls per attention core, twice the
  // adapters.
  CHECK(full.backward == 2 * full.forward);
  CHECK(lora.backward == w.linear + w.head + 2 * w.core + 2 * adapters);
}

TEST_CASE("inputs of frozen matrices are saved only for adapters", "[lora]") {
  // prime_gqa has x 13, n 13, q 15, k 5, v 5, o 15, y 13, m 13, u 17, a 17 values per token. Frozen matrices need no
  // inputs. Norms need x and y, the core q, k, v and o, the activation u; q's adapter needs n and its rank of 3.
  const Step frozen{.sequences = 2, .queries = 3, .training = true, .lora_rank = 3};
  Step q = frozen;
  q.lora_targets = LoraTarget::q;
  const Count tokens = 6;
  const auto saved = [&](const Step& s) { return liveness(first_block(prime_gqa(), s), {}, tokens * 13).saved; };
  const Count statistics = 4 * (3 + 2 * 2);  // log-sum-exps and the means and deviations of two norms, in float32
  CHECK(saved(frozen) == Bytes(tokens * (2 * (13 + 15 + 5 + 5 + 15 + 13 + 17) + statistics)));
  CHECK(saved(q) - saved(frozen) == Bytes(tokens * 2 * (13 + 3)));
}

TEST_CASE("tensor-parallel ranks shard an adapter like the matrix that it adapts", "[lora]") {
  for (const Arch& a : {even(), even_moe(), even_latent()})
    for (const bool sp : {false, true}) {
      Plan p = adapted(4);
      const Memory one = trained(a, p).memory;
      const Layout l{.tp = 2, .sp = sp};
      const Memory two = trained(a, p, l).memory;
      CHECK(two.trained < one.trained);
      CHECK(2 * two.trained > one.trained);  // replicated parts are on both ranks
      // Forward collectives equal the whole model's: an adapter of a row shard is summed together with its matrix.
      const auto messages = [&](const Plan& plan) {
        Count n = 0;
        const Prices prices = price(a, plan, l, {});
        for (const CollectiveCall& e : prices.layer(0).forward.collectives) n += e.messages;
        return n;
      };
      CHECK(messages(p) == messages(adapted(0)));
    }
}

TEST_CASE("peaks with adapters equal the sum of live tensors", "[lora]") {
  for (const Arch& a : {even(), even_moe(), even_latent()})
    for (const Layout& l : {Layout{}, Layout{.tp = 2}, Layout{.tp = 2, .sp = true}})
      for (const RecomputeModules& again : recomputed_modules()) {
        const Plan p = adapted(4);
        const OpList ops = first_block(a, training_step(p), l);
        const Count input = own_tokens(p.seq, l) * a.hidden;
        const Liveness live = liveness(ops, {.recomputed = again}, input);
        const WorstMoments w = worst_moments(ops, {.recomputed = again}, input);
        CHECK(w.forward.total() == live.forward);
        CHECK(w.backward.total() == live.backward);
      }
}

TEST_CASE("with adapters, data-parallel ranks reduce only adapter gradients", "[lora]") {
  const Arch a = even();
  for (const Zero z : {Zero::none, Zero::optimizer, Zero::gradients}) {
    const Layout l{.dp = 4, .zero = z};
    const Seconds full = trained(a, whole(), l).bound[Part::dp], lora = trained(a, adapted(4), l).bound[Part::dp];
    CHECK(lora <= full);
  }
  const Memory m = trained(a, adapted(4), {.dp = 4, .zero = Zero::gradients}).memory,
               one = trained(a, adapted(4)).memory;
  CHECK(m.weights == one.weights);
  CHECK(m.gradients == Bytes(4 * ceil_div(one.trained, 4)));
  CHECK(m.optimizer == Bytes(12 * ceil_div(one.trained, 4)));
}

TEST_CASE("pipeline stages together hold all adapters once", "[lora]") {
  const Arch a = [] {
    Arch some = even();
    some.layers = 4;
    return some;
  }();
  const Prices prices = price(a, adapted(4), {.pp = 2}, cards.device);
  const Partition parts = partition(prices, adapted(4), {.pp = 2}, cards);
  Count n = 0;
  for (const Count rank : {0, 1}) n += stage(prices, adapted(4), {.pp = 2}, parts, rank).memory.trained;
  CHECK(n == trained_numbers(a, adapted(4)));
}

TEST_CASE("recomputing a module frees the same memory with and without adapters", "[lora]") {
  const auto saved = [](const Arch& a, const Plan& p, RecomputeModule m) {
    Plan again = p;
    again.recompute = Recompute::selective;
    again.recompute_modules = m;
    return price(a, p, {}, {}).layer(0).alive.saved - price(a, again, {}, {}).layer(0).alive.saved;
  };
  // The activation's results are the inputs of the product and of mlp.down's adapter.
  CHECK(saved(even(), adapted(4), RecomputeModule::act) == saved(even(), whole(), RecomputeModule::act));
  // Queries, keys and values, and the normed rows that the adapters read, plus the adapters' low-rank rows.
  const Bytes low(2 * 2 * 4 * 512);
  CHECK(saved(even_latent(), adapted(4), RecomputeModule::up) ==
        saved(even_latent(), whole(), RecomputeModule::up) + low);
}

TEST_CASE("gradients of frozen weights are not reduced", "[lora]") {
  const Layout l{.dp = 4, .zero = Zero::weights};
  const Plan p = adapted(4);
  const RowTimes t = row_times(price(even(), p, l, cards.device), p, l, cards, Efficiency::full);
  CHECK(t.embedding().gather > Seconds());
  CHECK(t.embedding().reduce == Seconds());
  CHECK(t.head().reduce == Seconds());
  CHECK(t.layer(0).reduce > Seconds());
}

TEST_CASE("an adapter is read in its own format, and a frozen matrix has only an input gradient", "[lora]") {
  Plan p = adapted(4, targets({LoraTarget::q}));
  p.base_precision = *dtype("fp8");
  const Pricing priced = pricing(p, Phase::training);
  for (const Op& op : first_block(even(), training_step(p))) {
    const Costs all = costs(op, priced);
    CHECK(forward(op, priced).moved.total() == all.forward.moved.total());
    CHECK(backward(op, priced).executed == all.backward_input.executed + all.backward_weight.executed);
    // 64 x 4 elements of two bytes, 64 x 128 of one; the latter have only an input gradient.
    if (op.name == "attn.q_lora_down") CHECK(forward(op, priced).moved.weights == 2 * 64 * 4);
    if (op.name != "attn.q") continue;
    CHECK(forward(op, priced).moved.weights == 64 * 128);
    CHECK(backward(op, priced).executed == flops(2, 512, 64, 128));
  }
}

TEST_CASE("an indexer has no backward pass when only adapters are trained", "[lora]") {
  const Plan p = adapted(2);
  std::size_t of_indexer = 0, others = 0;
  for_each_operator(even_sparse(), p, {}, training_step(p), [&](const OperatorRow& row) {
    if (row.segment.kind != SegmentKind::block) return;
    const bool mine = row.op.name.starts_with("attn.index");
    CHECK(has_backward(row.op) == !mine);
    ++(mine ? of_indexer : others);
  });
  CHECK(of_indexer > 4);
  CHECK(others > 10);
}
