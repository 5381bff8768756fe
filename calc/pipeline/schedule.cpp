#include "calc/pipeline/schedule.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

bool in_a_v(Schedule s) { return s == Schedule::zb_v || s == Schedule::dualpipe_v; }
bool dual(Schedule s) { return s == Schedule::dualpipe || s == Schedule::dualpipe_v; }

Count least_micro_batches(const Pipeline& p) { return dual(p.schedule) ? mul(2, p.ranks) : 1; }

bool has_its_chunks(const Pipeline& p) {
  const Count fixed = fixed_chunks(p.schedule);
  return fixed == 0 ? p.chunks >= 2 : p.chunks == fixed;
}

}  // namespace

Count model_chunk(const Pipeline& p, Count rank, Count local) {
  if (p.schedule == Schedule::dualpipe) return local == 0 ? rank : p.ranks - 1 - rank;
  if (in_a_v(p.schedule)) return local == 0 ? rank : 2 * p.ranks - 1 - rank;
  return local * p.ranks + rank;
}

ChunkPlace chunk_place(const Pipeline& p, Count chunk, Count direction) {
  if (p.schedule == Schedule::dualpipe) return {direction == 0 ? chunk : p.ranks - 1 - chunk, direction};
  if (in_a_v(p.schedule) && chunk >= p.ranks) return {2 * p.ranks - 1 - chunk, 1};
  return {chunk % p.ranks, chunk / p.ranks};
}

PipelineFlaw flaw(const Pipeline& p) {
  if (p.ranks < 1) return PipelineFlaw::ranks;
  if (p.schedule == Schedule::dualpipe && p.ranks % 2 != 0) return PipelineFlaw::odd_ranks;
  if (!has_its_chunks(p)) return PipelineFlaw::chunks;
  if (p.micro_batches < least_micro_batches(p)) return PipelineFlaw::micro_batches;
  if (p.micro_batches % directions(p) != 0) return PipelineFlaw::odd_micro_batches;
  const bool in_groups = p.schedule != Schedule::interleaved || p.micro_batches % p.ranks == 0;
  return in_groups ? PipelineFlaw::none : PipelineFlaw::groups;
}

Count enough(const Pipeline& p) {
  switch (flaw(p)) {
    case PipelineFlaw::ranks:
      return p.schedule == Schedule::dualpipe ? 2 : 1;
    case PipelineFlaw::odd_ranks:
      return add(p.ranks, 1);
    case PipelineFlaw::chunks:
      return fixed_chunks(p.schedule) == 0 ? 2 : fixed_chunks(p.schedule);
    case PipelineFlaw::micro_batches:
      return p.schedule == Schedule::interleaved ? p.ranks : least_micro_batches(p);
    case PipelineFlaw::odd_micro_batches:
      return add(p.micro_batches, 1);
    case PipelineFlaw::groups:
      return mul(ceil_div(p.micro_batches, p.ranks), p.ranks);
    case PipelineFlaw::none:
      break;
  }
  return p.micro_batches;
}

}  // namespace llmcalc
