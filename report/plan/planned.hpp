#pragma once
/// A plan that a search found, in full.

#include <optional>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/request.hpp"
#include "calc/train.hpp"
#include "report/report.hpp"
#include "search/space.hpp"

namespace llmcalc {

struct Planned {
  Request request{};
  TrainEstimate estimate{};  ///< its estimated times multiplied by the measured scale
  std::optional<ProcessEstimate> process{};
};
Planned planned(const Request& r, const Space& space, const Candidate& c);

/// The run of --tokens by that plan; empty without.
Section run_of(const Planned& p);

/// "12.1 days, 20,700 GPU-hours, 40k USD"; empty without --tokens.
std::string whole_run_text(const Planned& p);

/// Whether the device holds what its process needs, as far as that is known.
bool process_fits(const Planned& p);

}  // namespace llmcalc
