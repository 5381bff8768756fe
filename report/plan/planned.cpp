#include "report/plan/planned.hpp"

#include "report/plan/plan_report.hpp"
#include "report/train/run_section.hpp"

namespace llmcalc {

TrainingAnswer planned(const Request& r, const Space& space, const Candidate& c) {
  Request one = request_of(r, space, c);
  TrainEstimate e = train(one.model.arch, one.plan, one.layout, one.hardware->cluster);
  e.estimate = rescaled(r, e.estimate);
  return {std::move(one), std::move(e)};
}

TrainingAnswer without_measured(const TrainingAnswer& p) {
  Request r = p.request();
  r.run.measured_tokens_per_s.reset();
  return {std::move(r), p.estimate()};
}

Section run_of(const TrainingAnswer& p) { return run_section(without_measured(p)); }

std::string whole_run_text(const TrainingAnswer& p) {
  const TrainingAnswer own = without_measured(p);
  return own.run().whole ? run_text(*own.run().whole) : "";
}

}  // namespace llmcalc
