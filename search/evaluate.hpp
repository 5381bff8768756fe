#pragma once
/// Evaluation of one plan, and the memory and time terms that grow from one plan to another.

#include "search/ranking.hpp"

namespace llmcalc {

/// The terms of a device's memory, which are members of Memory.
enum class HeldTerm : std::uint8_t {
  weights,
  gradients,
  optimizer,
  activations,
  logits,
  workspace,
  gathered,
  buckets,
  collective_call,
  transit,
  process
};
inline constexpr std::size_t memory_term_count = 11;
inline constexpr std::array<std::string_view, memory_term_count> memory_term_names{
    "weights",          "gradients",        "optimizer",       "activations", "logits", "workspace",
    "gathered weights", "gradient buckets", "message buffers", "in transit",  "process"};
Bytes term(const Memory& m, HeldTerm t);

/// The result of train() for a candidate.
struct Evaluated {
  Objection objection{};
  Found found{};      ///< this and the members below are set only if there is no objection
  Memory memory{};    ///< memory of the fullest stage
  Bytes host{};       ///< largest host memory of any stage
  Count fullest = 0;  ///< index of the fullest stage
  StepTime time{};
  bool fits = false;
  bool possible() const { return objection.obstacle == Obstacle::none; }
};
Evaluated evaluate(const Space& space, const Candidate& c);

/// The memory term that grows most from plan `a` to plan `b`, and its growth, which is negative if every term shrinks.
struct GrownTerm {
  HeldTerm term = HeldTerm::weights;
  Bytes by{};
};
/// Compares the fullest stage of `b` with the corresponding stage of `a`, because the terms also differ between the
/// stages of one plan. If the plans have different numbers of stages, the corresponding stage is the first, the last,
/// or one at the same relative position. `space` is the space of `a`.
GrownTerm most_grown(const Space& space, const Evaluated& a, const Evaluated& b);
/// The part of the step time that grows most from plan `a` to plan `b`, and its growth.
struct GrownPart {
  Part part = Part::matmul;
  Seconds by{};
};
GrownPart most_grown(const StepTime& a, const StepTime& b);

}  // namespace llmcalc
