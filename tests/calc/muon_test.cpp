// Muon: one state for the matrices of blocks and two for all other parameters, FLOPs per iteration from the dimensions
// of every matrix, and their division across ranks.

#include "calc/training/muon.hpp"

#include "calc/parameters.hpp"
#include "calc/textbook/muon.hpp"
#include "calc/train.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Plan muon(Count micro_batches = 1) {
  Plan p;
  p.seq = 64;
  p.global_batch = micro_batches;
  p.optimizer = Optimizer::muon;
  return p;
}
Plan adam() {
  Plan p = muon();
  p.optimizer = Optimizer::adam;
  return p;
}

/// `count` matrices of m x n, m <= n, in each of `layers` layers.
struct Sides {
  Count layers, count, m, n;
};
using Model = std::vector<Sides>;
Count numbers(const Model& all) {
  Count sum = 0;
  for (const Sides& s : all) sum += s.layers * s.count * s.m * s.n;
  return sum;
}
/// Three matmuls per iteration: X X' and B X cost 2 m^2 n FLOPs each, and A A costs 2 m^3.
Flops iterated(const Model& all, Count iterations = 5) {
  Int128 sum = 0;
  for (const auto& [layers, count, m, n] : all) {
    const auto x = static_cast<Int128>(m), y = static_cast<Int128>(n);
    sum += static_cast<Int128>(layers * count) * (2 * x * x * y + 2 * x * x * x + 2 * x * x * y);
  }
  return Flops(static_cast<Int128>(iterations) * sum);
}

const Model gpt3_matrices{{96, 4, 12288, 12288}, {96, 2, 12288, 49152}};
const Model llama8_matrices{{32, 2, 4096, 4096}, {32, 2, 1024, 4096}, {32, 3, 4096, 14336}};
const Model llama405_matrices{{126, 2, 16384, 16384}, {126, 2, 1024, 16384}, {126, 3, 16384, 53248}};
const Model mixtral_matrices{{32, 2, 4096, 4096}, {32, 2, 1024, 4096}, {32, 1, 8, 4096}, {32, 8 * 3, 4096, 14336}};
/// 61 layers, 58 with 256 experts and one shared expert, of width 2048 (arXiv:2412.19437, 4.2).
const Model deepseek_matrices{{61, 1, 1536, 7168},     {61, 1, 1536, 128 * 192},  {61, 1, 512 + 64, 7168},
                              {61, 1, 512, 128 * 256}, {61, 1, 7168, 128 * 128},  {3, 3, 7168, 18432},
                              {58, 1, 256, 7168},      {58, 256 * 3, 2048, 7168}, {58, 3, 2048, 7168}};

Arch deepseek_v3() {
  Arch a = even_latent();
  a.layers = 61;
  a.hidden = a.embedding_width = 7168;
  a.vocabulary = 129280;
  a.heads = a.kv_heads = 128;
  a.latent = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128};
  a.mlp_width = 18432;
  a.moe = {.experts = 256, .top_k = 8, .width = 2048, .shared_experts = 1, .shared_width = 2048, .layers = {}};
  for (Count i = 3; i < 61; ++i) a.moe.layers.insert(i);
  return a;
}

struct Known {
  const char* name;
  Arch arch;
  Model matrices;
};
std::vector<Known> known() {
  return {{"GPT-3", gpt3_175b(), gpt3_matrices},
          {"Llama-3.1-8B", llama31_8b(), llama8_matrices},
          {"Llama-3.1-405B", llama31_405b(), llama405_matrices},
          {"Mixtral-8x7B", mixtral_8x7b(), mixtral_matrices},
          {"DeepSeek-V3", deepseek_v3(), deepseek_matrices}};
}

/// A cluster on which only matmuls take time.
const Cluster computing = device(1e12, 1e30, 1e30);
double compute_of(const Arch& a, const Plan& p, const Layout& l = {}) {
  return train(a, p, l, computing).bound[Part::optimizer].value;
}
double seconds(Flops f) { return static_cast<double>(f.value) / 1e12; }

}  // namespace

