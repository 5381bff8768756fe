#pragma once
/// Origin of a report's numbers: the software with its version, and the price with its source.

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The software and the price: "vllm 0.25, the default; 3.99 USD per GPU-hour (Lambda on-demand, 2025-26)". Empty if
/// there is neither.
Finding provenance_finding(const Request& r, bool has_costs);

/// Seller and date, and whether the price was recalled rather than looked up: "RunPod, 2025, recalled".
std::string price_source_text(const Price& p);

}  // namespace llmcalc
