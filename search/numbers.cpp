#include "search/numbers.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

Seconds compute(const PassPrice& pass) { return pass.bound.compute; }

/// Lower bound on the time of matmuls at the peak rate.
Seconds matmul_compute(const PassPrice& pass) {
  const Seconds others = pass.bound_work.attention + pass.bound_work.elementwise;
  return std::max(Seconds(), pass.bound.compute - others);
}

/// Sum of `of` over all passes of all sequences in a step.
Seconds over_sequences(const Space& space, Seconds (*of)(const PassPrice&)) {
  Plan plan = space.plan;
  plan.micro_batch = 1;
  const Prices prices = price(space.arch, plan, {}, space.cluster.device);
  Seconds sequence;
  for (const LayerPrice& row : prices.rows)
    sequence += static_cast<double>(row.layers) * (of(row.forward) + of(row.backward_input) + of(row.backward_weight));
  return static_cast<double>(space.plan.global_batch) * sequence;
}

}  // namespace

std::vector<Count> numbers_up_to(Count most) {
  std::vector<Count> all = powers_up_to(most);
  if (all.empty() || all.back() != most) all.push_back(most);
  return all;
}

bool holds_layout(const Space& space, Count gpus) {
  if (gpus > 1 && joining_link(space.cluster, gpus).bandwidth.value <= 0) return false;
  Space one = space;
  one.gpus = {gpus};
  return any_possible(one);
}

Seconds least_device_seconds(const Space& space) { return over_sequences(space, compute); }

Seconds least_estimated_device_seconds(const Space& space) {
  const Achieved& a = space.cluster.device.achieved;
  const double share = std::max(Device::of(a.matmul, space.plan.precision), Device::of(a.matmul, space.plan.working));
  const Seconds at_peak = least_device_seconds(space);
  return share <= 0 ? at_peak : std::max(at_peak, (1 / share) * over_sequences(space, matmul_compute));
}

std::vector<OfNumber> search_numbers(const Space& space, const Searching& searching) {
  std::vector<OfNumber> all;
  Space one = space;
  for (const Count n : space.gpus) {
    one.gpus = {n};
    all.push_back({n, searching(one)});
    if (all.back().found.stopped) break;
  }
  return all;
}

std::vector<Count> joined_numbers(const Space& space) {
  std::vector<Count> all = space.gpus;
  std::erase_if(all, [&](Count n) { return n > 1 && joining_link(space.cluster, n).bandwidth.value <= 0; });
  return all;
}

Seconds run_time(const Space& space, const Found& f, double tokens) {
  const double of_step = static_cast<double>(mul(space.plan.global_batch, space.plan.seq));
  return tokens / of_step * f.step;
}

FewestGpus fewest_gpus(const Space& space, Count least, Count most,
                       const std::function<bool(const Space&, const Found&)>& reaches, const Searching& searching) {
  FewestGpus all;
  Space one = space;
  /// Searches n devices. Returns whether the scan ends, because n devices reach the goal or because the search was
  /// stopped.
  const auto ends = [&](Count n) {
    one.gpus = {n};
    const OfNumber& tried = all.tried.emplace_back(OfNumber{n, searching(one)});
    all.stopped = tried.found.stopped;
    if (all.stopped) return true;
    if (tried.found.best.empty() || !reaches(one, tried.found.best[0])) return false;
    all.found = tried.found.best[0];
    return true;
  };
  const std::vector<Count> first = numbers_up_to(most);
  std::find_if(first.begin(), first.end(), ends);
  const Count high = all.found ? all.found->candidate.gpus : most;
  for (Count n = least; n < high && !all.stopped; ++n)
    if (std::find(first.begin(), first.end(), n) == first.end() && holds_layout(space, n) && ends(n)) break;
  std::sort(all.tried.begin(), all.tried.end(), [](const OfNumber& a, const OfNumber& b) { return a.gpus < b.gpus; });
  return all;
}

}  // namespace llmcalc
