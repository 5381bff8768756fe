/// Benchmarks of a simulated server.
///
/// Goals, on one core of a current server, release build; printed, not enforced:
///   10^6 requests of 500 + 200 tokens    10 s
///   300 requests                         20 ms
///   cost grows linearly from 10^3 to 10^6 requests

#include <benchmark/benchmark.h>

#include <iostream>

#include "bench/allocations.hpp"
#include "serve/times/steady_state.hpp"
#include "tests/calc/engine_archs.hpp"

namespace llmcalc::bench {
namespace {

/// H100 SXM, with efficiencies typical of serving engines.
Cluster h100() {
  Device d;
  d.memory = Bytes(Count{80} << 30);
  d.bandwidth = BytesPerSecond(3.35e12);
  d.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(989e12);
  d.achieved.present = true;
  d.achieved.matmul = for_each_format(0.7);
  d.achieved.memory = 0.85;
  d.achieved.recorded = Seconds(1.5e-6);
  d.achieved.launch = Seconds(4e-6);
  d.achieved.software.step = Seconds(1e-3);
  Cluster c;
  c.device = d;
  return c;
}

/// An engine with capacity for 400,000 tokens.
Fleet fleet() { return {.server = {.scheduler = {.sequences = 256, .blocks = 25'000}}}; }

/// Open-loop traffic at `load` times the engine's capacity.
RequestTraffic traffic(const PassTimes& times, Count requests, double load) {
  const double capacity = steady_state(fleet(), times, {.prompt = 500, .generate = 200}).capacity;
  return open_traffic({.count = requests,
                       .interval = {.kind = Distribution::Kind::exponential, .mean = 1 / (load * capacity)},
                       .prompt = {.kind = Distribution::Kind::log_normal, .mean = 500, .spread = 0.5},
                       .generate = {.kind = Distribution::Kind::log_normal, .mean = 200, .spread = 0.5},
                       .seed = 1});
}

void serve_at(benchmark::State& state, double load) {
  const PassTimes times = pass_times(test::llama31_8b(), {}, {}, h100());
  const RequestTraffic t = traffic(times, state.range(0), load);
  ServerRun run;
  const std::int64_t before = allocations();
  for (auto _ : state) run = serve(fleet(), times, t);
  const double all = static_cast<double>(state.range(0)), taken = static_cast<double>(allocations() - before);
  state.counters["allocations/request"] = taken / static_cast<double>(state.iterations()) / all;
  state.counters["busy"] = seconds(run.busy) / seconds(run.end);
  state.counters["passes/request"] = static_cast<double>(run.passes) / all;
  state.counters["requests/s"] = benchmark::Counter(all, benchmark::Counter::kIsIterationInvariantRate);
}

void serving(benchmark::State& state) { serve_at(state, 0.8); }
void overloaded(benchmark::State& state) { serve_at(state, 1.5); }

/// Simulates a server and also prices its pass times, as the replay of a recorded run does.
void replay(benchmark::State& state) {
  const Arch arch = test::llama31_8b();
  const RequestTraffic t = traffic(pass_times(arch, {}, {}, h100()), 300, 0.8);
  for (auto _ : state) benchmark::DoNotOptimize(serve(fleet(), pass_times(arch, {}, {}, h100()), t));
}

BENCHMARK(serving)->RangeMultiplier(10)->Range(1'000, 1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(overloaded)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(replay)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace llmcalc::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
  std::cerr << "goals: 1e6 requests 10 s; replay 20 ms\n";
  return ran == 0 ? 1 : 0;
}
