#pragma once
/// Report of plans for serving.

#include "ask/answer/serving/plan.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Report of `shown`, the plans from settle_offers(). `like`: any request of the question.
Report serving_plan_report(const Request& like, const std::vector<ServingOffer>& offers,
                           const std::vector<const ServingOffer*>& shown, const std::vector<LeftOut>& left_out,
                           const ServingPlanQuestion& q);

}  // namespace llmcalc
