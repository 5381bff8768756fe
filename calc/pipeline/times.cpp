#include "calc/pipeline/times.hpp"

namespace llmcalc {
namespace {

double boundary_seconds(const Pipeline& p, const PipelineTimes& t, Count chunk, Count direction) {
  if (t.sends.empty() || rank_of(p, chunk, direction) == rank_of(p, chunk + 1, direction)) return 0;
  return t.sends[static_cast<std::size_t>(chunk)].value;
}

}  // namespace

ChunkNode chunk_node(const Pipeline& p, const PipelineTimes& t, ChunkPlace at) {
  const Count chunk = model_chunk(p, at.rank, at.local), direction = directions(p) == 2 ? at.local : 0;
  const auto q = static_cast<std::size_t>(chunk);
  ChunkNode n;
  if (chunk > 0) {
    n.before = chunk_index(p, chunk_place(p, chunk - 1, direction));
    n.from_before = boundary_seconds(p, t, chunk - 1, direction);
  }
  if (chunk + 1 < model_chunks(p)) {
    n.after = chunk_index(p, chunk_place(p, chunk + 1, direction));
    n.from_after = boundary_seconds(p, t, chunk, direction);
  }
  n.forward = t.chunks[q].forward.value;
  n.input = t.chunks[q].backward_input.value;
  n.weight = t.chunks[q].backward_weight.value;
  n.paired = t.chunks[q].paired.value;
  if (!t.ready.empty()) n.ready = t.ready[q].value;
  return n;
}

}  // namespace llmcalc
