/// Benchmarks of one full estimate: the cost of a query in a running program, or of one plan in a search.
///
/// Goals, on one core of a current server, release build:
///   instructions  20,000 for a training estimate of one rank, 30,000 with tensor parallelism, 60,000 with any layout
///                 (bench/estimate-instructions counts them); printed, not enforced
///   software      with a software profile's rates, at most twice the time without them; printed, not enforced
///   allocations   0 in each estimate; otherwise the program exits with 1

#include <benchmark/benchmark.h>

#include <iostream>
#include <string>
#include <vector>

#include "bench/allocations.hpp"
#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "presets/load.hpp"

namespace llmcalc::bench {
namespace {

/// H100 SXM with measured fractions of peak, so that both bound and estimate are computed. Eight per node, with a
/// network between nodes.
Cluster h100() {
  Device d;
  d.memory = Bytes(Count{80} << 30);
  d.bandwidth = BytesPerSecond(3.35e12);
  d.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(989.4e12);
  d.achieved.present = true;
  d.achieved.matmul = for_each_format(0.7);
  d.achieved.memory = 0.9;
  d.achieved.links.inside = d.achieved.links.between = 0.8;
  Cluster c = cluster(d, {.ranks = 8, .bandwidth = BytesPerSecond(450e9)});
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(50e9), .latency = Seconds(2e-6)});
  return c;
}

/// An estimate to measure: a model and its run.
struct Row {
  const char* name;
  const char* model;  ///< name of a preset
  Count seq, batch;   ///< tokens per sequence; sequences per step, or per batch of inference
  Layout layout;
};

Layout piped(Layout l, Count stages, Count chunks) {
  l.pp = stages;
  l.chunks = chunks;
  l.schedule = chunks > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
  return l;
}

/// First layouts without a pipeline, then complete layouts. "v" in a name: chunks per pipeline rank.
const std::vector<Row>& training_rows() {
  static const std::vector<Row> rows{
      {"405b", "llama-3.1-405b", 8192, 16, {}},
      {"405b_tp8", "llama-3.1-405b", 8192, 16, {.tp = 8, .sp = true}},
      {"8b_dp64_zero3", "llama-3.1-8b", 8192, 128, {.dp = 64, .zero = Zero::weights}},
      {"70b_tp8_pp4_dp8", "llama-3.1-70b", 8192, 256, piped({.tp = 8, .sp = true, .dp = 8}, 4, 1)},
      {"gpt3_tp8_pp8_v2_dp16", "gpt-3-175b", 2048, 1536, piped({.tp = 8, .dp = 16}, 8, 2)},
      {"405b_tp8_pp16_v4_dp128", "llama-3.1-405b", 8192, 2048,
       piped({.tp = 8, .sp = true, .dp = 128, .zero = Zero::optimizer}, 16, 4)},
      {"405b_tp8_cp2_pp8_v8_dp16", "llama-3.1-405b", 8192, 1024,
       piped({.tp = 8, .sp = true, .cp = 2, .dp = 16, .zero = Zero::optimizer}, 8, 8)},
      {"mixtral_ep8_pp4_dp16", "mixtral-8x7b", 4096, 512, piped({.ep = 8, .dp = 16}, 4, 1)},
      {"deepseek-v3_ep64_pp16_dp64", "deepseek-v3", 4096, 1024, piped({.ep = 64, .dp = 64}, 16, 1)},
      {"gpt-oss-120b_ep8_pp4_dp8", "gpt-oss-120b", 8192, 256, piped({.ep = 8, .dp = 8}, 4, 1)},
      {"gemma-3-27b_tp8_pp2_dp8", "gemma-3-27b", 8192, 256, piped({.tp = 8, .sp = true, .dp = 8}, 2, 1)}};
  return rows;
}

const std::vector<Row>& inference_rows() {
  static const std::vector<Row> rows{{"405b", "llama-3.1-405b", 8192, 1, {}},
                                     {"405b_tp8", "llama-3.1-405b", 8192, 1, {.tp = 8}},
                                     {"deepseek-v3_tp8", "deepseek-v3", 8192, 1, {.tp = 8}}};
  return rows;
}

/// Input of the estimate for a row.
struct Subject {
  Arch arch;
  Plan plan;
  Layout layout;
  Cluster cluster;
};

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

Subject subject(const Row& row, bool software) {
  Subject s{load_model(row.model).arch, {}, row.layout, software ? h100_under_software() : h100()};
  s.plan.seq = row.seq;
  s.plan.global_batch = s.plan.batch = row.batch;
  return s;
}

bool allocated = false;

/// Runs f() repeatedly and records its allocations.
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

/// The measured functions. They are not inlined, so callgrind finds them by name.
[[gnu::noinline]] TrainEstimate training(const Subject& s, StepWorkspace& room) {
  return assemble(price(s.arch, s.plan, s.layout, s.cluster.device), s.plan, s.layout, s.cluster, room);
}
[[gnu::noinline]] InferEstimate inference(const Subject& s) { return infer(s.arch, s.plan, s.layout, s.cluster); }
/// A training estimate from rows that are already priced: the work that a search does for each additional plan.
[[gnu::noinline]] TrainEstimate assembling(const Subject& s, const Prices& prices, StepWorkspace& room) {
  return assemble(prices, s.plan, s.layout, s.cluster, room);
}

void add_training(const Row& row, bool software) {
  const std::string name = std::string("training/") + row.name + (software ? "/software" : "");
  benchmark::RegisterBenchmark(name.c_str(), [&row, software](benchmark::State& state) {
    const Subject s = subject(row, software);
    StepWorkspace room;
    assemble(price(s.arch, s.plan, s.layout, s.cluster.device), s.plan, s.layout, s.cluster, room);  // untimed warm-up
    measure(state, [&] { return training(s, room); });
  })->Unit(benchmark::kMicrosecond);
}
void add_inference(const Row& row, bool software) {
  const std::string name = std::string("inference/") + row.name + (software ? "/software" : "");
  benchmark::RegisterBenchmark(name.c_str(), [&row, software](benchmark::State& state) {
    const Subject s = subject(row, software);
    measure(state, [&] { return inference(s); });
  })->Unit(benchmark::kMicrosecond);
}
void add_assembling(const Row& row) {
  const std::string name = std::string("assembling/") + row.name;
  benchmark::RegisterBenchmark(name.c_str(), [&row](benchmark::State& state) {
    const Subject s = subject(row, false);
    const Prices prices = price(s.arch, s.plan, s.layout, s.cluster.device);
    StepWorkspace room;
    assemble(prices, s.plan, s.layout, s.cluster, room);  // untimed warm-up
    measure(state, [&] { return assembling(s, prices, room); });
  })->Unit(benchmark::kMicrosecond);
}

void add_all() {
  for (const Row& row : training_rows()) {
    for (const bool software : {false, true}) add_training(row, software);
    add_assembling(row);
  }
  for (const Row& row : inference_rows())
    for (const bool software : {false, true}) add_inference(row, software);
}

}  // namespace
}  // namespace llmcalc::bench
int main(int argc, char** argv) {
  llmcalc::bench::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
  if (llmcalc::bench::allocated) std::cerr << "an estimate allocated memory, which the hot path must not do\n";
  return ran == 0 || llmcalc::bench::allocated ? 1 : 0;
}
