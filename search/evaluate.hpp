#pragma once
/// One plan of a space by itself, and what another has more of.

#include "search/ranking.hpp"

namespace llmcalc {

/// The terms of a device's memory, as in Memory.
enum class HeldTerm : std::uint8_t {
  weights,
  gradients,
  optimizer,
  activations,
  logits,
  workspace,
  gathered,
  buckets,
  exchange,
  transit,
  process
};
inline constexpr std::size_t memory_term_count = 11;
inline constexpr std::array<std::string_view, memory_term_count> memory_term_names{
    "weights",  "gradients", "optimizer", "activations", "logits", "workspace",
    "gathered", "buckets",   "exchange",  "transit",     "process"};
Bytes term(const Memory& m, HeldTerm t);

/// What train() says of a candidate.
struct Evaluated {
  Objection objection{};
  Found found{};      ///< this and what follows only without an objection
  Memory memory{};    ///< of the fullest stage
  Bytes host{};       ///< of the stage that has most on the host
  Count fullest = 0;  ///< that stage
  StepTime time{};
  bool fits = false;
  bool possible() const { return objection.obstacle == Obstacle::none; }
};
Evaluated evaluate(const Space& space, const Candidate& c);

/// The term, or part, of which plan `b` has most more than `a`; and how much, negative where it has less of all.
struct GrownTerm {
  HeldTerm term = HeldTerm::weights;
  Bytes by{};
};
/// Of the fullest stage of `b` beside the same stage of `a`: between two stages, terms differ that did not grow. Where
/// the numbers of stages differ, the first, the last, or one as far from them. `space` is that of `a`.
GrownTerm most_grown(const Space& space, const Evaluated& a, const Evaluated& b);
struct GrownPart {
  Part part = Part::matmul;
  Seconds by{};
};
GrownPart most_grown(const StepTime& a, const StepTime& b);

}  // namespace llmcalc
