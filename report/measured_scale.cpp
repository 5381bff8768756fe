#include "report/measured_scale.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/software.hpp"
#include "text/counted.hpp"

namespace llmcalc {

std::optional<double> measured_scale(const Request& r, const TrainEstimate& e) {
  if (!r.software || !r.run.measured_tokens_per_s) return std::nullopt;
  return tokens_per_second(e, e.estimate) / *r.run.measured_tokens_per_s;
}

void note_measured_scale(const Request& r, const TrainEstimate& e, Report& report) {
  const std::optional<double> scale = measured_scale(r, e);
  if (!scale) return;
  const auto rate = [](double tokens_per_s) { return human_text(Quantity(tokens_per_s), Unit::tokens_per_second); };
  const auto interval = interval_of(r);
  const bool outside = interval && std::max(*scale, 1 / *scale) > interval->factor;
  report.notes.push_back(fmt::format(
      "the measured {} are {:.3g} times the estimated {}{}; other plans on this machine: multiply their estimated "
      "times "
      "by {:.3g}",
      rate(*r.run.measured_tokens_per_s), 1 / *scale, rate(tokens_per_second(e, e.estimate)),
      outside ? ", further off than 9 of 10 measurements are, so check that the plan is the measured one" : "",
      *scale));
}

StepTime rescaled(const Request& r, StepTime t) {
  for (Seconds& part : t.parts) part = r.run.measured_scale * part;
  return t;
}

void note_rescaled(const Request& r, const Request& measured, Report& report) {
  const auto found = std::find_if(report.sections.begin(), report.sections.end(),
                                  [](const Section& s) { return s.key == "estimate"; });
  Section& estimate =
      found != report.sections.end() ? *found : report.sections.emplace_back(Section{"estimate", "", {}});
  estimate.add("measured_scale", "", r.run.measured_scale);
  report.notes.insert(
      report.notes.begin(),
      fmt::format("times are estimates times {:.3g}, by which a measured step is off: {} of {} at tp {}, cp {}, ep "
                  "{}, pp {}, dp {}, micro-batch {}; their intervals keep the width of their class",
                  r.run.measured_scale,
                  human_text(Quantity(*measured.run.measured_tokens_per_s), Unit::tokens_per_second),
                  counted(devices(measured.layout), "GPU"), ranks(measured.layout, Group::tensor),
                  ranks(measured.layout, Group::context), ranks(measured.layout, Group::expert),
                  ranks(measured.layout, Group::pipeline), measured.layout.dp, measured.plan.micro_batch));
}

}  // namespace llmcalc
