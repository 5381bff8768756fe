#pragma once
/// A pipeline: the model chunks that its ranks hold, and whether its schedule can run.
///
/// The model is divided into chunks of consecutive layers, numbered from the embedding on (model chunks). Every rank
/// holds `chunks` model chunks, its local chunks. GPipe, 1F1B and ZB have one chunk per rank. In interleaved
/// pipelines, rank r has v chunks: r, r + P, r + 2P, ... In ZB-V and DualPipe-V, it has two in a V: r and 2P - 1 - r.
/// In DualPipe, it has r for the micro-batches of one direction and P - 1 - r for the other direction, so the
/// pipeline holds the model twice.

#include <cstdint>

#include "calc/layout.hpp"
#include "calc/units.hpp"

namespace llmcalc {

struct Pipeline {
  Schedule schedule = Schedule::one_f_one_b;
  Count ranks = 1, chunks = 1, micro_batches = 1;
  constexpr bool operator==(const Pipeline&) const = default;
};

/// Number of copies of the model in one pipeline: 2 in DualPipe, whose second copy runs from the last rank to the
/// first; otherwise 1.
constexpr Count directions(const Pipeline& p) { return p.schedule == Schedule::dualpipe ? 2 : 1; }
constexpr Count model_chunks(const Pipeline& p) { return mul(p.ranks, p.chunks) / directions(p); }
/// Number of micro-batches that pass through one copy of the model.
constexpr Count micro_batches_per_direction(const Pipeline& p) { return p.micro_batches / directions(p); }

/// The model chunk of local chunk `local` of a rank.
Count model_chunk(const Pipeline& p, Count rank, Count local);
/// The rank that holds a model chunk, and the local number of the chunk.
struct ChunkPlace {
  Count rank = 0, local = 0;
  constexpr bool operator==(const ChunkPlace&) const = default;
};
ChunkPlace chunk_place(const Pipeline& p, Count chunk, Count direction = 0);
inline Count rank_of(const Pipeline& p, Count chunk, Count direction = 0) {
  return chunk_place(p, chunk, direction).rank;
}
/// Index of a local chunk in the list of all ranks' local chunks, rank by rank.
constexpr Count chunk_index(const Pipeline& p, ChunkPlace at) { return at.rank * p.chunks + at.local; }

/// Number of chunks per rank that a schedule requires; 0: any number of at least two.
constexpr Count fixed_chunks(Schedule s) {
  if (s == Schedule::interleaved) return 0;
  return s == Schedule::zb_v || s == Schedule::dualpipe || s == Schedule::dualpipe_v ? 2 : 1;
}
/// Whether a schedule runs some weight gradients separately from input gradients.
constexpr bool splits_backward(Schedule s) { return s > Schedule::interleaved; }
/// Whether a schedule runs a forward of one micro-batch concurrently with a backward of another, in one slot. The two
/// chunks of a rank then have equal distances from the two ends of the model.
constexpr bool has_pairs(Schedule s) { return s == Schedule::dualpipe || s == Schedule::dualpipe_v; }
/// Whether the order of slots is found by a rule that depends on times, instead of being fixed.
constexpr bool automatic(Schedule s) { return s == Schedule::zb_1p || s == Schedule::zb_2p || s == Schedule::zb_v; }
/// Whether a rank updates its weights as soon as its own gradients are summed. The norm of all ranks' gradients, needed
/// to clip them, is checked during the next step, and a wrong update is rolled back (arXiv:2401.10241, section 4).
/// If ranks waited for the norm, the first rank would wait for the last, because ranks that begin one after another
/// with equal work also end one after another; the bubble could then not be 0. The paper validates afterward for ZB-H2
/// and ZB-2p, and its authors' settings do so for ZB-V, too (github.com/sail-sg/zero-bubble-pipeline-parallelism);
/// their patch for ZB-H1 does not. Gradients of a token embedding shared by both ends are reduced while other weight
/// gradients are pending, so no
/// rank waits.
constexpr bool validates_after(Schedule s) {
  return s == Schedule::zb_h2 || s == Schedule::zb_2p || s == Schedule::zb_v;
}

/// Whether a layout's slots have expert collectives that can overlap with another slot's work.
inline bool pairs_experts(const Layout& l) {
  return has_pairs(l.schedule) && ranks(l, Group::pipeline) > 1 && ranks(l, Group::expert) > 1;
}

/// Whether the last stage holds a copy of the token embedding for a head that is tied to the table of the first stage.
/// In V schedules and in DualPipe, one rank holds both ends of the model.
inline bool copies_table(const Layout& l) { return ranks(l, Group::pipeline) > 1 && fixed_chunks(l.schedule) != 2; }

/// Reason a pipeline is impossible.
enum class PipelineFlaw : std::uint8_t {
  none,
  ranks,              ///< fewer than one rank
  odd_ranks,          ///< odd number of ranks, but DualPipe pairs rank r with rank P - 1 - r
  chunks,             ///< the number of chunks per rank differs from the schedule's number
  micro_batches,      ///< too few micro-batches: DualPipe and DualPipe-V need 2P to fill both directions, others one
  odd_micro_batches,  ///< odd number of micro-batches, but DualPipe gives each direction half of them
  groups  ///< interleaved: the number of micro-batches is not a multiple of the number of ranks (Megatron-LM runs
          ///< micro-batches in groups of P)
};
PipelineFlaw flaw(const Pipeline& p);
/// The smallest number of ranks, chunks or micro-batches that fixes the flaw, if possible not below the pipeline's
/// number. Without a flaw, the pipeline's number of micro-batches.
Count enough(const Pipeline& p);

}  // namespace llmcalc
