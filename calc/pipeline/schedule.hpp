#pragma once
/// A pipeline: which chunks of the model its ranks hold, and whether its schedule can run.
///
/// The model is cut into chunks of consecutive layers, numbered from the embedding on (model chunks). Every rank holds
/// `chunks` of them (local chunks): GPipe, 1F1B and ZB one; interleaved v, rank r has r, r + P, r + 2P, ...; ZB-V and
/// DualPipe-V two in a V, r and 2P - 1 - r; DualPipe two, r for the micro-batches of the one direction and P - 1 - r
/// for those of the other, so that the model is there twice.

#include <cstdint>

#include "calc/layout.hpp"
#include "calc/units.hpp"

namespace llmcalc {

struct Pipeline {
  Schedule schedule = Schedule::one_f_one_b;
  Count ranks = 1, chunks = 1, micro_batches = 1;
  constexpr bool operator==(const Pipeline&) const = default;
};

/// Copies of the model in one pipeline: 2 in DualPipe, whose second copy runs from the last rank to the first.
constexpr Count directions(const Pipeline& p) { return p.schedule == Schedule::dualpipe ? 2 : 1; }
constexpr Count model_chunks(const Pipeline& p) { return mul(p.ranks, p.chunks) / directions(p); }
/// Micro-batches that pass through one copy of the model.
constexpr Count micro_batches_per_direction(const Pipeline& p) { return p.micro_batches / directions(p); }

/// The model chunk that is local chunk `local` of a rank.
Count model_chunk(const Pipeline& p, Count rank, Count local);
/// The rank that holds a model chunk, and which of its local chunks it is.
struct ChunkPlace {
  Count rank = 0, local = 0;
  constexpr bool operator==(const ChunkPlace&) const = default;
};
ChunkPlace chunk_place(const Pipeline& p, Count chunk, Count direction = 0);
inline Count rank_of(const Pipeline& p, Count chunk, Count direction = 0) {
  return chunk_place(p, chunk, direction).rank;
}
/// Local chunks of all ranks in one row.
constexpr Count chunk_index(const Pipeline& p, ChunkPlace at) { return at.rank * p.chunks + at.local; }

/// Chunks per rank that a schedule asks for; 0: two or more.
constexpr Count fixed_chunks(Schedule s) {
  if (s == Schedule::interleaved) return 0;
  return s == Schedule::zb_v || s == Schedule::dualpipe || s == Schedule::dualpipe_v ? 2 : 1;
}
/// Whether a schedule runs some gradients of weights apart from those of inputs.
constexpr bool splits_backward(Schedule s) { return s > Schedule::interleaved; }
/// Whether a schedule runs a forward of one micro-batch and a backward of another side by side, in one slot. The other
/// chunk of such a rank is as far from the end of the model as the one is from its beginning.
constexpr bool has_pairs(Schedule s) { return s == Schedule::dualpipe || s == Schedule::dualpipe_v; }
/// Whether the order of slots depends on times: it is found by a rule, not written down.
constexpr bool automatic(Schedule s) { return s == Schedule::zb_1p || s == Schedule::zb_2p || s == Schedule::zb_v; }
/// Whether a rank updates its weights as soon as its own gradients are summed. The norm of all ranks' gradients, which
/// clips them, is checked during the next step, and a wrong update is taken back (arXiv:2401.10241, section 4). Without
/// that ranks that begin one after another and do the same would end one after another, too, and the first would wait:
/// no bubble of 0. The paper has it for ZB-H2 and ZB-2p, its authors' settings for ZB-V, too
/// (github.com/sail-sg/zero-bubble-pipeline-parallelism); their patch for ZB-H1 does without. The gradients of a token
/// table that both ends share are exchanged there while other gradients of weights are left, so that no rank waits.
constexpr bool validates_after(Schedule s) {
  return s == Schedule::zb_h2 || s == Schedule::zb_2p || s == Schedule::zb_v;
}

/// Whether a layout's slots have exchanges with experts that can run beside another slot's work.
inline bool pairs_experts(const Layout& l) {
  return has_pairs(l.schedule) && ranks(l, Group::pipeline) > 1 && ranks(l, Group::expert) > 1;
}

/// Whether the last stage has a token table of its own where the head uses the first one's: in a V, and in DualPipe,
/// one rank holds both ends of the model.
inline bool copies_table(const Layout& l) { return ranks(l, Group::pipeline) > 1 && fixed_chunks(l.schedule) != 2; }

/// The reason why a pipeline is impossible: a value, not an exception.
enum class PipelineFlaw : std::uint8_t {
  none,
  ranks,              ///< fewer than one rank
  odd_ranks,          ///< DualPipe pairs rank r with rank P - 1 - r
  chunks,             ///< more or fewer chunks per rank than the schedule has
  micro_batches,      ///< too few: DualPipe and DualPipe-V need 2P to fill both directions, all others one
  odd_micro_batches,  ///< DualPipe gives either direction half of them
  groups              ///< interleaved: the ranks do not divide the micro-batches (Megatron-LM runs them in groups of P)
};
PipelineFlaw flaw(const Pipeline& p);
/// The least number, not below the pipeline's own where that is possible, that mends its flaw: of ranks, chunks or
/// micro-batches; the pipeline's number of micro-batches where there is none.
Count enough(const Pipeline& p);

}  // namespace llmcalc
