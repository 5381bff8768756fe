#pragma once
/// What would make a step or a token faster: the change of its time where a part of the machine is a tenth better.

#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc {

/// Of a training step; empty without software, whose terms it changes.
Section sensitivity_section(const Request& r);
/// The same of a decode step in the middle of the generation; empty without an engine.
Section decode_sensitivity_section(const Request& r);

}  // namespace llmcalc
