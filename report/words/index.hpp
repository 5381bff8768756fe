#pragma once
/// The index of everything that 'llmcalc explain' explains.

#include "report/report.hpp"

namespace llmcalc {

/// Quantities by section, then terms, options and number formats.
Report explain_index();

}  // namespace llmcalc
