#pragma once
/// What a search was asked besides its best plans: how many GPUs, how large a batch, which hardware.

#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "search/largest.hpp"

namespace llmcalc {

/// Throws InputError: no plan fits; `gpus`: a number on which one does.
[[noreturn]] void refuse_too_few(const Request& r, const Space& space, std::optional<Count> gpus);

/// Says in a report without plans on how many GPUs there would be one.
void note_nothing_fits(Report& report, const Request& r, std::optional<Count> gpus);

/// The days of --deadline. Throws InputError where --tokens is missing, or the objective is no time.
double deadline_of(const Request& r, const Space& space, std::string_view text);
/// Whether a plan trains --tokens in so many days.
bool in_time(const Request& r, const Space& space, const Found& f, double limit);
/// The GPUs that --tokens would need in so many days if all their time went into products at the peak: fewer do not.
Count fewest_in_time(const Request& r, const Space& space, double limit);
/// The fastest of all that was found, and the days of --tokens by it.
struct FastestRun {
  Found found{};
  double days = 0;
  /// GPUs that would end in time if each did as much.
  double gpus_at_that_speed(double limit) const;
};
/// Absent: nothing fits.
std::optional<FastestRun> fastest_run(const Request& r, const Space& space, const FewestGpus& few);
/// Throws InputError: no number of GPUs keeps the deadline; `gpus`: one above them that does.
[[noreturn]] void refuse_deadline(const Request& r, const FewestGpus& few, const FastestRun& fastest, double limit,
                                  std::optional<Count> gpus);
/// Adds to a report of plans on the fewest GPUs the numbers that were tried, and their days; to one of a search that
/// was stopped before, that it was.
void add_deadline(Report& report, const Request& r, const Space& space, const FewestGpus& few, double limit);

/// Adds to a report of plans the numbers of GPUs that were tried, and says which one won: r.gpus.
void add_numbers(Report& report, const Request& r, const Space& space, std::span<const OfNumber> numbers);

/// One hardware of several, and what it offers.
struct Rival {
  std::string name;
  Request request{};
  Space space{};
  std::string left_out{};  ///< why it is not compared; empty: it is
  Offer offer{};
};
}  // namespace llmcalc
