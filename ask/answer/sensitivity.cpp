#include "ask/answer/sensitivity.hpp"

#include "ask/answer/stages.hpp"
#include "ask/request/software.hpp"
#include "calc/infer.hpp"
#include "calc/train.hpp"

namespace llmcalc {

namespace {

constexpr double better = 1.1;

void raise_level(Cluster& c, std::size_t level) { c.levels[level].bandwidth = better * c.levels[level].bandwidth; }
/// Raises the bandwidth of all levels between nodes.
void raise_network(Cluster& c) {
  for (std::size_t i = 1; i < c.levels.size(); ++i) raise_level(c, i);
}
void hurry_host(Achieved& a) {
  Software& w = a.software;
  for (Seconds* s : {&a.launch, &w.kernel, &w.collective, &w.step, &w.sequence}) *s = (1 / better) * *s;
}

/// Shortens the latencies of messages and collective rounds.
void hurry_links(Cluster& c) {
  for (std::size_t i = 0; i < c.levels.size(); ++i) c.levels[i].latency = (1 / better) * c.levels[i].latency;
  LinkRates& links = c.device.achieved.links;
  for (Seconds* s : {&links.start, &links.round_inside, &links.round_between}) *s = (1 / better) * *s;
}

/// Computes changes in an estimated time. `reached`: sets the device to the rates that the software achieves.
/// `seconds`: estimates the time on a cluster.
class TimeChanges {
 public:
  TimeChanges(const Request& r, Request (*reached)(Request), Seconds (*seconds)(const Request&, const Cluster&))
      : r_(r), reached_(reached), seconds_(seconds), now_(seconds(r, r.hardware->cluster)) {}

  std::vector<TimeChange> all() {
    const bool several = devices(r_.layout) > 1;
    with("peak", "matmul peak", [](HardwareCard& card) { scale_peaks(card, better); });
    with("bandwidth", "memory bandwidth",
         [](HardwareCard& card) { card.cluster.device.bandwidth = better * card.cluster.device.bandwidth; });
    const Cluster& c = r_.hardware->cluster;
    if (!c.levels.empty() && several) with("link", "link", [](HardwareCard& card) { raise_level(card.cluster, 0); });
    if (c.levels.size() > 1 && devices(r_.layout) > c.levels[0].ranks)
      with("network", "network", [](HardwareCard& card) { raise_network(card.cluster); });
    if (several) hurried("latency", "link latency", hurry_links);
    hurried("host", "launch overhead", [](Cluster& cluster) { hurry_host(cluster.device.achieved); });
    return std::move(all_);
  }

 private:
  void add(const char* key, const char* label, Seconds then) { all_.push_back({key, label, then / now_ - 1}); }
  /// Changes the hardware and derives the achieved rates from it.
  template <typename Change>
  void with(const char* key, const char* label, const Change& change) {
    Request other = r_;
    change(*other.hardware);
    add(key, label, seconds_(other, reached_(other).hardware->cluster));
  }
  /// Changes only the achieved rates.
  template <typename Hurry>
  void hurried(const char* key, const char* label, const Hurry& hurry) {
    Cluster c = r_.hardware->cluster;
    hurry(c);
    add(key, label, seconds_(r_, c));
  }

  std::vector<TimeChange> all_;
  const Request& r_;
  Request (*reached_)(Request);
  Seconds (*seconds_)(const Request&, const Cluster&);
  Seconds now_;
};

Seconds seconds_of_step(const Request& r, const Cluster& c) {
  return train(r.model.arch, r.plan, r.layout, c).estimate.total();
}
Seconds seconds_of_token(const Request& r, const Cluster& c) {
  return infer(r.model.arch, r.plan, r.layout, c).middle.estimate.total();
}

}  // namespace

std::vector<TimeChange> step_sensitivity(const Request& r) {
  if (!r.software) return {};
  Request same_plan = r;  // keeps the layer split, which other hardware might change
  same_plan.layout = with_stated_layers(r);
  return TimeChanges(same_plan, for_training, seconds_of_step).all();
}

std::vector<TimeChange> decode_sensitivity(const Request& r) {
  if (!r.engine) return {};
  return TimeChanges(r, for_inference, seconds_of_token).all();
}

}  // namespace llmcalc
