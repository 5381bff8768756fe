#include "calc/pipeline/bound.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Number of a rank's paired slots with the forward in local chunk `local`.
Count paired_slots(const Pipeline& p, Count rank, Count local) {
  Count n = 0;
  for (const OrderRun& run : rank_order(p, rank))
    for (std::int32_t i = 0; i < run.size; ++i) {
      const OrderStep& s = run.steps[static_cast<std::size_t>(i)];
      if (s.kind == SlotKind::forward_and_backward && s.chunk == local) n += run.times;
    }
  return n;
}

/// Seconds of the weight gradients of all micro-batches and chunks of a rank.
double weight_seconds(const Pipeline& p, const PipelineTimes& t, Count rank) {
  double sum = 0;
  for (Count local = 0; local < p.chunks; ++local) sum += chunk_node(p, t, {rank, local}).weight;
  return static_cast<double>(p.micro_batches) * sum;
}

/// Seconds of the path to a rank's first chunk, plus the rank's work, plus the return path. DualPipe's bound omits
/// the return path, because some of its backwards are not split.
double rank_bound(const Pipeline& p, const PipelineTimes& t, Count rank, double in, double out) {
  const double work = busy_seconds(p, t, rank).value;
  if (!splits_backward(p.schedule)) return in + work + out;
  if (has_pairs(p.schedule)) return in + work;
  return in + std::max(work, work - weight_seconds(p, t, rank) + out);
}

}  // namespace

Seconds saved_by_pairs(const Pipeline& p, const PipelineTimes& t, Count rank) {
  double saved = 0;
  for (Count local = 0; local < 2; ++local) {
    const ChunkNode chunk = chunk_node(p, t, {rank, local}), other = chunk_node(p, t, {rank, 1 - local});
    if (chunk.paired <= 0) continue;
    const Count pairs = paired_slots(p, rank, local);
    saved += static_cast<double>(pairs) * (chunk.forward + other.input + other.weight - chunk.paired);
  }
  return Seconds(saved);
}

Seconds busy_seconds(const Pipeline& p, const PipelineTimes& t, Count rank) {
  double sum = 0;
  for (Count local = 0; local < p.chunks; ++local) {
    const ChunkNode n = chunk_node(p, t, {rank, local});
    sum += static_cast<double>(micro_batches_per_direction(p)) * (n.forward + n.input + n.weight);
  }
  return Seconds(has_pairs(p.schedule) ? sum - saved_by_pairs(p, t, rank).value : sum);
}

/// A rank's first chunk in model order may begin first and end last. It is chunk r or, in DualPipe, whichever of r
/// and P - 1 - r is nearer to an end of the model. Forwards of the first micro-batch are never paired.
Seconds least_makespan(const Pipeline& p, const PipelineTimes& t) {
  const bool both_ends = directions(p) == 2;
  double in = 0, out = 0, longest = 0;
  for (Count q = 0; q < (both_ends ? p.ranks / 2 : p.ranks); ++q) {
    const ChunkNode n = chunk_node(p, t, {q, 0});
    in = std::max(in + n.from_before, n.ready);
    longest = std::max(longest, rank_bound(p, t, q, in, out + n.from_before));
    if (both_ends) longest = std::max(longest, rank_bound(p, t, p.ranks - 1 - q, in, out));
    in += n.forward;
    out += n.from_before + n.input + (splits_backward(p.schedule) ? 0 : n.weight);
  }
  return Seconds(longest);
}

}  // namespace llmcalc
