// Memory of a cluster's ranks: shards and stages add up to the model, and published figures are reproduced.

#include <algorithm>

#include "calc/textbook/activations.hpp"
#include "calc/textbook/parallel.hpp"
#include "calc/textbook/states.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using textbook::Fraction;

namespace {

const Cluster any_links = [] {
  Cluster c = device(1e12, 1e11, 1e10);
  c.levels[0].ranks = 0;
  return c;
}();

struct Stages {
  Prices prices;
  Partition partition;
  std::vector<Stage> all;
};
Stages stages(const ClusterCase& c) {
  Stages s{.prices = price(c.arch, c.plan, c.layout, c.cluster.device), .partition = {}, .all = {}};
  s.partition = partition(s.prices, c.plan, c.layout, c.cluster);
  for (Count r = 0; r < c.layout.pp; ++r) s.all.push_back(stage(s.prices, c.plan, c.layout, s.partition, r));
  return s;
}
Count learned(const Prices& p) {
  Count all = 0;
  for (const LayerPrice& row : p.rows) all += row.layers * row.learned.total;
  return all;
}

}  // namespace

TEST_CASE("all stages together hold one model (DualPipe: two), plus a tied table's copy on the last stage",
          "[cluster][memory]") {
  Cases cases(31);
  for (int i = 0; i < 500; ++i) {
    const ClusterCase c = cases.any();
    INFO(i << ": " << text_of(c.layout));
    const Stages s = stages(c);
    Count held = 0, run = 0;
    for (const Stage& one : s.all) {
      held += one.memory.parameters;
      run += one.layers;
    }
    const Pipeline p = pipeline_of(c.plan, c.layout);
    const bool ends_apart = rank_of(p, 0) != rank_of(p, model_chunks(p) - 1) && directions(p) == 1;
    REQUIRE(held == directions(p) * learned(s.prices) + (ends_apart ? s.prices.head().tied.total : 0));
    REQUIRE(run == directions(p) * c.arch.layers);
  }
}

TEST_CASE("the shards of a rank's states add up to the states plus at most one element per shard",
          "[cluster][memory]") {
  Cases cases(32);
  for (int i = 0; i < 500; ++i) {
    const ClusterCase c = cases.any();
    INFO(i << ": " << text_of(c.layout));
    const Count d = ranks(c.layout, Group::shard), e = ranks(c.layout, Group::expert_shard);
    const Stages s = stages(c);
    const Pipeline p = pipeline_of(c.plan, c.layout);
    for (const Stage& one : s.all) {
      Count experts = 0;
      for (Count local = 0; local < p.chunks; ++local)
        for_each_row(s.prices, s.partition[model_chunk(p, one.rank, local)],
                     [&](const LayerPrice& row, Count n) { experts += n * row.experts.total; });
      const Count own = one.memory.parameters - experts, sharded = ceil_div(own, d) + ceil_div(experts, e);
      const auto numbers = [&](Zero from) { return c.layout.zero >= from ? sharded : one.memory.parameters; };
      REQUIRE(one.memory.weights == Bytes(2 * numbers(Zero::weights)));
      REQUIRE(one.memory.gradients == Bytes(c.plan.gradient_bytes * numbers(Zero::gradients)));
      REQUIRE(one.memory.optimizer == Bytes(12 * numbers(Zero::optimizer)));
      REQUIRE(d * ceil_div(own, d) - own < d);
      REQUIRE(e * ceil_div(experts, e) - experts < e);
    }
  }
}

TEST_CASE("each ZeRO stage uses the memory given by Rajbhandari's formulas", "[cluster][memory]") {  // arXiv:1910.02054
  for (const Count d : {1, 2, 4, 8, 16})
    for (int stage = 0; stage <= 3; ++stage)
      for (const Count g : {2, 4, 6}) {
        ClusterCase c{even(), {}, {.dp = d, .zero = static_cast<Zero>(stage)}, any_links};
        c.plan.seq = 8;
        c.plan.global_batch = d;
        c.plan.gradient_bytes = g;
        const Count n = parameters(c.arch).total;
        REQUIRE(n % d == 0);
        const Memory m = train(c.arch, c.plan, c.layout, c.cluster).memory;
        const auto preset = *textbook::state_preset(g == 2   ? "adam_mixed_fp16_grads"
                                                    : g == 4 ? "adam_mixed_fp32_grads"
                                                             : "adam_mixed_both_grads");
        CHECK(m.weights + m.gradients + m.optimizer == textbook::zero_bytes(preset, n, d, stage).bytes());
      }
}

