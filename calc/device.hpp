#pragma once
/// Datasheet values of a device: dense peaks, one-way link bandwidth per device, 0 for unknown values.

#include <array>

#include "calc/formats/dtype.hpp"
#include "calc/links/torus.hpp"
#include "calc/software.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// A link between devices. bandwidth: one way, per device; 0: no such link. latency 0: unknown, counted as 0.
struct Link {
  Count ranks = 0;  ///< number of devices that the link connects; 0: any number; 1: unknown, so no group can use it
  BytesPerSecond bandwidth;
  Seconds latency{};
  bool reduces = false;  ///< whether its switches can sum the data of all ranks and send the sum to every rank
  Torus torus{};         ///< torus of the connected devices, or of a group's ranks; `bandwidth` is then the sum over a
                         ///< device's links
  Count wraps = 0;  ///< side of a cube: axes are rings if all their lengths are multiples of this side; 0: only whole
                    ///< axes are rings
};

/// Rates that collectives achieve on links, relative to the datasheet. The defaults describe an ideal link.
struct LinkRates {
  double inside = 1, between = 1;  ///< achieved share of the bandwidth on the innermost level and on outer levels
  Seconds round_inside{}, round_between{};  ///< time of one round; the link's own latency if that is longer
  Seconds start{};                          ///< time to start a collective
  /// Whether short messages use trees between nodes. If so, each pass of a collective over n ranks takes at most 2
  /// log2(n) + 4 rounds.
  bool trees = false;
  double latencies = 1;  ///< factor on the latencies of links
  /// Achieved share of the bandwidth, and the time of a round, on an outer level or on the innermost level.
  constexpr double share(bool outer) const { return outer ? between : inside; }
  constexpr Seconds round(bool outer) const { return outer ? round_between : round_inside; }
  constexpr bool operator==(const LinkRates&) const = default;
};

/// FLOP/s of the attention core, including its memory time. forward 0: same as a matmul; backward 0: same as forward.
struct CoreRates {
  FlopsPerSecond forward, backward;
  constexpr FlopsPerSecond of(bool is_backward) const { return is_backward && backward.value > 0 ? backward : forward; }
  constexpr bool operator==(const CoreRates&) const = default;
};

template <typename T>
constexpr std::array<T, peak_count> for_each_format(T x) {
  std::array<T, peak_count> all{};
  all.fill(x);
  return all;
}

/// Factors on the estimated times of inference passes, from a run measured on the device; 1: not measured.
struct PassPace {
  double prompt = 1, decode = 1;
  constexpr bool operator==(const PassPace&) const = default;
};

/// Fractions of the datasheet's peaks, measured on the device or estimated from its architecture and software.
/// The default of an unknown field disables its term.
struct Achieved {
  bool present = false;
  std::array<double, peak_count> matmul = for_each_format(1.0);  ///< achieved / peak FLOP/s of a large matmul
  double fastest = 1;  ///< rate of the software's fastest matmul / peak of its format; above 1 if it multiplies or adds
                       ///< in a narrower format
  double memory = 1;   ///< achieved / peak bytes/s of a large copy
  double host_memory = 1, host_compute = 1;  ///< achieved / peak bytes/s of the host's memory and FLOP/s of its matmuls
  double host_link = 1;                      ///< achieved / peak bytes/s of copies of weights from the host
  LinkRates links{};                         ///< achieved rates of collectives
  Software software{};                       ///< overheads of the software on the device
  PassPace pace{};
  Seconds launch;  ///< time of an empty kernel
  Bytes overhead;  ///< memory used by driver, libraries and kernels before any tensor is allocated; 0: unknown

  // Rates of individual operators, by format of the matmuls.
  std::array<CoreRates, peak_count> flash{}, naive{};  ///< rates of the attention core
  std::array<CoreRates, peak_count> plain{};           ///< rates of flash attention without tensor cores
  std::array<double, peak_count> half_matmul{};        ///< number of FLOPs at which a matmul reaches half its peak
                                                       ///< rate: n1/2 (Hockney & Jesshope 1981)
  /// Fraction of the rate that a matmul reaches if its rows do not start at multiples of 16 bytes (aligned() in
  /// roofline.hpp).
  std::array<double, peak_count> unaligned = for_each_format(1.0);
  /// Share of the shorter of a matmul's compute and memory time that is added to the longer. 0: full overlap; 1: no
  /// overlap; above 1: strided operands load more slowly than a plain copy.
  std::array<double, peak_count> exposed{};
  Seconds launch_backward;  ///< launch overhead of the kernels of an operator's gradient; 0: same as launch
  Seconds recorded,
      recorded_backward;  ///< `launch` and `launch_backward` for training steps and decode steps that run as CUDA
                          ///< graphs; 0: no graphs
  double functions = 0;   ///< special functions (exp and similar) per second in element-wise kernels; 0: unlimited
  BytesPerSecond cache;   ///< bandwidth of element-wise kernels whose tensors fit into Device::cache; 0: same as memory
  constexpr bool operator==(const Achieved&) const = default;
};

/// The host of a device: one-way bandwidth of the link to the host, and bandwidth and capacity of host memory, each the
/// device's share; 0: unknown.
struct HostSide {
  BytesPerSecond link, memory;
  Bytes capacity{};
  // For decoding with weights in host memory. `computes`: whether the host runs the operators that use these weights,
  // instead of sending the weights over the link. `compute`: the host's matmul rate. `start`: time to start an
  // operator on the host, including the copy of its input.
  bool computes = false;
  FlopsPerSecond compute{};
  Seconds start{};
  constexpr bool holds(Bytes b) const { return capacity == Bytes() || b <= capacity; }
};

struct Device {
  Bytes memory;
  BytesPerSecond bandwidth;
  std::array<FlopsPerSecond, peak_count> peaks{};  ///< peak rates, indexed by Peak; 0: unsupported
  Bytes cache;
  Achieved achieved;
  HostSide host{};

  constexpr FlopsPerSecond peak(DType t) const { return of(peaks, t); }

  /// Table entry for a format; 0 for a storage-only format.
  template <typename T>
  static constexpr T of(const std::array<T, peak_count>& by_format, DType t) {
    const Peak p = t.format().peak;
    return p == Peak::none ? T() : by_format[static_cast<std::size_t>(p)];
  }
};

}  // namespace llmcalc
