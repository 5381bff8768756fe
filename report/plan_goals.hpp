#pragma once
/// What a search was asked besides its best plans: how many GPUs, how large a batch, which hardware.

#include "report/report.hpp"
#include "report/request.hpp"
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

/// Hardware that --hardware names as "any", all presets, or as a list; empty: it names one. Throws InputError for names
/// that are not known.
std::vector<std::string> hardware_names(std::string_view text);

/// One hardware of several, and what it offers.
struct Rival {
  std::string name;
  Request request{};
  Space space{};
  std::string left_out{};  ///< why it is not compared; empty: it is
  Offer offer{};
};
/// Why hardware cannot be compared: it has no price; its power is not known, or no link joins them; empty: it can.
std::string why_left_out(const HardwareCard& h, Objective objective);
std::string why_left_out(const Request& r, const Space& space);

/// The rival whose offer is best. Throws InputError where none has one, except where a search was stopped: then null.
const Rival* best_rival(std::span<const Rival> rivals, std::optional<double> days);

/// Adds to a report of the winner's plans how the others did.
void add_rivals(Report& report, std::span<const Rival> rivals, const Rival& best, std::optional<double> days);

}  // namespace llmcalc
