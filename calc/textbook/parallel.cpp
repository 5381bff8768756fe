#include "calc/textbook/parallel.hpp"

#include <algorithm>

namespace llmcalc::textbook {
namespace {

/// (n-1)/n of b: bytes that a rank sends in a ring all-gather or reduce-scatter.
Fraction ring(Exact b, Count n) { return {b * (n - 1), n}; }
Fraction twice(const Fraction& f) { return Fraction(2) * f; }

Exact activations(const TensorParallelLayer& l) { return Exact(l.batch) * l.seq * l.hidden * l.precision; }
Exact keys_and_values(const ContextParallelLayer& l) {
  return Exact(2) * l.batch * l.seq * l.kv_heads * l.head_dim * l.precision;
}

}  // namespace

Fraction tensor_parallel_forward(const TensorParallelLayer& l) {
  return Fraction(l.parallel_block ? 1 : 2) * twice(ring(activations(l), l.ranks));
}
Fraction tensor_parallel_train(const TensorParallelLayer& l, bool full_recompute) {
  const Fraction forward = tensor_parallel_forward(l);
  const Count gathers = l.sequence_parallel && l.regather ? (l.parallel_block ? 1 : 2) : 0;
  return Fraction(full_recompute ? 3 : 2) * forward + Fraction(gathers) * ring(activations(l), l.ranks);
}

Fraction context_parallel_forward(const ContextParallelLayer& l, ContextMethod method) {
  if (method != ContextMethod::ulysses) return ring(keys_and_values(l), l.ranks);
  const Exact local = Exact(2) * (l.heads + l.kv_heads) * l.head_dim * l.batch * l.seq * l.precision;
  return ring(local, l.ranks) * Fraction(1, l.ranks);
}
Fraction context_parallel_train(const ContextParallelLayer& l, ContextMethod method) {
  const Fraction forward = context_parallel_forward(l, method);
  if (method == ContextMethod::all_gather) return Fraction(3) * forward;
  if (method == ContextMethod::ulysses || l.ranks == 1) return twice(forward);
  return twice(forward) + Fraction(keys_and_values(l), 1);
}

Fraction expert_parallel_forward(Count tokens_per_rank, Count hidden, Count top_k, Count ranks, Count dispatch_bytes,
                                 Count combine_bytes) {
  return ring(Exact(tokens_per_rank) * top_k * hidden * (dispatch_bytes + combine_bytes), ranks);
}

Fraction data_parallel_step(Count params, Count ranks, int stage, Count weight_bytes, Count gradient_bytes,
                            Count micro_batches) {
  const Exact w = weight_bytes, g = gradient_bytes, m = micro_batches, n = params;
  if (stage == 0) return ring(Exact(2) * n * g, ranks);
  if (stage == 1) return ring(n * (g + w), ranks);
  if (stage == 2) return ring(n * (m * g + w), ranks);
  return ring(n * m * (Exact(2) * w + g), ranks);
}

Fraction pipeline_step(Count batch, Count seq, Count hidden, Count precision, Count micro_batches, Count interleaved,
                       bool end_stage, Count scattered_over) {
  const Exact sends = Exact(2) * interleaved - (end_stage ? 1 : 0);
  return {sends * micro_batches * batch * seq * hidden * precision, scattered_over};
}

Fraction in_flight(Schedule schedule, Count ranks, Count micro_batches, Count rank, Count interleaved) {
  const Count p = ranks, m = micro_batches, v = interleaved;
  switch (schedule) {
    case Schedule::gpipe:
      return m;
    case Schedule::one_f_one_b:
      return std::min(m, p - rank);
    case Schedule::interleaved:
      return {std::min(m * v, 2 * (p - rank - 1) + (v - 1) * p + 1), v};
    case Schedule::zb_h1:
      return std::min(m, p);
    case Schedule::zb_h2:
      return std::min(m, 2 * p - 1);
    case Schedule::dualpipe:
      break;
  }
  return std::min(m, p + 1);
}

Fraction interleave_factor(Count ranks, Count interleaved) {
  return Fraction(1) + Fraction(Exact(ranks) - 1, Exact(ranks) * interleaved);
}

Fraction bubble_ratio(Count ranks, Count micro_batches, Count interleaved, bool of_total) {
  const Exact ideal = Exact(interleaved) * micro_batches, idle = Exact(ranks) - 1;
  return {idle, of_total ? ideal + idle : ideal};
}

double bubble_seconds(Schedule schedule, Count ranks, const StageTimes& t, Count interleaved) {
  const double stages = real(ranks - 1), work = t.forward + t.backward;
  switch (schedule) {
    case Schedule::gpipe:
    case Schedule::one_f_one_b:
      return stages * work;
    case Schedule::interleaved:
      return stages * work / real(interleaved);
    case Schedule::zb_h1:
      return stages * (work - 2 * t.weight_part);
    case Schedule::zb_h2:
      return stages * (work - 3 * t.weight_part);
    case Schedule::dualpipe:
      break;
  }
  return (real(ranks) / 2 - 1) * (t.overlapped + t.backward - 3 * t.weight_part);
}

double step_seconds(const StepTerms& t, Count micro_batches, Count ranks, Count interleaved) {
  const double slots = real(micro_batches) + real(ranks - 1) / real(interleaved);
  return slots * (t.compute + (1 - t.overlap) * t.communication) + (1 - t.data_parallel_overlap) * t.data_parallel +
         t.optimizer;
}

}  // namespace llmcalc::textbook
