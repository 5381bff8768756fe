#pragma once
/// A device: a datasheet. Dense peaks only, one-way link bandwidth per device, 0 for what is not known.

#include <array>

#include "calc/formats/dtype.hpp"
#include "calc/links/torus.hpp"
#include "calc/software.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// A link between devices. bandwidth: one way, per device; 0: no such link. latency 0: unknown, counted as none.
struct Link {
  Count ranks = 0;  ///< devices that the link joins; 0: any number; 1: unknown, so that no group can use it
  BytesPerSecond bandwidth;
  Seconds latency{};
  bool reduces = false;  ///< its switches sum what ranks send, and send the sum to all of them
  Torus torus{};         ///< of the devices that it joins, or of a group's ranks; bandwidth: of all links of a device
  Count wraps = 0;       ///< side of the cubes of which a slice's axes are rings; 0: only whole axes are
};

/// Rates that collectives reach on links, in place of the datasheet's. The defaults are those of an ideal link.
struct LinkRates {
  double inside = 1, between = 1;  ///< achieved share of the bandwidth: on the innermost level, and on the others
  Seconds round_inside{}, round_between{};  ///< of one round; what the link itself states, where that is longer
  Seconds start{};                          ///< to start a collective
  /// Whether short messages travel over trees between nodes: no collective of n ranks then waits longer than for 2
  /// log2(n) + 4 rounds in each of its passes.
  bool trees = false;
  /// Share of the bandwidth and time of a round on the innermost level, or on an outer one.
  constexpr double share(bool outer) const { return outer ? between : inside; }
  constexpr Seconds round(bool outer) const { return outer ? round_between : round_inside; }
  constexpr bool operator==(const LinkRates&) const = default;
};

/// FLOP/s of attention's core, its memory time included; forward 0: as a matmul; backward 0: as forward.
struct CoreRates {
  FlopsPerSecond forward, backward;
  constexpr FlopsPerSecond of(bool is_backward) const { return is_backward && backward.value > 0 ? backward : forward; }
};

template <typename T>
constexpr std::array<T, peak_count> for_each_format(T x) {
  std::array<T, peak_count> all{};
  all.fill(x);
  return all;
}

/// Fractions of the datasheet's peaks: measured on the device, or estimated from its architecture and the software that
/// runs on it. A field that is not known has the value that leaves it out.
struct Achieved {
  bool present = false;
  std::array<double, peak_count> matmul = for_each_format(1.0);  ///< achieved / peak FLOP/s of a large matmul
  double memory = 1;                                             ///< achieved / peak bytes/s of a large copy
  LinkRates links{};                                             ///< of collectives
  Software software{};                                           ///< that runs on it
  Seconds launch;                                                ///< time of an empty kernel
  Bytes overhead;  ///< memory that the driver, libraries and kernels take before any tensor; 0: not known

  // Rates of single operators, by the format that they multiply in.
  std::array<CoreRates, peak_count> flash{}, naive{};  ///< attention's core
  std::array<CoreRates, peak_count> plain{};           ///< flash attention without tensor cores
  std::array<double, peak_count> half_matmul{};  ///< FLOPs of a matmul at half its rate: n1/2 (Hockney & Jesshope 1981)
  /// Share of its rate that an unaligned matmul keeps: one whose rows do not begin on 16 bytes (roofline.hpp,
  /// aligned()).
  std::array<double, peak_count> unaligned = for_each_format(1.0);
  /// Share of the shorter of a matmul's compute and memory time that is added to the longer. 0: fully overlapped;
  /// 1: not overlapped; above 1: strided operands load more slowly than a plain copy.
  std::array<double, peak_count> exposed{};
  Seconds launch_backward;  ///< launch time of an operator's gradient (possibly several kernels); 0: as launch
  Seconds recorded,
      recorded_backward;  ///< the same where steps and tokens run from recordings (CUDA graphs); 0: none do
  double functions = 0;   ///< exponentials and the like per second in element-wise kernels; 0: never the bound
  BytesPerSecond cache;   ///< of element-wise kernels whose tensors fit into Device::cache; 0: as memory
};

/// The host of a device: the way there, in each direction, the bandwidth of its memory and the bytes there, each the
/// device's own share; 0: not known.
struct HostSide {
  BytesPerSecond link, memory;
  Bytes capacity{};
  constexpr bool holds(Bytes b) const { return capacity == Bytes() || b <= capacity; }
};

struct Device {
  Bytes memory;
  BytesPerSecond bandwidth;
  std::array<FlopsPerSecond, peak_count> peaks{};  ///< indexed by Peak; 0: the device cannot
  Bytes cache;
  Achieved achieved;
  HostSide host{};

  constexpr FlopsPerSecond peak(DType t) const { return of(peaks, t); }

  /// The element of a table by format; 0 for a format that is for storage only.
  template <typename T>
  static constexpr T of(const std::array<T, peak_count>& by_format, DType t) {
    const Peak p = t.format().peak;
    return p == Peak::none ? T() : by_format[static_cast<std::size_t>(p)];
  }
};

}  // namespace llmcalc
