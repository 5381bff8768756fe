#include "ask/answer/stages.hpp"

#include <algorithm>

namespace llmcalc {

const Stage& Stages::fullest() const {
  return *std::max_element(stages.begin(), stages.end(),
                           [](const Stage& a, const Stage& b) { return a.memory.peak < b.memory.peak; });
}

Bytes Stages::most_on_host() const {
  Bytes most;
  for (const Stage& s : stages) most = std::max(most, s.memory.host);
  return most;
}

Stages stages_of(const Request& r) {
  const Cluster cluster = r.hardware ? r.hardware->cluster : Cluster{};
  const Prices prices = price(r.model.arch, r.plan, r.layout, cluster.device);
  Stages all{partition(prices, r.plan, r.layout, cluster), {}};
  for (Count rank = 0; rank < ranks(r.layout, Group::pipeline); ++rank)
    all.stages.push_back(stage(prices, r.plan, r.layout, all.partition, rank, process_bytes(r)));
  return all;
}

Partition partition_of(const Request& r) {
  const Cluster cluster = r.hardware ? r.hardware->cluster : Cluster{};
  return partition(price(r.model.arch, r.plan, r.layout, cluster.device), r.plan, r.layout, cluster);
}

Layout with_stated_layers(const Request& r) {
  Layout l = r.layout;
  const Partition p = partition_of(r);
  if (p.size() < 2 || static_cast<std::size_t>(p.size()) > StageLayers::capacity) return l;
  l.stage_layers = {};
  for (Count q = 0; q < p.size(); ++q) l.stage_layers.push(p[q].layers());
  return l;
}

}  // namespace llmcalc
