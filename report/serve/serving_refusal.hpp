#pragma once
/// Report of an engine without room for a request.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "report/serve/serving_report.hpp"

namespace llmcalc {

/// What an engine without room for a request lacks, and what would help.
std::vector<Finding> no_room_findings(const Request& r, const ServingEngine& e);
/// The report of an engine that has no room for a request: which limit, and what would help.
Report refused_serving_report(const Request& r, const ServingEngine& e);

}  // namespace llmcalc
