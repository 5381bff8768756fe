/// One full estimate: the price of a query once the program runs, and of one plan in a search over plans.
///
/// Goals, on one core of a current server, release build:
///   time         train() and infer() of Llama-3.1 405B under 10 microseconds each; printed, never judged
///   allocations  0 in train() and infer(); anything else ends the program with 1

#include <benchmark/benchmark.h>

#include <iostream>

#include "bench/allocations.hpp"
#include "calc/infer.hpp"
#include "calc/train.hpp"

namespace llmcalc::bench {
namespace {

/// Llama-3.1 405B (arXiv:2407.21783, table 3).
Arch llama_405b() {
  Arch a;
  a.layers = 126, a.hidden = a.embedding_width = 16384, a.vocabulary = 128256, a.context = 131072;
  a.heads = 128, a.kv_heads = 8, a.head_dim = 128;
  a.mlp = MlpKind::gated, a.activation = Activation::silu, a.mlp_width = 53248;
  a.norm = NormKind::rms_norm;
  return a;
}

/// H100 SXM with measured fractions, so that the bound and the estimate are both priced.
Device h100() {
  Device d;
  d.memory = Bytes(Count{80} << 30), d.bandwidth = BytesPerSecond(3.35e12);
  d.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(989.4e12);
  d.link.ranks = 8, d.link.bandwidth = BytesPerSecond(450e9);
  d.achieved.present = true, d.achieved.matmul = for_each_format(0.7), d.achieved.memory = 0.9, d.achieved.link = 0.8;
  return d;
}

Plan plan(Count ranks) {
  Plan p;
  p.seq = 8192, p.global_batch = 16, p.tp = ranks, p.gpus = ranks, p.sp = ranks > 1;
  return p;
}

bool allocated = false;

/// Runs estimate(arch, plan, device) over and over; range(0) is the number of tensor-parallel ranks.
template <typename Estimate>
void measure(benchmark::State& state, Estimate estimate) {
  const Arch arch = llama_405b();
  const Plan p = plan(state.range(0));
  const Device device = h100();
  std::int64_t taken = 0;
  for (auto _ : state) {
    const std::int64_t before = allocations();
    benchmark::DoNotOptimize(estimate(arch, p, device));
    taken += allocations() - before;
  }
  allocated = allocated || taken != 0;
  state.counters["allocations"] = static_cast<double>(taken);
}

void training(benchmark::State& state) { measure(state, train); }
void inference(benchmark::State& state) { measure(state, infer); }

BENCHMARK(training)->Arg(1)->Arg(8)->ArgName("tp")->Unit(benchmark::kMicrosecond);
BENCHMARK(inference)->Arg(1)->Arg(8)->ArgName("tp")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace llmcalc::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
  std::cerr << "goal: under 10 us each, 0 allocations\n";
  if (llmcalc::bench::allocated) std::cerr << "an estimate allocated memory: the hot path must not\n";
  return ran == 0 || llmcalc::bench::allocated ? 1 : 0;
}