TEST_CASE("states of 7.5 B parameters over 64 ranks take 120, 31.4, 16.6 and 1.9 GB at ZeRO 0 to 3",
          "[cluster][memory]") {
  // arXiv:1910.02054, figure 1. All 7.5e9 parameters are in one row; 64 divides them.
  Prices p = price(even(), {.seq = 8, .global_batch = 64}, {}, {});
  for (LayerPrice& row : p.rows) row.learned = {};
  p.rows[0].learned.total = 7'500'000'000;
  Plan plan;
  plan.gradient_bytes = 2;
  const ModelChunk all = whole_model(p.kinds);
  const std::array<Count, 4> bytes{120'000'000'000, 31'406'250'000, 16'640'625'000, 1'875'000'000};
  for (std::size_t stage = 0; stage <= 3; ++stage) {
    const States s = training_states(p, plan, {.dp = 64, .zero = static_cast<Zero>(stage)}, {&all, 1});
    CHECK(s.weights + s.gradients + s.optimizer == Bytes(bytes[stage]));
  }
}

TEST_CASE("ZeRO-3 holds the gathered embedding, head and two layers, and the gradient bucket of one layer",
          "[cluster][memory]") {
  ClusterCase c{even(), {}, {.dp = 4, .zero = Zero::weights}, any_links};
  c.plan.seq = 8;
  c.plan.global_batch = 4;
  c.arch.vocabulary = 64;  // so that a layer is larger than the embedding and the head
  c.arch.mlp_width = 512;
  const Prices p = price(c.arch, c.plan, c.layout, c.cluster.device);
  const Count layer = p.layer(0).learned.total, outside = p.embedding().learned.total + p.head().learned.total;
  const Memory m = train(c.arch, c.plan, c.layout, c.cluster).memory;
  CHECK(m.gathered + m.buckets == textbook::gathered_bytes(layer, 2, 2, 4) + Bytes(2 * outside));
  c.layout.reshard = false;
  CHECK(train(c.arch, c.plan, c.layout, c.cluster).memory.gathered == Bytes(2 * (3 * layer + outside)));
}

TEST_CASE("in a pipeline, ZeRO-2 keeps a stage's full gradients until their reduction", "[cluster][memory]") {
  // A layer: q and out of 64 x 128, k and v of 64 x 64, three matrices of 64 x 128, two norms of 64. Three per stage.
  const Count layer = 2 * 64 * 128 + 2 * 64 * 64 + 3 * 64 * 128 + 2 * 64, table = 512 * 64, norm = 64;
  ClusterCase c{even(), {}, {.pp = 2, .dp = 4, .zero = Zero::gradients}, any_links};
  c.arch.layers = 6;
  for (int i = 0; i < 2; ++i) c.layout.stage_layers.push(3);
  c.plan.seq = 8;
  c.plan.global_batch = 16;
  const Stages s = stages(c);
  CHECK(s.all[0].memory.buckets == Bytes(4 * (3 * layer + table)));
  CHECK(s.all[0].memory.gradients == Bytes(4 * (3 * layer + table) / 4));
  CHECK(s.all[1].memory.buckets == Bytes(4 * (3 * layer + table + norm)));
  c.layout = {.dp = 4, .zero = Zero::gradients};  // gradients of one micro-batch at a time
  CHECK(stages(c).all[0].memory.buckets == Bytes(4 * (2 * table + norm)));
}

TEST_CASE("gradients of experts without replicas are not in a pipeline's gradient buckets", "[cluster][memory]") {
  ClusterCase c{even_moe(), {}, {.ep = 4, .pp = 2, .dp = 4, .zero = Zero::gradients}, any_links};
  c.arch.layers = 4;
  c.arch.moe.layers = LayerSet::all(4);
  for (int i = 0; i < 2; ++i) c.layout.stage_layers.push(2);
  c.plan.seq = 8;
  c.plan.global_batch = 16;
  const Stages s = stages(c);
  const LayerPrice& layer = s.prices.layer(0);
  const Count own = layer.learned.total - layer.experts.total, table = 512 * 64;
  CHECK(s.all[0].memory.buckets == Bytes(4 * (2 * own + table)));
  CHECK(s.all[0].memory.gradients == Bytes(4 * ((2 * own + table + 3) / 4 + 2 * layer.experts.total)));
}

