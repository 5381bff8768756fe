#include "calc/infer.hpp"

#include <algorithm>
#include <limits>

#include "calc/search.hpp"

namespace llmcalc {
namespace {

/// Bytes of device memory that a plan may use.
double usable(const Plan& plan, const Device& device) {
  return static_cast<double>(device.memory.value) * plan.memory_utilization;
}

}  // namespace

PassEstimate prefill(const Arch& arch, const Plan& plan, const Layout& layout, const PassStages& stages, Count tokens) {
  return staged_pass(stages, plan, layout, stages.prompt_parts,
                     [&](const Device& d) { return price_prefill(arch, plan, layout, d, tokens); });
}

PassEstimate decode(const Arch& arch, const Plan& plan, const Layout& layout, const PassStages& stages, Count context) {
  return staged_pass(stages, plan, layout, 1,
                     [&](const Device& d) { return price_decode(arch, plan, layout, d, context); });
}

PassEstimate drafted(const Arch& arch, const Plan& plan, const Layout& layout, const PassStages& stages,
                     Count context) {
  const Step step = drafting_step(plan, context);
  return staged_pass(stages, plan, layout, 1,
                     [&](const Device& d) { return price_pass(arch, plan, layout, d, step, Phase::decode); });
}

PassEstimate prefill(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count tokens) {
  return assemble_pass(price_prefill(arch, plan, layout, cluster.device, tokens), plan, layout, cluster);
}

PassEstimate decode(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count context) {
  return assemble_pass(price_decode(arch, plan, layout, cluster.device, context), plan, layout, cluster);
}

PassEstimate drafted(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count context) {
  const Step step = drafting_step(plan, context);
  return assemble_pass(price_pass(arch, plan, layout, cluster.device, step, Phase::decode), plan, layout, cluster);
}

DecodeSteps::DecodeSteps(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster)
    : arch_(arch),
      plan_(plan),
      layout_(layout),
      cluster_(cluster),
      end_(add(plan.prompt, plan.generate)),
      first_(arch, plan, layout, cluster, end_) {}

DecodeSteps::DecodeSteps(const Arch& arch, const Plan& plan, const Layout& layout, PassStages stages)
    : arch_(arch),
      plan_(plan),
      layout_(layout),
      stages_(std::move(stages)),
      cluster_(stages_->all[0].cluster),
      end_(add(plan.prompt, plan.generate)),
      first_(arch, stages_->all[0].chunk, plan, layout, cluster_, end_) {
  for (std::size_t i = 1; i < stages_->all.size(); ++i)
    more_.emplace_back(arch, stages_->all[i].chunk, plan, layout, stages_->all[i].cluster, end_);
}

PassEstimate DecodeSteps::at(Count context) const {
  if (!plan_.kv_cache)
    return more_.empty() ? prefill(arch_, plan_, layout_, cluster_, context)
                         : prefill(arch_, plan_, layout_, *stages_, context);
  if (more_.empty()) return first_.at(context);
  std::vector<PassEstimate> each{first_.at(context)};
  for (std::size_t i = 0; i < more_.size(); ++i) {
    each.push_back(more_[i].at(context));
    add_send(each.back(), more_[i].prices(), *stages_, i + 1, layout_);
  }
  return in_sequence(each, 1);
}

Bytes DecodeSteps::workspace() const {
  const bool is_plain = plan_.kv_cache && plan_.mtp == 0;
  return is_plain ? first_.workspace() : pass_workspace(price_last(arch_, plan_, layout_, {}));
}

BothSeconds DecodeSteps::seconds(Count context) const {
  const PassTime t = at(context);
  return {t.bound.total().value, t.estimate.total().value};
}

namespace {

/// The estimate of a generation from its prefill, its decode steps and its memory.
InferEstimate whole_estimate(const Plan& plan, const PassEstimate& prefill, const DecodeSteps& steps,
                             const Memory& memory, bool estimated) {
  InferEstimate e{.memory = memory,
                  .prefill = prefill,
                  .middle = steps.at(plan.prompt + plan.generate / 2),
                  .first = steps.at(plan.prompt + 1),
                  .last = steps.at(plan.prompt + plan.generate),
                  .bound = {},
                  .estimate = {},
                  .estimated = estimated};
  BothSeconds sum;
  steps.for_each_stretch([&](const Stretch& s) { sum = sum + s.sum(); });
  const Seconds bound = e.prefill.bound.total(), estimate = e.prefill.estimate.total();
  e.bound = {bound, bound + Seconds(sum.bound)};
  e.estimate = {estimate, estimate + Seconds(sum.estimate)};
  return e;
}

}  // namespace

InferEstimate infer(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  const DecodeSteps steps(arch, plan, layout, cluster);
  const Prices prompt = price_prefill(arch, plan, layout, cluster.device, plan.prompt);
  const Memory memory = inference_memory(prompt, steps.workspace(), plan, layout, cluster.device.achieved.overhead);
  return whole_estimate(plan, assemble_pass(prompt, plan, layout, cluster), steps, memory, prompt.estimated);
}

InferEstimate infer(const Arch& arch, const Plan& plan, const Layout& layout, const PassStages& stages) {
  const Device& device = stages.all[0].cluster.device;
  const DecodeSteps steps(arch, plan, layout, stages);
  const Prices prompt = price_prefill(arch, plan, layout, device, plan.prompt);
  const Memory memory = inference_memory(prompt, steps.workspace(), plan, layout, device.achieved.overhead);
  return whole_estimate(plan, prefill(arch, plan, layout, stages, plan.prompt), steps, memory, prompt.estimated);
}

namespace {
constexpr Count largest_batch = Count{1} << 24;
Count longest_context(const Arch& a) { return a.learned_rows() > 0 ? a.learned_rows() : longest_searched; }
}  // namespace

Plan with_batch(Plan plan, Count batch) {
  plan.batch = batch;
  return plan;
}

Plan with_context(Plan plan, Count context) {
  plan.generate = std::clamp<Count>(context - 1, 0, plan.generate);
  plan.prompt = context - plan.generate;
  return plan;
}

namespace {
/// Abscissa at which the line through (a, at_a) and (b, at_b) crosses `level`; used as an initial guess.
Count crossing(Count a, double at_a, Count b, double at_b, double level) {
  const double n = static_cast<double>(a) + (level - at_a) / (at_b - at_a) * static_cast<double>(b - a);
  return n > 1 && n < 1e15 ? static_cast<Count>(n) : 1;
}
}  // namespace

Limits limits(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device) {
  if (!plan.kv_cache) return {};
  const double room = usable(plan, device), endless = std::numeric_limits<double>::infinity();
  const Count longest = longest_context(arch);
  const auto peak = [&](const Plan& p) {
    try {
      return static_cast<double>(inference_memory(arch, p, layout, device.achieved.overhead).peak.value);
    } catch (const Overflow&) {
      return endless;
    }
  };
  const auto of_batch = [&](Count n) { return peak(with_batch(plan, n)); };
  const auto of_context = [&](Count n) { return n > longest ? endless : peak(with_context(plan, n)); };
  const auto largest = [&](const auto& peak_of, Count most, Count sample) {
    const Count guess = crossing(1, peak_of(1), sample, peak_of(sample), room);
    const std::optional<Count> n = first(
        most, [&](Count i) { return peak_of(i) > room; }, guess);
    return n ? std::optional(*n - 1) : n;
  };
  return {largest(of_batch, largest_batch, 2), largest(of_context, longest + 1, 4096)};
}

std::optional<Count> cache_equals_weights_context(const Arch& arch, const Plan& plan, const Layout& layout) {
  const Prices held = price_holdings(arch, plan, layout);
  const double weights = static_cast<double>(weights_bytes(held, plan.weight_precision).value);
  return first(longest_searched, [&](Count context) {
    return static_cast<double>(plan.batch) * static_cast<double>(cache_bytes(held, context).value) >= weights;
  });
}

std::optional<Count> compute_bound_batch(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device,
                                         Count context) {
  return first(largest_batch, [&](Count batch) {
    Plan one = with_batch(plan, batch);
    one.roofline = Roofline::step;
    const Prices step = price_pass(arch, one, layout, device, decode_step(one, context), Phase::decode);
    return assemble_pass(step, one, layout, {}).bound.compute > Seconds();
  });
}

}  // namespace llmcalc
