#pragma once
/// Where a plan runs: a datasheet. Dense peaks only, one-way link bandwidth per device, 0 for what is not known.

#include <array>

#include "calc/dtype.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// A way from one device to another. bandwidth: one way, per device. latency 0: not known, and counted as none.
struct Link {
  Count ranks = 0;  ///< devices that the link joins; 0: there is no such link
  BytesPerSecond bandwidth;
  Seconds latency;
};

/// Measured fractions of the datasheet's peaks. All of them are measurements: a guess has no place here.
struct Achieved {
  bool present = false;
  double matmul = 1;  ///< achieved / peak FLOP/s of a large matmul
  double memory = 1;  ///< achieved / peak bytes/s of a large copy
  double link = 1;    ///< achieved / peak bytes/s of a large all-reduce
  Seconds launch;     ///< time of an empty kernel
};

struct Device {
  Bytes memory;
  BytesPerSecond bandwidth;
  std::array<FlopsPerSecond, peak_count> peaks{};  ///< indexed by Peak; 0: the device cannot
  Bytes cache;
  Link link;     ///< inside a node: NVLink, Infinity Fabric, ICI
  Link network;  ///< between nodes, per device
  Achieved achieved;

  constexpr FlopsPerSecond peak(DType t) const {
    const Peak p = t.format().peak;
    return p == Peak::none ? FlopsPerSecond() : peaks[static_cast<std::size_t>(p)];
  }
};

}  // namespace llmcalc
