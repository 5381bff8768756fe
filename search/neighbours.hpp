#pragma once
/// The neighbors of a plan, i.e. the plans that differ from it in one choice, and the reasons why they are worse.

#include "search/evaluate.hpp"

namespace llmcalc {

/// The choice in which a neighbor differs from the plan. A degree changes by one step. To keep the number of devices,
/// data parallelism changes too or, if that is impossible, pipeline or context parallelism.
enum class PlanChange : std::uint8_t { tp, sp, cp, ep, pp, chunks, micro_batch, recompute, zero, schedule };
inline constexpr std::array<std::string_view, 10> change_names{
    "tp", "sp", "cp", "ep", "pp", "chunks", "micro-batch", "recompute", "zero", "schedule"};

enum class Verdict : std::uint8_t {
  impossible,  ///< cannot run; the objection gives the reason
  too_large,   ///< does not fit
  slower,      ///< fits but takes longer
  larger,      ///< fits but uses more memory, where the objective is memory or the step times are equal
  no_worse     ///< a search would rank it at least as high as the plan
};

struct Neighbor {
  PlanChange change = PlanChange::tp;
  Verdict verdict = Verdict::impossible;
  Evaluated plan{};
  Bytes over{};  ///< too_large: excess over the capacity of device or host; larger: excess over the plan's peak
  bool on_host = false;
  GrownTerm term{};  ///< the memory term that grows most, from the corresponding stage of the plan to the neighbor's
                     ///< fullest stage
  GrownPart part{};  ///< the part of the step that grows most
  Seconds slower{};  ///< additional step time relative to the plan; negative: faster
};

/// All neighbors of a plan, in the order of PlanChange. Precondition: the plan can run.
std::vector<Neighbor> neighbors(const Space& space, const Candidate& plan);

}  // namespace llmcalc
