#pragma once
/// Verdict on a memory log.

#include "report/diagnose/diagnosis.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The memory breakdown of the device with the most allocated memory.
const MemoryBooking& fullest_of(const BookedLog& booked);
std::vector<Finding> diagnosis_verdict(const BookedLog& booked);
Notes diagnosis_notes(const BookedLog& booked);

}  // namespace llmcalc
