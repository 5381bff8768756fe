#pragma once
/// Report of an engine that cannot hold a request.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "report/serve/serving_report.hpp"

namespace llmcalc {

/// The shortfall of an engine that cannot hold a request, and remedies.
std::vector<Finding> no_room_findings(const Request& r, const ServingEngine& e);
/// The report for this engine: the limit, and remedies.
Report refused_serving_report(const Request& r, const ServingEngine& e);

}  // namespace llmcalc
