#pragma once
/// Span of a rank within a step: from the start of its first forward to the end of its last gradients.

#include "calc/pipeline/times.hpp"

namespace llmcalc {

/// Start of a local chunk's first forward, and end of its last backward, including weight gradients.
struct ChunkSpan {
  Seconds first{}, last{};
};

/// `begin` includes the time until chunks are ready (PipelineTimes::ready): a rank starts to gather its weights as
/// late as possible without delaying any first forward.
struct RankSpan {
  Seconds begin{}, end{};
};
/// Span of a rank. `chunks`: by chunk_index() of rank and local chunk.
RankSpan rank_span(const Pipeline& p, const PipelineTimes& t, std::span<const ChunkSpan> chunks, Count rank);

/// Span of the slowest rank: the time from one step to the next if ranks update independently.
Seconds longest_span(const Pipeline& p, const PipelineTimes& t, std::span<const ChunkSpan> chunks);

}  // namespace llmcalc
