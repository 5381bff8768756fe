#include "report/plan/planned.hpp"

#include "ask/answer/measured_scale.hpp"
#include "ask/answer/process_estimate.hpp"
#include "report/plan/plan_report.hpp"
#include "report/train/run_section.hpp"
#include "report/verdict.hpp"

namespace llmcalc {

Planned planned(const Request& r, const Space& space, const Candidate& c) {
  Planned p{.request = request_of(r, space, c)};
  p.estimate = train(p.request.model.arch, p.request.plan, p.request.layout, p.request.hardware->cluster);
  p.estimate.estimate = rescaled(r, p.estimate.estimate);
  p.process = process_estimate(p.request);
  return p;
}

Section run_of(const Planned& p) {
  Request r = p.request;
  r.run.measured_tokens_per_s.reset();  // of another plan; its scale is in the estimate
  return run_section(r, p.estimate);
}

std::string whole_run_text(const Planned& p) {
  Report r;
  r.sections = {run_of(p)};
  return r.row("run.days") == nullptr ? "" : run_text(r);
}

bool process_fits(const Planned& p) { return !p.process || fits(*p.process, p.request.hardware->cluster.device); }

}  // namespace llmcalc
