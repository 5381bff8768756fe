#pragma once
/// A run of a server as a report.

#include <optional>

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The limits of a request: "first token within 500.0 ms and 33.00 ms per token".
std::string slo_text(const Request& r);
/// Adds the mean times to the first token and per token to the verdict, with their intervals.
void add_time_findings(Report& report, const Request& r, const Served& s);
/// Describes the source of the times and their error. Precondition: the request has an engine.
Note estimate_note(const Request& r);
/// The number of failed requests of a log, which were omitted; empty if 0.
Note failed_requests_note(const Request& r, Count failed);
/// The common head of all server reports.
Report serving_head(const Request& r);
Report serving_report(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, const ServingRun& run);
}  // namespace llmcalc
