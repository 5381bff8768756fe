#pragma once
/// Search over several kinds of hardware.

#include "ask/request/request.hpp"
#include "report/plan/plan_goals.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The hardware of --hardware: all presets for "any", or a list; empty for a single name. Throws InputError for unknown
/// names.
std::vector<std::string> hardware_names(std::string_view text);
/// Why hardware is excluded: no price, unknown power, or no link that connects the devices; empty if compared.
std::string why_left_out(const HardwareCard& h, Objective objective);
std::string why_left_out(const Request& r, const Space& space);

/// The rival with the best offer. If no rival has an offer: null if a search was stopped; otherwise throws InputError.
const Rival* best_rival(std::span<const Rival> rivals, std::optional<double> days);

/// Adds the results of the other hardware to a report of the winner's plans.
void add_rivals(Report& report, std::span<const Rival> rivals, const Rival& best, std::optional<double> days);

}  // namespace llmcalc
