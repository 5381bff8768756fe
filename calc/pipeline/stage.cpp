// Stages of a pipeline: the chunks of each rank, and the rank's peak memory.

#include <algorithm>

#include "calc/pipeline/in_flight.hpp"
#include "calc/pipeline/stage_chunks.hpp"

namespace llmcalc {
namespace {

using SavedCounts = std::array<SavedCount, 2 * most_chunks>;
using SavedOfChunks = InplaceVector<ChunkSaved, most_chunks>;

/// Number of micro-batches that each local chunk holds at the rank's peak. `room`: for automatic schedules, the
/// workspace of run_automatic().
SavedCounts counts_at_worst(const Pipeline& p, Count rank, const MakespanWorkspace& room, const SavedOfChunks& saved) {
  SavedCounts counts;
  const std::span<const ChunkSaved> all(saved.begin(), saved.size());
  const std::span<SavedCount> lent(counts.data(), 2 * static_cast<std::size_t>(p.chunks));
  if (automatic(p.schedule))
    most_saved(p, room.slots(rank), all, lent);
  else
    most_saved(p, rank, all, lent);
  return counts;
}

/// The chunks of a rank, and the activations of one micro-batch in each.
struct HeldChunks {
  InplaceVector<ChunkInFlight, most_chunks> chunks;
  InplaceVector<ChunkAlive, most_chunks> alive;
};
HeldChunks held_chunks(const Prices& prices, const Plan& plan, const Pipeline& p, const Partition& partition,
                       Count rank, const MakespanWorkspace& room) {
  HeldChunks held;
  SavedOfChunks here, on_host;
  ModelChunk before;
  for (Count i = 0; i < p.chunks; ++i) {
    const ModelChunk chunk = partition[model_chunk(p, rank, i)];
    const bool repeats = i > 0 && same_rows(prices.kinds, before, chunk);
    const ChunkAlive a = repeats ? held.alive[static_cast<std::size_t>(i) - 1] : chunk_alive(prices, plan, chunk);
    held.alive.push(a);
    before = chunk;
    // At least one byte, to count micro-batches even if all of their saved tensors are in host memory.
    here.push({std::max(Bytes(1), a.saved), a.for_weights, a.rest});
    on_host.push({a.host, {}, {}});
  }
  const bool leaves = plan.offload.activations.numerator > 0;
  const SavedCounts counts = counts_at_worst(p, rank, room, here),
                    away = leaves ? counts_at_worst(p, rank, room, on_host) : SavedCounts();
  for (Count i = 0; i < p.chunks; ++i) {
    const SavedCount& n = counts[static_cast<std::size_t>(i)];
    held.chunks.push({partition[model_chunk(p, rank, i)], n.activations, n.for_weights,
                      away[static_cast<std::size_t>(i)].activations});
  }
  return held;
}

Stage stage_with(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition, Count rank,
                 Bytes process, const MakespanWorkspace& room) {
  const HeldChunks held = held_chunks(prices, plan, pipeline_of(plan, layout), partition, rank, room);
  Stage s{.rank = rank, .layers = 0, .memory = {}};
  HeldRows rows;
  StageAlive alive;
  for (std::size_t i = 0; i < held.chunks.size(); ++i) {
    const ChunkInFlight& c = held.chunks[i];
    s.layers += c.chunk.layers();
    s.in_flight = add(s.in_flight, add(c.micro_batches, c.for_weights));
    s.for_weights = add(s.for_weights, c.for_weights);
    add(rows, prices.kinds, c.chunk);
    add(alive, held.alive[i], c.micro_batches, c.for_weights, c.on_host);
  }
  s.memory = stage_memory(prices, held_sums(prices, rows), alive, plan, layout, process);
  return s;
}

/// Whether a rank never holds more than the rank before it: its chunks have the same rows, and its order has no more
/// micro-batches in flight.
bool never_fuller(const Prices& prices, const Pipeline& p, const Partition& partition, Count rank) {
  if (p.schedule != Schedule::gpipe && !alternates(p.schedule)) return false;
  for (Count i = 0; i < p.chunks; ++i)
    if (!same_rows(prices.kinds, partition[model_chunk(p, rank - 1, i)], partition[model_chunk(p, rank, i)]))
      return false;
  return true;
}

/// The only stage of a model without a pipeline: one micro-batch at a time.
Stage whole_stage(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition,
                  Bytes process) {
  const ChunkInFlight all{partition[0]};
  return {
      .layers = all.chunk.layers(), .in_flight = 1, .memory = stage_memory(prices, plan, layout, {&all, 1}, process)};
}

}  // namespace

void run_automatic(const Pipeline& p, const Partition& partition, MakespanWorkspace& room) {
  std::vector<ChunkTime> times;
  for (Count q = 0; q < partition.size(); ++q) {
    const Seconds t(static_cast<double>(partition[q].layers()));
    times.push_back({.forward = t, .backward_input = t, .backward_weight = t});
  }
  makespan(p, {times}, room);
}

Stage stage(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition, Count rank,
            Bytes process) {
  const Pipeline p = pipeline_of(plan, layout);
  if (p.ranks == 1) return whole_stage(prices, plan, layout, partition, process);
  MakespanWorkspace room;
  if (automatic(p.schedule)) run_automatic(p, partition, room);
  return stage_with(prices, plan, layout, partition, rank, process, room);
}

Stage fullest_stage(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition,
                    Bytes process) {
  const Pipeline p = pipeline_of(plan, layout);
  if (p.ranks == 1) return whole_stage(prices, plan, layout, partition, process);
  MakespanWorkspace room;
  if (automatic(p.schedule)) run_automatic(p, partition, room);
  Stage fullest = stage_with(prices, plan, layout, partition, 0, process, room);
  for (Count r = 1; r < p.ranks; ++r)
    if (!never_fuller(prices, p, partition, r)) {
      const Stage s = stage_with(prices, plan, layout, partition, r, process, room);
      if (s.memory.peak > fullest.memory.peak) fullest = s;
    }
  return fullest;
}

std::vector<ChunkInFlight> chunks_in_flight(const Prices& prices, const Plan& plan, const Layout& layout,
                                            const Partition& partition, Count rank) {
  const Pipeline p = pipeline_of(plan, layout);
  if (p.ranks == 1) return {{partition[0]}};
  MakespanWorkspace room;
  if (automatic(p.schedule)) run_automatic(p, partition, room);
  const HeldChunks held = held_chunks(prices, plan, p, partition, rank, room);
  return {held.chunks.begin(), held.chunks.end()};
}

Bytes most_on_host(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition) {
  if (!plan.offload.any()) return {};
  Bytes most;
  for (Count r = 0; r < pipeline_of(plan, layout).ranks; ++r)
    most = std::max(most, stage(prices, plan, layout, partition, r).memory.host);
  return most;
}

}  // namespace llmcalc
