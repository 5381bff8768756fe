#include "report/train/measured_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/answer/interval.hpp"
#include "ask/request/check/measured.hpp"
#include "calc/roofline.hpp"
#include "calc/run.hpp"
#include "report/interval.hpp"
#include "report/question.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {

void note_measured_scale(const TrainingAnswer& a, Report& report) {
  const Request& r = a.request();
  const std::optional<double> scale = a.measured_scale();
  if (!scale) return;
  const auto rate_text = [](double tokens_per_s) {
    return human_text(Quantity(tokens_per_s), Unit::tokens_per_second);
  };
  const auto interval = a.class_interval();
  const bool outside = interval && std::max(*scale, 1 / *scale) > interval->factor;
  report.notes.push_back(
      {"measured_scale",
       fmt::format(
           "the measured {} is {:.3g} times the estimated {}{}; for other plans on this machine, multiply the "
           "estimated "
           "times by {:.3g}, the square root of the time ratio, because half of the error is specific to one run",
           rate_text(*r.run.measured_tokens_per_s), 1 / *scale, rate_text(a.step().tokens_per_s),
           outside ? ", a larger error than for 9 of 10 measurements, so check that the plan matches the measured one"
                   : "",
           rescale(*scale))});
}

void note_beyond_device(const Request& r, double tokens_per_s, Report& report) {
  const double share = share_of_peak(r, tokens_per_s);
  if (share <= 1) return;
  report.notes.insert(
      report.notes.begin(),
      {"measured_beyond_peak",
       fmt::format("the measured step is faster than the device peak allows; with estimates rescaled to "
                   "this measurement, the best plan reaches {:.4g} % of the peak of {} {} in {}; check "
                   "--measured-tokens-per-s and --measured-plan",
                   100 * share, devices(r.layout), r.hardware->name, r.plan.precision.name())});
}

namespace {
/// The effect of a measured step on the interval of other plans.
std::string low_precision_text(const Request& r) {
  const auto now = interval_of(r);
  if (!now) return "no interval is available";
  const EstimateInterval& before = training_estimator().interval(class_of(r));
  if (now->factor == before.factor) return "their intervals are as wide as for any run of their class";
  return fmt::format(
      "their intervals are a factor of {:.3g} in either direction instead of {:.3g}, from the errors of {} sources "
      "whose steps are predicted from one another",
      now->factor, before.factor, now->families);
}
}  // namespace

void note_rescaled(const Request& r, const Request& measured, Report& report) {
  const auto found = std::find_if(report.sections.begin(), report.sections.end(),
                                  [](const Section& s) { return s.key == "estimate"; });
  Section& estimate =
      found != report.sections.end() ? *found : report.sections.emplace_back(Section{"estimate", "", {}});
  estimate.add("measured_scale", "", r.run.measured_scale);
  report.notes.insert(report.notes.begin(),
                      {"rescaled_by_measurement",
                       fmt::format("times are estimates multiplied by {:.3g}, the square root of the error of a "
                                   "measured step: {} on {} at tp {}, cp {}, ep {}, pp {}, dp {}, micro-batch {}; {}",
                                   rescale(r.run.measured_scale),
                                   human_text(Quantity(*measured.run.measured_tokens_per_s), Unit::tokens_per_second),
                                   counted(devices(measured.layout), "GPU"), ranks(measured.layout, Group::tensor),
                                   ranks(measured.layout, Group::context), ranks(measured.layout, Group::expert),
                                   ranks(measured.layout, Group::pipeline), measured.layout.dp,
                                   measured.plan.micro_batch, low_precision_text(r))});
}

}  // namespace llmcalc