TEST_CASE("weights without replicas are not gathered", "[cluster][memory]") {
  ClusterCase c{even_moe(), {}, {.ep = 4, .dp = 4, .zero = Zero::weights}, any_links};
  c.plan.seq = 8;
  c.plan.global_batch = 4;
  const Prices p = price(c.arch, c.plan, c.layout, c.cluster.device);
  const LayerPrice& layer = p.layer(0);
  const Count own = layer.learned.total - layer.experts.total;
  const Count outside = p.embedding().learned.total + p.head().learned.total;
  REQUIRE(layer.experts.total == 2 * 3 * 64 * 32);
  const Memory m = train(c.arch, c.plan, c.layout, c.cluster).memory;
  CHECK(m.gathered == Bytes(2 * (2 * own + outside)));
  CHECK(m.buckets == Bytes(4 * std::max(own, outside)));
}

TEST_CASE("ZeRO-3 shards whole experts over tensor-parallel ranks and gathers them even without replicas",
          "[cluster][memory]") {
  ClusterCase c{even_moe(), {}, {.tp = 4, .sp = true, .etp = 1, .zero = Zero::weights}, any_links};
  c.plan.seq = 8;
  c.plan.global_batch = 1;
  const Memory m = train(c.arch, c.plan, c.layout, c.cluster).memory;
  CHECK(m.gathered == Bytes(2 * 2 * 8 * 3 * 64 * 32));  // experts of two layers at 2 bytes
  CHECK(m.buckets == Bytes(4 * 8 * 3 * 64 * 32));
}

TEST_CASE("the last stage gathers its copy of a tied table", "[cluster][memory]") {
  ClusterCase c{even(), {}, {.pp = 3, .dp = 4, .zero = Zero::weights}, any_links};
  c.arch.tied_head = true;
  c.plan.seq = 8;
  c.plan.global_batch = 16;
  const Stages s = stages(c);
  const Count table = 512 * 64, layer = s.prices.layer(0).learned.total;
  CHECK(s.all[2].memory.gathered == Bytes(2 * (layer + table + 64)));  // plus the final norm
  CHECK(s.all[2].memory.buckets == Bytes(4 * std::max(layer, table + 64)));
}

namespace {

/// Number of micro-batches in flight on a pipeline stage, in units of whole stages.
Fraction in_flight(const ClusterCase& c, Count rank) {
  const Stages s = stages(c);
  return {s.all[static_cast<std::size_t>(rank)].in_flight, c.layout.chunks};
}
ClusterCase pipeline_case(Schedule s, Count p, Count chunks, Count m) {
  ClusterCase c{even(), {}, {.pp = p, .chunks = chunks, .schedule = s}, any_links};
  c.arch.layers = 24;
  c.plan.seq = 8;
  c.plan.global_batch = m;
  return c;
}

}  // namespace

TEST_CASE("micro-batches in flight per stage match the textbook for GPipe, 1F1B and interleaved", "[cluster][memory]") {
  for (const Count p : {2, 4, 8})
    for (const Count m : {1, 3, 8, 40})
      for (Count r = 0; r < p; ++r) {
        CHECK(in_flight(pipeline_case(Schedule::gpipe, p, 1, m), r) ==
              textbook::in_flight(textbook::Schedule::gpipe, p, m, r));
        CHECK(in_flight(pipeline_case(Schedule::one_f_one_b, p, 1, m), r) ==
              textbook::in_flight(textbook::Schedule::one_f_one_b, p, m, r));
        if (m % p == 0)
          CHECK(in_flight(pipeline_case(Schedule::interleaved, p, 3, m), r) ==
                textbook::in_flight(textbook::Schedule::interleaved, p, m, r, 3));
      }
}

