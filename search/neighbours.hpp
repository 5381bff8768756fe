#pragma once
/// The plans next to one, and why they are worse.

#include "search/evaluate.hpp"

namespace llmcalc {

/// What a neighbour has differently. Degrees differ by a step, devices coming from and going to data parallelism or, if
/// that cannot be, pipeline or context parallelism.
enum class PlanChange : std::uint8_t { tp, sp, cp, ep, pp, chunks, micro_batch, recompute, zero, schedule };
inline constexpr std::array<std::string_view, 10> change_names{
    "tp", "sp", "cp", "ep", "pp", "chunks", "micro-batch", "recompute", "zero", "schedule"};

enum class Verdict : std::uint8_t {
  impossible,  ///< see the objection
  too_large,   ///< does not fit
  slower,      ///< fits, takes longer
  larger,      ///< fits, is no slower, takes more memory (the objective being memory, or times equal)
  no_worse     ///< a search would have found it as good
};

struct Neighbour {
  PlanChange change = PlanChange::tp;
  Verdict verdict = Verdict::impossible;
  Evaluated plan{};
  Bytes over{};  ///< too_large: what it has more than the device, or its host; larger: than the plan
  bool on_host = false;
  GrownTerm term{};  ///< what its fullest stage has most more of than the same stage of the plan
  GrownPart part{};  ///< what the step grew most by
  Seconds slower{};  ///< than the plan; negative: faster
};

/// Every neighbour of a plan that can run, in the order of PlanChange.
std::vector<Neighbour> neighbours(const Space& space, const Candidate& plan);

}  // namespace llmcalc
