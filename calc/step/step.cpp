// Assembles a training step from rows: its stages, their pipeline, and the end of the step.

#include "calc/step/step_clock.hpp"
#include "calc/step/step_parts.hpp"

namespace llmcalc {
namespace {

/// Seconds by part of a step, with their components, for several clocks of one layout, whose pipelines are simulated
/// together.
template <std::size_t n>
std::array<Spent, n> run_clocks(const std::array<StepClock*, n>& clocks, StepWorkspace& room,
                                std::array<StepParts, n>& parts) {
  std::array<Spent, n> all;
  const Pipeline& p = clocks[0]->pipeline();
  for (StepClock* clock : clocks) clock->price_chunks();
  if (p.ranks == 1) {
    for (std::size_t i = 0; i < n; ++i) all[i] = clocks[i]->run_alone(parts[i]);
    return all;
  }
  std::array<PipelineTimes, 2 * n> times;
  for (std::size_t i = 0; i < n; ++i) {
    times[2 * i] = clocks[i]->times();
    times[2 * i + 1] = clocks[i]->unsent();
  }
  const auto m = makespans<2 * n>(p, times, room.pipeline);
  for (std::size_t i = 0; i < n; ++i) all[i] = clocks[i]->run(m[2 * i], step_of(p, m[2 * i + 1]), parts[i]);
  return all;
}

}  // namespace

Time limits(const StepTime& t) {
  return {.compute = t.compute,
          .memory = t.memory,
          .communication = t[Part::tp] + t[Part::cp] + t[Part::ep] + t[Part::dp] + t[Part::pp] + t[Part::offload],
          .latency = t[Part::host]};
}

Pipeline pipeline_of(const Plan& plan, const Layout& layout) {
  const Count stages = ranks(layout, Group::pipeline);
  if (stages == 1) return {.micro_batches = micro_batches(plan, layout)};
  return {.schedule = layout.schedule,
          .ranks = stages,
          .chunks = layout.chunks,
          .micro_batches = micro_batches(plan, layout)};
}

RowCosts row_costs(const Prices& prices, const Plan& plan, const Layout& layout, const RowTimes& rows) {
  const Pipeline p = pipeline_of(plan, layout);
  return p.ranks == 1 ? RowCosts{} : row_costs(prices, rows, layout, micro_batches_per_direction(p));
}

Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const RowCosts& costs) {
  if (!layout.stage_layers.empty()) return stated({layout.stage_layers.begin(), layout.stage_layers.size()});
  return balanced(prices.kinds, costs, pipeline_of(plan, layout));
}

Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const RowTimes& rows) {
  return partition(prices, plan, layout, row_costs(prices, plan, layout, rows));
}

Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  if (cluster.device.bandwidth.value > 0)
    return partition(prices, plan, layout, row_times(prices, plan, layout, cluster, leading(prices)));
  return partition(prices, plan, layout, row_costs(prices));
}

BothStepTimes both_steps(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                         const Partition& partition, const RowTimes& bound, const RowTimes& estimate,
                         StepWorkspace& room) {
  StepClock full(prices, plan, layout, cluster, partition, bound, Efficiency::full, room);
  if (!prices.estimated) {
    std::array<StepParts, 1> unused;
    const Spent all = run_clocks<1>({&full}, room, unused)[0];
    return {all, all};
  }
  StepClock estimated(prices, plan, layout, cluster, partition, estimate, Efficiency::estimated, room);
  std::array<StepParts, 2> unused;
  const auto [at_bound, at_estimate] = run_clocks<2>({&full, &estimated}, room, unused);
  return {at_bound, at_estimate};
}

StepParts step_parts(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepWorkspace& room) {
  StepClock clock(prices, plan, layout, cluster, partition, rows, e, room);
  std::array<StepParts, 1> parts;
  run_clocks<1>({&clock}, room, parts);
  clock.put_work(parts[0]);
  return parts[0];
}

Seconds step_seconds(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepWorkspace& room) {
  StepClock clock(prices, plan, layout, cluster, partition, rows, e, room);
  StepParts unused;
  clock.price_chunks();
  if (clock.pipeline().ranks == 1) return clock.run_alone(unused).total();
  return clock.seconds(makespan(clock.pipeline(), clock.times(), room.pipeline));
}

TrainEstimate assemble(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                       StepWorkspace& room) {
  TrainEstimate e;
  e.estimated = prices.estimated;
  e.tokens = mul(plan.global_batch, plan.seq);
  const RowTimes rows = row_times(prices, plan, layout, cluster, Efficiency::full);
  const RowTimes used = e.estimated ? row_times(prices, plan, layout, cluster, Efficiency::estimated) : rows;
  e.partition = partition(prices, plan, layout, used);
  const Stage s = fullest_stage(prices, plan, layout, e.partition, cluster.device.achieved.overhead);
  e.flops = training_flops(prices, plan, e.partition);
  e.memory = s.memory;
  e.fullest = s.rank;
  e.host = most_on_host(prices, plan, layout, e.partition);
  const BothStepTimes times = both_steps(prices, plan, layout, cluster, e.partition, rows, used, room);
  e.bound = times.bound;
  e.estimate = times.estimate;
  return e;
}

TrainEstimate assemble(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  StepWorkspace room;
  return assemble(prices, plan, layout, cluster, room);
}

TrainEstimate train(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  return assemble(price(arch, plan, layout, cluster.device), plan, layout, cluster);
}

}  // namespace llmcalc
