#pragma once
/// Goals of a search other than its best plans: number of GPUs, batch size, choice of hardware.

#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "search/largest.hpp"

namespace llmcalc {

/// Throws InputError because no plan fits; `gpus`: a number of GPUs on which some plan fits.
[[noreturn]] void refuse_too_few(const Request& r, const Space& space, std::optional<Count> gpus);

/// Adds a note to a report without plans: the number of GPUs on which a plan would fit.
void note_nothing_fits(Report& report, const Request& r, std::optional<Count> gpus);

/// The days of --deadline. Throws InputError if --tokens is missing, or if the objective is memory.
double deadline_of(const Request& r, const Space& space, std::string_view text);
/// Whether a plan trains --tokens within `limit` days.
bool in_time(const Request& r, const Space& space, const Found& f, double limit);
/// Lower bound on the number of GPUs that train --tokens within `limit` days, assuming that all of them run matmuls at
/// peak rate all the time.
Count fewest_in_time(const Request& r, const Space& space, double limit);
/// The fastest plan found, and the days that it needs for --tokens.
struct FastestRun {
  Found found{};
  double days = 0;
  /// GPUs that would meet the deadline at the same speed per GPU.
  double gpus_at_that_speed(double limit) const;
};
/// Absent if no plan fits.
std::optional<FastestRun> fastest_run(const Request& r, const Space& space, const FewestGpus& few);
/// Throws InputError because no number of GPUs meets the deadline; `gpus`: a larger number that does.
[[noreturn]] void refuse_deadline(const Request& r, const FewestGpus& few, const FastestRun& fastest, double limit,
                                  std::optional<Count> gpus);
/// Adds the tried numbers of GPUs and their days to a report of plans on the fewest GPUs; adds a note if the search
/// stopped early.
void add_deadline(Report& report, const Request& r, const Space& space, const FewestGpus& few, double limit);

/// Adds the tried numbers of GPUs to a report of plans, and names the best: r.gpus.
void add_numbers(Report& report, const Request& r, const Space& space, std::span<const OfNumber> numbers);

/// One of several kinds of hardware, and its offer.
struct Rival {
  /// The objective's value of the best plan, with the caution. Precondition: there is one.
  double value() const { return caution * offer.best->value; }
  std::string name;
  Request request{};
  Space space{};
  std::string left_out{};  ///< reason for excluding it; empty if it is compared
  Offer offer{};
  double caution = 1;     ///< factor on times in comparisons: above 1 for a device without published runs
  double least_days = 0;  ///< lower bound on the days of the run with the most GPUs; 0: not computed
};
}  // namespace llmcalc