TEST_CASE("Muon keeps one state per parameter in block matrices and two per other parameter", "[muon]") {
  for (const auto& [name, arch, matrices] : known()) {
    INFO(name);
    const Count all = parameters(arch).total, held = numbers(matrices), rest = all - held;
    const States s = training_states(arch, muon());
    CHECK(s.optimizer == Bytes(4 * all + 4 * held + 8 * rest));  // master copy, momentum, two moments
    Plan bare = muon();
    bare.master = false;
    bare.state_precision = dtypes::bf16;
    CHECK(training_states(arch, bare).optimizer == Bytes(2 * held + 4 * rest));
    CHECK(training_states(arch, adam()).optimizer - s.optimizer == Bytes(4 * held));
    CHECK(textbook::adamw_parameters(arch) == rest);
  }
  // Llama-3.1-8B: 8,030,261,248 parameters; the blocks' matrices are 32 layers of 13 x 4096^2.
  CHECK(numbers(llama8_matrices) == Count{32} * 13 * 4096 * 4096);
  CHECK(training_states(llama31_8b(), muon()).optimizer ==
        Bytes(4 * 8'030'261'248 + 4 * 6'979'321'856 + 8 * Count{1'050'939'392}));
}

TEST_CASE("a Newton-Schulz iteration consists of three matmuls per matrix", "[muon]") {
  for (const auto& [name, arch, matrices] : known()) {
    INFO(name);
    CHECK(update_flops(arch, muon()) == iterated(matrices));
    CHECK(textbook::newton_schulz_flops(arch, 5) == iterated(matrices));
    Plan ten = muon();
    ten.newton_schulz_steps = 10;  // as in DeepSeek-V4
    CHECK(update_flops(arch, ten) == 2 * iterated(matrices));
    CHECK(update_flops(arch, adam()) == Flops());
  }
  // GPT-3: 4 x 6 D^3 of square matrices and 2 x (16 + 2) D^3 of an MLP four times as wide, in 96 layers, 5 times.
  CHECK(iterated(gpt3_matrices) == flops(5 * 96 * 60, 12288, 12288, 12288));
}

TEST_CASE("engine and textbook agree on Muon for every kind of block", "[muon][textbook]") {
  for (const Arch& a : {prime_gqa(), prime_gated(), prime_moe(), prime_latent(), even(), even_moe(), even_latent(),
                        tiny_gpt(), tiny_llama(), tiny_moe(), tiny_latent()}) {
    CHECK(update_flops(a, muon()) == textbook::newton_schulz_flops(a, 5));
    const Count all = parameters(a).total;
    CHECK(training_states(a, muon()).optimizer == Bytes(4 * all + 4 * (all + textbook::adamw_parameters(a))));
  }
}

TEST_CASE("an optimizer's matmuls do not count as model FLOPs", "[muon]") {
  for (const Arch& a : {even(), even_moe(), even_latent()}) {
    const TrainingFlops with = training_flops(a, muon()), without = training_flops(a, adam());
    CHECK(with.model_total == without.model_total);
    CHECK(with.executed == without.executed);
  }
}

TEST_CASE("a Newton-Schulz iteration takes the longer of its compute and its memory time", "[muon]") {
  const Matrices one{3, 64, 128};
  const Cost c = newton_schulz(one, 5);
  CHECK(c.executed == iterated({{1, 3, 64, 128}}));
  CHECK(c.model == Flops());
  // Per iteration X is read twice and written once, A and B are each written once and read once, in two bytes.
  CHECK(c.moved.total() == 2 * 5 * 3 * (3 * 64 * 128 + 4 * 64 * 64));
  CHECK(newton_schulz({3, 128, 64}, 5).executed == c.executed);

  CHECK(compute_of(even(), muon()) == Approx(seconds(update_flops(even(), muon()))));
  CHECK(compute_of(even(), muon(7)) == compute_of(even(), muon()));  // once per step
  const Cluster moving = device(1e30, 1e12, 1e30);
  const auto moved = [&](const Plan& p) { return train(even(), p, {}, moving).bound[Part::optimizer].value; };
  // Per layer: q and out 64 x 128, k and v 64 x 64, three matrices of 64 x 128; and the optimizer's pass over its
  // states.
  const double bytes = 3 * (newton_schulz({5, 64, 128}, 5).moved.total() + newton_schulz({2, 64, 64}, 5).moved.total());
  const double pass = static_cast<double>(optimizer_traffic(training_states(even(), muon()), muon()).value);
  CHECK(moved(muon()) == Approx((bytes + pass) / 1e12));
}

TEST_CASE("Muon's matmuls run in bf16 even if the blocks' matmuls run in fp8", "[muon]") {
  Cluster c = computing;
  c.device.peaks[static_cast<std::size_t>(Peak::fp8)] = FlopsPerSecond(2e12);
  Plan narrow = muon();
  narrow.precision = *dtype("fp8");
  CHECK(train(even(), narrow, {}, c).bound[Part::optimizer] == train(even(), muon(), {}, c).bound[Part::optimizer]);
}

TEST_CASE("ranks with sharded optimizer states distribute whole matrices among themselves", "[muon]") {
  const double all = compute_of(even(), muon());
  const double largest = seconds(iterated({{1, 1, 64, 128}}));
  for (const Count d : {1, 2, 4, 8}) {
    const Layout l{.dp = d, .zero = Zero::optimizer};
    CHECK(compute_of(even(), muon(d), l) == Approx(std::max(all / static_cast<double>(d), largest)));
    CHECK(compute_of(even(), muon(d), {.dp = d}) == Approx(all));  // every rank has all states
  }
  CHECK(compute_of(even(), muon(1024), {.dp = 1024, .zero = Zero::weights}) == Approx(largest));
  // 8 experts on 4 ranks: each rank has 2. On 2 x 4 ranks two ranks hold the same experts and divide them.
  const Count layers = 3;
  const Flops own = iterated({{layers, 2, 64, 128}, {layers, 2, 64, 64}, {layers, 1, 8, 64}, {layers, 3, 16, 64}});
  const Flops experts = iterated({{layers, 8 * 3, 32, 64}});
  CHECK(compute_of(even_moe(), muon()) == Approx(seconds(own + experts)));
  CHECK(compute_of(even_moe(), muon(4), {.ep = 4, .dp = 4}) == Approx(seconds(own) + seconds(experts) / 4));
  CHECK(compute_of(even_moe(), muon(8), {.ep = 4, .dp = 8, .zero = Zero::optimizer}) ==
        Approx(seconds(own) / 8 + seconds(experts) / 8));
}

TEST_CASE("tensor-parallel ranks gather sharded matrices and all compute the same update", "[muon]") {
  // Bytes, as seconds on a link of one byte per second with all other times zero, minus the bytes of the same step with
  // Adam.
  const auto gathered = [](const Arch& a, const Layout& l, Part part) {
    const Cluster slow = device(1e30, 1e30, 1);
    Plan m = muon(l.dp), without = adam();
    without.global_batch = l.dp;
    return train(a, m, l, slow).bound[part].value - train(a, without, l, slow).bound[part].value;
  };
  for (const bool sp : {false, true}) {
    const Layout two{.tp = 2, .sp = sp};
    CHECK(compute_of(even(), muon(), two) == Approx(compute_of(even(), muon())));
    const double cut = 3 * (5 * 64 * 128 + 2 * 64 * 64);
    CHECK(gathered(even(), two, Part::tp) == Approx(0.5 * 2 * cut));
    // With states sharded by 4 a rank gathers a quarter of the matrices.
    CHECK(gathered(even(), {.tp = 2, .sp = sp, .dp = 4, .zero = Zero::optimizer}, Part::tp) ==
          Approx(0.5 * 2 * cut / 4));
  }
  // Replicated matrices are not gathered: the projections to the latent ranks.
  const double whole = 64 * 24 + 64 * (32 + 8);
  const double of_latent = 3 * (24 * 16 * 24 + 32 * 16 * 32 + 16 * 16 * 64 + 3 * 64 * 128);
  CHECK(static_cast<double>(training_states(even_latent(), muon()).parameters) > of_latent + 3 * whole);
  CHECK(gathered(even_latent(), {.tp = 2}, Part::tp) == Approx(0.5 * 2 * of_latent));
  // Ranks with sharded states gather the momentum of all matrices that they hold.
  const double matrices = 3 * (5 * 64 * 128 + 2 * 64 * 64);
  CHECK(gathered(even(), {.dp = 4, .zero = Zero::optimizer}, Part::dp) == Approx(0.75 * 2 * matrices));
  CHECK(gathered(even(), {.dp = 4}, Part::dp) == 0);
}

TEST_CASE("Muon's states are sharded separately for its two kinds of parameters", "[muon]") {
  Cases cases(41);
  for (int i = 0; i < 200; ++i) {
    const ClusterCase c = cases.any();
    INFO(text_of(c.layout));
    const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
    const Partition parts = partition(prices, c.plan, c.layout, c.cluster);
    const auto with = [&](Optimizer o) {
      Plan p = c.plan;
      p.optimizer = o;
      return p;
    };
    const auto held = [&](Optimizer o) {
      return stage(prices, with(o), c.layout, parts, ranks(c.layout, Group::pipeline) - 1).memory;
    };
    const Memory two = held(Optimizer::adam), m = held(Optimizer::muon), one = held(Optimizer::momentum);
    CHECK(one.optimizer <= m.optimizer);
    CHECK(m.optimizer < two.optimizer);
    CHECK(m.total - m.optimizer == two.total - two.optimizer);
    const auto step = [&](Optimizer o) { return train(c.arch, with(o), c.layout, c.cluster).bound.total(); };
    CHECK(step(Optimizer::muon) >= step(Optimizer::momentum));
  }
  for (const Count d : {1, 3, 5, 7})
    for (const Arch& a : {even(), even_moe()}) {
      const Layout l{.dp = d, .zero = Zero::optimizer};
      const Count all = parameters(a).total, rest = textbook::adamw_parameters(a);
      CHECK(training_states(a, muon(d), l).optimizer ==
            Bytes(4 * ceil_div(all, d) + 4 * (ceil_div(all, d) + ceil_div(rest, d))));
    }
}

TEST_CASE("Muon updates adapters as matrices", "[muon][lora]") {
  Plan p = muon();
  p.lora_rank = 4;
  p.lora_targets = LoraTarget::q;
  // Per layer 64 x 4 and 4 x 128.
  CHECK(update_flops(even(), p) == iterated({{3, 1, 4, 64}, {3, 1, 4, 128}}));
  const States s = training_states(even(), p);
  CHECK(s.trained == 3 * 4 * (64 + 128));
  CHECK(s.optimizer == Bytes((4 + 4) * s.trained));
}
