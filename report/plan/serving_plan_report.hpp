#pragma once
/// Report of plans for serving.

#include "ask/answer/serving/plan.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The plans of settle_offers(), `shown`. `like`: any request of the question.
Report serving_plan_report(const Request& like, const std::vector<ServingOffer>& offers,
                           const std::vector<const ServingOffer*>& shown, const std::vector<LeftOut>& left_out,
                           const ServingPlanQuestion& q);

}  // namespace llmcalc
