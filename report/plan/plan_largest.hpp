#pragma once
/// Search for the largest value of an option.

#include "ask/request/request.hpp"
#include "report/plan/plan_goals.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Quantity that --largest maximizes. Throws InputError if that option or an incompatible option is set.
LargestQuestion largest_question(const Request& r, std::string_view text);

/// The request with the value found, as if it had been typed.
Request with_largest(Request r, const Space& space, const LargestQuestion& q, const LargestFound& found);
/// Throws InputError because no plan fits at any size; `gpus`: a number of GPUs on which some plan fits.
[[noreturn]] void refuse_largest(const Request& r, const Space& space, const LargestQuestion& q,
                                 std::optional<Count> gpus);

/// Adds the largest value and all tried values to a report of the plans with that value. `space`: the space of the
/// question.
void add_largest(Report& report, const Space& space, const LargestQuestion& q, const LargestFound& found,
                 const Candidate* best);

}  // namespace llmcalc
