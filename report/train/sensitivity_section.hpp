#pragma once
/// Sections about the change of a time where a part of the machine is a tenth better.

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

Section sensitivity_section(const Request& r);
Section decode_sensitivity_section(const Request& r);

}  // namespace llmcalc
