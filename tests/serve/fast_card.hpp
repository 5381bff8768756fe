#pragma once
/// A card about as fast as an A100, with all values that an estimate of inference needs.

#include "calc/cluster.hpp"

namespace llmcalc::test {

inline Cluster fast_card() {
  Device d;
  d.memory = Bytes(Count{80} << 30);
  d.bandwidth = BytesPerSecond(2e12);
  d.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(3e14);
  d.achieved.present = true;
  d.achieved.matmul = for_each_format(0.7);
  d.achieved.memory = 0.8;
  d.achieved.launch = Seconds(4e-6);
  d.achieved.recorded = Seconds(1e-6);
  d.achieved.software.step = Seconds(1e-3);
  d.achieved.software.sequence = Seconds(2e-5);
  Cluster c;
  c.device = d;
  c.levels.push({.ranks = 8, .bandwidth = BytesPerSecond(3e11), .latency = Seconds(3e-6)});
  return c;
}

}  // namespace llmcalc::test
