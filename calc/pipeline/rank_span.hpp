#pragma once
/// A rank's own part of a step: from the begin of its first forward to the end of its last gradients.

#include "calc/pipeline/times.hpp"

namespace llmcalc {

/// When a local chunk begins its first forward, and ends its last backward, weight gradients included.
struct ChunkSpan {
  Seconds first{}, last{};
};

/// `begin` comes before the first forward by the time in which chunks get ready (PipelineTimes::ready): a rank begins
/// to gather its weights so late that no first forward waits longer.
struct RankSpan {
  Seconds begin{}, end{};
};
/// `chunks`: by chunk_index() of rank and local chunk.
RankSpan rank_span(const Pipeline& p, const PipelineTimes& t, std::span<const ChunkSpan> chunks, Count rank);

/// The span of the rank that takes longest: the time from step to step of ranks that go on by themselves.
Seconds longest_span(const Pipeline& p, const PipelineTimes& t, std::span<const ChunkSpan> chunks);

}  // namespace llmcalc
