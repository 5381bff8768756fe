/// Benchmarks of one full estimate, which is the cost of a query in a running program or of one plan in a search.
///
/// Goals, on one core of a current server, release build:
///   time         of Llama-3.1 405B: train() 4 microseconds, infer() 5, assemble() 600 ns; printed, not enforced
///   software     with a software profile's rates, at most twice the time of the bound; printed, not enforced
///   allocations  0 in each; otherwise the program exits with 1

#include <benchmark/benchmark.h>

#include <iostream>

#include "bench/allocations.hpp"
#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"

namespace llmcalc::bench {
namespace {

/// An H100 SXM cluster, eight GPUs per node, with measured fractions of peak so that both bound and estimate are
/// priced.
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

/// Runs f() repeatedly and records whether it allocates.
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

/// A device with every rate and software term that a profile can set.
Cluster h100_under_software() {
  Cluster c = h100();
  Achieved& a = c.device.achieved;
  a.present = true;
  a.matmul = for_each_format(0.6);
  a.memory = 0.8;
  a.exposed = for_each_format(0.5);
  a.flash = for_each_format(CoreRates{FlopsPerSecond(4e14), FlopsPerSecond(3e14)});
  a.launch = a.recorded = a.launch_backward = a.recorded_backward = Seconds(2e-6);
  a.links = {.inside = 0.8,
             .between = 0.7,
             .round_inside = Seconds(1e-6),
             .round_between = Seconds(5e-6),
             .start = Seconds(8e-6),
             .trees = true};
  a.software = {
      .elementwise = 1.2, .norm = 1.2, .kernel = Seconds(5e-6), .collective = Seconds(5e-6), .step = Seconds(1e-3)};
  return c;
}

// range(0): number of tensor-parallel ranks; range(1): 1 prices the estimate with software in addition to the bound.
Cluster cluster_of(const benchmark::State& state) { return state.range(1) == 1 ? h100_under_software() : h100(); }

void training(benchmark::State& state) {
  const Arch arch = test::llama31_405b();
  const Plan p = plan();
  const Layout l = layout(state.range(0));
  const Cluster c = cluster_of(state);
  measure(state, [&] { return train(arch, p, l, c); });
}
void inference(benchmark::State& state) {
  const Arch arch = test::llama31_405b();
  const Plan p = plan();
  const Layout l = layout(state.range(0));
  const Cluster c = cluster_of(state);
  measure(state, [&] { return infer(arch, p, l, c); });
}
/// A training estimate from priced rows: the work that a search does for each additional plan.
void assembling(benchmark::State& state) {
  const Plan p = plan();
  const Layout l = layout(state.range(0));
  const Cluster c = h100();
  const Prices prices = price(test::llama31_405b(), p, l, c.device);
  measure(state, [&] { return assemble(prices, p, l, c); });
}

BENCHMARK(assembling)->Arg(1)->Arg(8)->ArgName("tp")->Unit(benchmark::kNanosecond);
BENCHMARK(training)->ArgsProduct({{1, 8}, {0, 1}})->ArgNames({"tp", "software"})->Unit(benchmark::kMicrosecond);
BENCHMARK(inference)->ArgsProduct({{1, 8}, {0, 1}})->ArgNames({"tp", "software"})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace llmcalc::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
  std::cerr << "goals: training 4 us, inference 5 us, assembling 600 ns; with software twice that; 0 allocations\n";
  if (llmcalc::bench::allocated) std::cerr << "an estimate allocated memory, which the hot path must not do\n";
  return ran == 0 || llmcalc::bench::allocated ? 1 : 0;
}
