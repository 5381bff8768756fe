#pragma once
/// Findings on the origin of a report's numbers: the software and its version, and the price.

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// "vllm 0.25": the stacks of the request, and whether they are the default. Empty text without software.
Finding software_finding(const Request& r);

/// "3.99 USD/h, Lambda on-demand, 2025-26": the price per GPU-hour and its source. Empty text without a price.
Finding price_finding(const Request& r);

/// The seller, the date, and whether the price was recalled instead of looked up: "AWS list price, 2024, recalled".
std::string price_source_text(const Price& p);

}  // namespace llmcalc