TEST_CASE("the fullest rank of ZB-H1, ZB-H2 and DualPipe holds P, 2P - 1 and P + 1 micro-batches",
          "[cluster][memory]") {
  const auto most = [](Schedule s, Count p, Count chunks) {
    Fraction worst;
    for (Count r = 0; r < p; ++r) {
      const Fraction n = in_flight(pipeline_case(s, p, chunks, 6 * p), r);
      if (n.value() > worst.value()) worst = n;
    }
    return worst;
  };
  for (const Count p : {2, 4, 8}) {
    CHECK(most(Schedule::zb_h1, p, 1) == textbook::in_flight(textbook::Schedule::zb_h1, p, 6 * p, 0));
    CHECK(most(Schedule::zb_h2, p, 1) == textbook::in_flight(textbook::Schedule::zb_h2, p, 6 * p, 0));
    // DualPipe's README and the textbook count micro-batches per chunk (one stage of layers) and get P + 1. A rank has
    // two chunks and most() counts whole ranks, hence the factor 2.
    CHECK(Fraction(2) * most(Schedule::dualpipe, p, 2) ==
          textbook::in_flight(textbook::Schedule::dualpipe, p, 6 * p, 0));
  }
}

TEST_CASE("interleaving multiplies the activations of the first stage by 1 + (P - 1)/(P v)", "[cluster][memory]") {
  // arXiv:2205.05198, section 4.2.3
  for (const Count p : {2, 4})
    for (const Count v : {2, 3}) {
      const Fraction plain = in_flight(pipeline_case(Schedule::one_f_one_b, p, 1, 8 * p), 0);
      const Fraction more = in_flight(pipeline_case(Schedule::interleaved, p, v, 8 * p), 0);
      CHECK(more == plain * textbook::interleave_factor(p, v));
    }
}

namespace {

/// Korthikanti's block: MHA, an MLP of width 4 h, dropout everywhere, unfused attention, 16 bits.
ClusterCase korthikanti_case(Count tp, bool sp, Recompute r, Count v) {
  ClusterCase c{{}, {}, {.tp = tp, .sp = sp, .pp = 4, .chunks = v}, any_links};
  c.layout.schedule = v > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
  c.arch = even();
  c.arch.mlp = MlpKind::plain;
  c.arch.norm = NormKind::layer_norm;
  c.arch.layers = 24;
  c.arch.kv_heads = c.arch.heads = 8;
  c.arch.mlp_width = 4 * 64;
  for (int i = 0; i < 4 * v; ++i) c.layout.stage_layers.push(24 / (4 * v));
  c.plan.seq = 32;
  c.plan.micro_batch = 2;
  c.plan.global_batch = 2 * 16;
  c.plan.recompute = r;
  c.plan.attention = AttentionImpl::naive;
  c.plan.softmax_store = SoftmaxStore::seed;
  c.plan.norm_stats = false;
  c.plan.dropout = true;
  return c;
}

}  // namespace

TEST_CASE("the first stage saves Korthikanti's bytes per layer for every micro-batch in flight", "[cluster][memory]") {
  // arXiv:2205.05198, Table 2 and section 4.2.3, plus token ids and the masks of the embedding's dropout (4.3)
  for (const auto& [tp, sp] : {std::pair{1, false}, {4, false}, {4, true}})
    for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full})
      for (const Count v : {1, 2, 3}) {
        const ClusterCase c = korthikanti_case(tp, sp, r, v);
        const Stages s = stages(c);
        const textbook::KorthikantiLayer layer{
            .seq = 32, .batch = 2, .hidden = 64, .heads = 8, .tensor_parallel = tp, .sequence_parallel = sp};
        const Count tokens = 2 * 32;
        INFO(text_of(c.layout) << " " << name(r));
        const Bytes embedding = s.prices.embedding().alive.saved;
        CHECK(embedding == Bytes(8 * tokens + tokens * 64 / (sp ? tp : 1)));
        // The embedding's chunk has P micro-batches in flight in 1F1B, and at most 2 P if interleaved, since P more
        // have passed it by then.
        CHECK(s.all[0].memory.activations ==
              textbook::korthikanti_first_stage(layer, 24, 4, v, r).bytes() + (v > 1 ? 8 : 4) * embedding);
      }
}
