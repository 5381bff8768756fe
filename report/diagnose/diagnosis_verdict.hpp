#pragma once
/// Verdict on a memory log.

#include "report/diagnose/diagnosis.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The memory breakdown of the device with the most allocated memory.
const MemoryBooking& fullest_of(const BookedLog& booked);
std::vector<Finding> diagnosis_verdict(const BookedLog& booked);
/// Whether the logged process fits: "no" if it ran out of memory, or if a server's cache is shorter than its longest
/// request. Absent for a server whose log does not state both.
std::optional<Fit> diagnosed_fit(const BookedLog& booked);
Notes diagnosis_notes(const BookedLog& booked);

}  // namespace llmcalc
