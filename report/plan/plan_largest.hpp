#pragma once
/// Search for the largest value of an option.

#include "ask/request/request.hpp"
#include "report/plan/plan_goals.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// What --largest asks. Throws InputError where the option is given that it looks for, or one that it does not go with.
LargestQuestion largest_question(const Request& r, std::string_view text);

/// The request with what was found, as if it had been typed.
Request with_largest(Request r, const Space& space, const LargestQuestion& q, const LargestFound& found);
/// Throws InputError: nothing fits, whatever its size; `gpus`: a number on which something does.
[[noreturn]] void refuse_largest(const Request& r, const Space& space, const LargestQuestion& q,
                                 std::optional<Count> gpus);

/// Adds to a report of the plans that hold the largest value: that value, and all that were tried. `space` is the one
/// that was asked about.
void add_largest(Report& report, const Space& space, const LargestQuestion& q, const LargestFound& found,
                 const Candidate* best);

}  // namespace llmcalc
