#include "report/sensitivity.hpp"

#include "report/software.hpp"

namespace llmcalc {
namespace {

constexpr double better = 1.1;

void raise_peaks(Device& d) {
  for (FlopsPerSecond& peak : d.peaks) peak = better * peak;
}
void raise_level(Cluster& c, std::size_t level) { c.levels[level].bandwidth = better * c.levels[level].bandwidth; }
void hurry_host(Achieved& a) {
  for (Seconds* s : {&a.launch, &a.software.kernel, &a.software.collective, &a.software.step}) *s = (1 / better) * *s;
}

/// The estimate's seconds on another cluster.
Seconds seconds_on(const Request& r, const Cluster& c) {
  return train(r.model.arch, r.plan, r.layout, c).estimate.total();
}

}  // namespace

Section sensitivity_section(const Request& r, const TrainEstimate& e) {
  Section s{"sensitivity", "a tenth more of it changes the step by", {}};
  const double now = e.estimate.total().value;
  const auto add = [&](const char* key, const char* label, Seconds then) {
    s.add(key, label, then.value / now - 1, Unit::ratio);
  };
  const auto with = [&](const auto& change) {
    Request other = r;
    change(other.hardware->cluster);
    return seconds_on(other, for_training(other).hardware->cluster);
  };
  add("peak", "matmul peak", with([](Cluster& c) { raise_peaks(c.device); }));
  add("bandwidth", "memory bandwidth", with([](Cluster& c) { c.device.bandwidth = better * c.device.bandwidth; }));
  const std::size_t levels = r.hardware->cluster.levels.size();
  if (levels > 0 && devices(r.layout) > 1) add("link", "link", with([](Cluster& c) { raise_level(c, 0); }));
  if (levels > 1 && devices(r.layout) > r.hardware->cluster.levels[0].ranks)
    add("network", "network", with([](Cluster& c) { raise_level(c, 1); }));
  Cluster hurried = r.hardware->cluster;
  hurry_host(hurried.device.achieved);
  add("host", "speed of the host", seconds_on(r, hurried));
  return s;
}

}  // namespace llmcalc
