#include "ask/answer/step_figures.hpp"

#include "ask/answer/conventions.hpp"
#include "calc/run.hpp"

namespace llmcalc {
namespace {

/// MFU that counts only causal pairs as work.
double causal_utilization(const Request& r, const TrainEstimate& e) {
  Plan causal = r.plan;
  causal.attention_flops = AttentionFlops::causal_exact;
  TrainEstimate of_causal = e;
  of_causal.flops = training_flops(r.model.arch, causal);
  return model_utilization(of_causal, e.estimate, causal, r.layout, r.hardware->cluster.device);
}

/// Whether a step under this layout can spend any time on a part.
bool can_have(const Request& r, Part p) {
  const Layout& l = r.layout;
  switch (p) {
    case Part::tp:
      return ranks(l, Group::tensor) > 1 || ranks(l, Group::expert_tensor) > 1;
    case Part::cp:
      return ranks(l, Group::context) > 1;
    case Part::ep:
      return ranks(l, Group::expert) > 1;
    case Part::dp:
      return ranks(l, Group::data) > 1;
    case Part::pp:
    case Part::imbalance:
    case Part::bubble:
      return ranks(l, Group::pipeline) > 1;
    case Part::offload:
      return r.plan.offload.any();
    case Part::matmul:
    case Part::attention:
    case Part::elementwise:
    case Part::host:
    case Part::optimizer:
      break;
  }
  return true;
}

std::vector<PartTime> parts_of(const Request& r, const StepTime& t) {
  std::vector<PartTime> parts;
  for (std::size_t i = 0; i < part_count; ++i)
    if (const auto part = static_cast<Part>(i); t.parts[i] != Seconds() || can_have(r, part))
      parts.push_back({part, t.parts[i]});
  return parts;
}

}  // namespace

StepFigures step_figures(const Request& r, const TrainEstimate& e) {
  const StepTime& t = e.estimate;
  const Device& device = r.hardware->cluster.device;
  StepFigures f{.gpus = devices(r.layout),
                .tokens_per_s = tokens_per_second(e, t),
                .mfu = model_utilization(e, t, r.plan, r.layout, device),
                .hfu = hardware_utilization(e, t, r.plan, r.layout, device),
                .parts = parts_of(r, t)};
  if (f.mfu > 1) f.causal_mfu = causal_utilization(r, e);
  const Time all = limits(t);
  const std::array by{all.compute, all.memory, all.communication, all.latency};
  for (std::size_t i = 0; i < by.size(); ++i) f.limits[i] = {bound_names[i], by[i]};
  f.bound = f.limits[static_cast<std::size_t>(bound(all))];
  return f;
}

std::vector<Utilization> utilization_by_convention(const Request& r, const TrainEstimate& e) {
  std::vector<Utilization> all;
  const double rate = tokens_per_second(e, e.estimate);
  const FlopsPerSecond peak = r.hardware->cluster.device.peak(r.plan.precision);
  for (const Convention& c : conventions(r.model.arch, r.plan, r.layout, r.hardware->cluster))
    all.push_back({c.key, c.formula, mfu(c.flops_per_token, rate, devices(r.layout), peak)});
  return all;
}

}  // namespace llmcalc
