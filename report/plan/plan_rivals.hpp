#pragma once
/// Search over several kinds of hardware.

#include "ask/request/request.hpp"
#include "report/plan/plan_goals.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Hardware that --hardware names as "any", all presets, or as a list; empty: it names one. Throws InputError for names
/// that are not known.
std::vector<std::string> hardware_names(std::string_view text);
/// Why hardware cannot be compared: it has no price; its power is not known, or no link joins them; empty: it can.
std::string why_left_out(const HardwareCard& h, Objective objective);
std::string why_left_out(const Request& r, const Space& space);

/// The rival whose offer is best. Throws InputError where none has one, except where a search was stopped: then null.
const Rival* best_rival(std::span<const Rival> rivals, std::optional<double> days);

/// Adds to a report of the winner's plans how the others did.
void add_rivals(Report& report, std::span<const Rival> rivals, const Rival& best, std::optional<double> days);

}  // namespace llmcalc
