#include "report/sensitivity.hpp"

#include "report/software.hpp"

namespace llmcalc {
namespace {

constexpr double better = 1.1;

void raise_level(Cluster& c, std::size_t level) { c.levels[level].bandwidth = better * c.levels[level].bandwidth; }
void hurry_host(Achieved& a) {
  for (Seconds* s : {&a.launch, &a.software.kernel, &a.software.collective, &a.software.step}) *s = (1 / better) * *s;
}

/// Messages and rounds of links take less time.
void hurry_links(Cluster& c) {
  for (std::size_t i = 0; i < c.levels.size(); ++i) c.levels[i].latency = (1 / better) * c.levels[i].latency;
  LinkRates& links = c.device.achieved.links;
  for (Seconds* s : {&links.start, &links.round_inside, &links.round_between}) *s = (1 / better) * *s;
}

/// The estimate's seconds on another cluster.
Seconds seconds_on(const Request& r, const Cluster& c) {
  return train(r.model.arch, r.plan, r.layout, c).estimate.total();
}

}  // namespace

Section sensitivity_section(const Request& r, const TrainEstimate& e) {
  Section s{"sensitivity", "a tenth more of it changes the step by", {}};
  if (!r.software) return s;
  const double now = e.estimate.total().value;
  const auto add = [&](const char* key, const char* label, Seconds then) {
    s.add(key, label, then.value / now - 1, Unit::ratio);
  };
  const auto with = [&](const auto& change) {
    Request other = r;
    change(*other.hardware);
    return seconds_on(other, for_training(other).hardware->cluster);
  };
  add("peak", "matmul peak", with([](HardwareCard& card) { scale_peaks(card, better); }));
  add("bandwidth", "memory bandwidth",
      with([](HardwareCard& card) { card.cluster.device.bandwidth = better * card.cluster.device.bandwidth; }));
  const std::size_t levels = r.hardware->cluster.levels.size();
  if (levels > 0 && devices(r.layout) > 1)
    add("link", "link", with([](HardwareCard& card) { raise_level(card.cluster, 0); }));
  if (levels > 1 && devices(r.layout) > r.hardware->cluster.levels[0].ranks)
    add("network", "network", with([](HardwareCard& card) { raise_level(card.cluster, 1); }));
  const auto hurried = [&](const auto& hurry) {
    Cluster c = r.hardware->cluster;
    hurry(c);
    return seconds_on(r, c);
  };
  if (devices(r.layout) > 1) add("latency", "speed of links' starts", hurried(hurry_links));
  add("host", "speed of the host", hurried([](Cluster& c) { hurry_host(c.device.achieved); }));
  return s;
}

}  // namespace llmcalc
