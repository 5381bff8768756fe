/// One full estimate: the price of a query once the program runs, and of one plan in a search over plans.
///
/// Goals, on one core of a current server, release build:
///   time         of Llama-3.1 405B: train() 4 microseconds, infer() 5, assemble() 600 ns; printed, never judged
///   allocations  0 in each; anything else ends the program with 1

#include <benchmark/benchmark.h>

#include <iostream>

#include "bench/allocations.hpp"
#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"

namespace llmcalc::bench {
namespace {

/// H100 SXM with measured fractions, so that the bound and the estimate are both priced; eight to a node.
Cluster h100() {
  Device d;
  d.memory = Bytes(Count{80} << 30);
  d.bandwidth = BytesPerSecond(3.35e12);
  d.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(989.4e12);
  d.achieved.present = true;
  d.achieved.matmul = for_each_format(0.7);
  d.achieved.memory = 0.9;
  d.achieved.links.inside = d.achieved.links.between = 0.8;
  return cluster(d, {.ranks = 8, .bandwidth = BytesPerSecond(450e9)});
}

Plan plan() {
  Plan p;
  p.seq = 8192;
  p.global_batch = 16;
  return p;
}

Layout layout(Count ranks) { return {.tp = ranks, .sp = ranks > 1}; }

bool allocated = false;

/// Runs f() over and over; an allocation in it is remembered.
template <typename F>
void measure(benchmark::State& state, const F& f) {
  std::int64_t taken = 0;
  for (auto _ : state) {
    const std::int64_t before = allocations();
    benchmark::DoNotOptimize(f());
    taken += allocations() - before;
  }
  allocated = allocated || taken != 0;
  state.counters["allocations"] = static_cast<double>(taken);
}

// range(0) is the number of tensor-parallel ranks.

void training(benchmark::State& state) {
  const Arch arch = test::llama31_405b();
  const Plan p = plan();
  const Layout l = layout(state.range(0));
  const Cluster c = h100();
  measure(state, [&] { return train(arch, p, l, c); });
}
void inference(benchmark::State& state) {
  const Arch arch = test::llama31_405b();
  const Plan p = plan();
  const Layout l = layout(state.range(0));
  const Cluster c = h100();
  measure(state, [&] { return infer(arch, p, l, c); });
}
/// A training estimate from rows that are priced already: what a search does for every further plan.
void assembling(benchmark::State& state) {
  const Plan p = plan();
  const Layout l = layout(state.range(0));
  const Cluster c = h100();
  const Prices prices = price(test::llama31_405b(), p, l, c.device);
  measure(state, [&] { return assemble(prices, p, l, c); });
}

BENCHMARK(assembling)->Arg(1)->Arg(8)->ArgName("tp")->Unit(benchmark::kNanosecond);
BENCHMARK(training)->Arg(1)->Arg(8)->ArgName("tp")->Unit(benchmark::kMicrosecond);
BENCHMARK(inference)->Arg(1)->Arg(8)->ArgName("tp")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace llmcalc::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
  std::cerr << "goals: training 4 us, inference 5 us, assembling 600 ns; 0 allocations\n";
  if (llmcalc::bench::allocated) std::cerr << "an estimate allocated memory: the hot path must not\n";
  return ran == 0 || llmcalc::bench::allocated ? 1 : 0;
}
