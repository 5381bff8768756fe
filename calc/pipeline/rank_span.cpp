#include "calc/pipeline/rank_span.hpp"

namespace llmcalc {

RankSpan rank_span(const Pipeline& p, const PipelineTimes& t, std::span<const ChunkSpan> chunks, Count rank) {
  RankSpan span;
  for (Count local = 0; local < p.chunks; ++local) {
    const ChunkSpan& c = chunks[static_cast<std::size_t>(chunk_index(p, {rank, local}))];
    const auto q = static_cast<std::size_t>(model_chunk(p, rank, local));
    const Seconds begin = t.ready.empty() ? c.first : c.first - t.ready[q];
    span.begin = local == 0 ? begin : std::min(span.begin, begin);
    span.end = std::max(span.end, c.last);
  }
  return span;
}

Seconds longest_span(const Pipeline& p, const PipelineTimes& t, std::span<const ChunkSpan> chunks) {
  Seconds longest;
  for (Count r = 0; r < p.ranks; ++r) {
    const RankSpan span = rank_span(p, t, chunks, r);
    longest = std::max(longest, span.end - span.begin);
  }
  return longest;
}

}  // namespace llmcalc
