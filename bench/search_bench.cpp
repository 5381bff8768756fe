/// Benchmarks of a search over all plans of a model on a cluster.
///
/// Goals, on one core of a current server, release build; printed, not enforced:
///   plans per second   10^6, counting every plan whose memory was computed and whose time was computed or bounded
///   GPT-3 175B         on 64 A100-80GB, sequence 2048, global batch 1536: in 5 s on two cores; README.md describes the
///                      part of calculon's space that is searched

#include <benchmark/benchmark.h>

#include <iostream>

#include "bench/allocations.hpp"
#include "search/search.hpp"
#include "tests/calc/engine_archs.hpp"

namespace llmcalc::bench {
namespace {

/// DeepSeek-V2's sizes (arXiv:2405.04434), with experts in all layers.
Arch experts() {
  Arch a = test::llama31_405b();
  a.layers = 60;
  a.hidden = a.embedding_width = 5120;
  a.vocabulary = 102400;
  a.attention = AttentionKind::latent;
  a.heads = a.kv_heads = 128;
  a.latent = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128};
  a.mlp_width = 0;
  a.moe = {.experts = 160,
           .top_k = 6,
           .width = 1536,
           .shared_experts = 2,
           .shared_width = 3072,
           .layers = LayerSet::all(60)};
  return a;
}

/// A100 SXM 80 GB, eight per node, 25 GB/s per device between nodes. Its fractions of peak are set, so both bound and
/// estimate are computed.
Cluster a100() {
  Device d;
  d.memory = Bytes(Count{80} << 30);
  d.bandwidth = BytesPerSecond(2.039e12);
  d.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(312e12);
  d.achieved.present = true;
  d.achieved.matmul = for_each_format(0.7);
  d.achieved.memory = 0.9;
  d.achieved.links.inside = d.achieved.links.between = 0.8;
  Cluster c;
  c.device = d;
  c.levels.push({.ranks = 8, .bandwidth = BytesPerSecond(300e9), .latency = Seconds(3e-6)});
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(25e9), .latency = Seconds(8e-6)});
  return c;
}

Space space(const Arch& arch, Count gpus, Count seq, Count global_batch) {
  Space s;
  s.arch = arch;
  s.plan.seq = seq;
  s.plan.global_batch = global_batch;
  s.cluster = a100();
  s.gpus = {gpus};
  s.blocks = powers_up_to(arch.layers / 2);  // as the search command does
  return s;
}

void run(benchmark::State& state, const Space& s) {
  SearchCounts counts;
  const std::int64_t before = allocations();
  for (auto _ : state) counts = search(s).counts;
  const auto taken = static_cast<double>(allocations() - before) / static_cast<double>(state.iterations());
  const auto assembled = static_cast<double>(counts.fit + counts.too_large);
  state.counters["plans"] = assembled;
  state.counters["allocations/plan"] = taken / assembled;
  state.counters["fit"] = static_cast<double>(counts.fit);
  state.counters["plans/s"] = benchmark::Counter(assembled, benchmark::Counter::kIsIterationInvariantRate);
}

void gpt3_64(benchmark::State& state) { run(state, space(test::gpt3_175b(), 64, 2048, 1536)); }
void gpt3_1024(benchmark::State& state) { run(state, space(test::gpt3_175b(), 1024, 2048, 1536)); }
void llama_512(benchmark::State& state) { run(state, space(test::llama31_405b(), 512, 8192, 512)); }
void experts_256(benchmark::State& state) { run(state, space(experts(), 256, 4096, 1024)); }

BENCHMARK(gpt3_64)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_1024)->Unit(benchmark::kMillisecond);
BENCHMARK(llama_512)->Unit(benchmark::kMillisecond);
BENCHMARK(experts_256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace llmcalc::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
  std::cerr << "goals: 1e6 plans/s on one core; gpt3_64 5 s on two\n";
  return ran == 0 ? 1 : 0;
}
