#pragma once
/// Measures this machine for a hardware file, with one measurement per term of the roofline.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "presets/hardware_file.hpp"
#include "text/json.hpp"
#include "validate/probe.hpp"
#include "validate/timing.hpp"

namespace llmcalc::validate {

struct MatmulRate {
  MatmulSize size;
  FlopsPerSecond rate;
};

/// Rates that depend on the operands' number format.
struct FormatRates {
  DType format;
  std::vector<MatmulRate> matmuls;
  double half_matmul = 0;  ///< FLOPs at which a matmul reaches half its rate
  double unaligned = 1;    ///< fraction of its rate that a matmul of odd width retains; measured on GPUs
  double exposed = 0;      ///< fraction of a matmul's memory time that is added to its compute time
  CoreRates flash, naive;
  CoreRates plain;  ///< flash attention without tensor cores; 0: no separate kernel
  FlopsPerSecond best() const;
  FlopsPerSecond median() const;
};

struct Calibration {
  std::vector<FormatRates> formats;
  BytesPerSecond copy;             ///< bandwidth of a copy, reads plus writes, of arrays larger than the caches
  BytesPerSecond cache_bandwidth;  ///< bandwidth of an addition of a few MB
  Bytes cache;                     ///< size of the largest addition that nearly reaches this bandwidth
  double functions = 0;            ///< activation evaluations per second
  OperatorSeconds launch;          ///< time of one operator on a few elements
  OperatorSeconds recorded;        ///< this time if replayed from a recording; 0: not available
  /// Seconds per operator within a sequence of operators, which is how probes run them.
  const OperatorSeconds& among_others() const { return recorded.forward.value > 0 ? recorded : launch; }
  std::map<std::string, double> spread;  ///< interquartile range over the rounds, relative to the median, by key
  double spread_of(const std::string& key) const;
  Bytes memory;    ///< memory of the machine; 0: unknown
  Bytes overhead;  ///< device memory of driver, libraries and kernels; 0: unknown
  std::string device;
  int threads = 0;  ///< number of CPU threads; 0: not a CPU
};

/// Every round measures everything, so a passing disturbance affects only a few rounds.
inline constexpr int rounds = 5;
/// The largest allowed spread of a value used in predictions, equal to the tolerance of `validate`.
inline constexpr double most_spread = band - 1;

/// Called with the name of the next measurement and the completed fraction of the work.
using Told = std::function<void(const std::string& next, double done)>;

/// The medians over the rounds, with their spread. Throws InputError if they contradict each other.
Calibration calibrated(const Where& where, const Told& told);

/// Median and spread of every value.
Calibration median_of(std::span<const Calibration> measured);

/// Throws InputError, with a remedy, if a rate is not positive.
void refuse_unless_positive(const Calibration& c);

/// Throws InputError, with a remedy, if the values are impossible for a machine, or the rounds disagree.
void refuse_contradictions(const Calibration& c);

/// The key of a matmul's rate.
std::string matmul_key(DType format, const MatmulSize& s);

/// The machine's name in a calibration: the CPU and its threads, or the device.
std::string machine_title(const Where& where);

/// Whether a hardware file was measured on a machine with this title, as written by calibration.
bool calibrated_here(const HardwareCard& card, const Where& where);

/// Beginning of the "how" text under "achieved" in a hardware file written by `calibrate`.
inline constexpr std::string_view calibrated_on = "llmcalc calibrate on ";

/// The calibration as a hardware file. For each format, the best rate is the peak, and the median over the sizes gives
/// the achieved fraction.
json::Value hardware_file(const Calibration& c, const std::string& name, const std::string& date);

}  // namespace llmcalc::validate
