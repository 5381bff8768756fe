#pragma once
/// Measures this machine for a hardware file: one measurement for every term of the roofline.

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

/// Rates that depend on the number format of the operands.
struct FormatRates {
  DType format;
  std::vector<MatmulRate> matmuls;
  double half_matmul = 0;  ///< FLOPs of a product at half its rate
  double unaligned = 1;    ///< share of its rate that a product of odd width keeps; measured on GPUs
  double exposed = 0;      ///< share of a product's memory time that is added to its arithmetic's
  CoreRates flash, naive;
  CoreRates plain;  ///< of flash attention without tensor cores; 0: it has no other way
  FlopsPerSecond best() const;
  FlopsPerSecond median() const;
};

struct Calibration {
  std::vector<FormatRates> formats;
  BytesPerSecond copy;             ///< bytes read and written, arrays larger than the caches
  BytesPerSecond cache_bandwidth;  ///< of an addition of some MB
  Bytes cache;                     ///< the largest addition that is nearly as fast
  double functions = 0;            ///< per second
  OperatorSeconds launch;          ///< of one operator on a few numbers
  OperatorSeconds recorded;        ///< the same from recordings; 0: there are none
  /// The seconds of an operator among others of its kind, as probes run it.
  const OperatorSeconds& among_others() const { return recorded.forward.value > 0 ? recorded : launch; }
  std::map<std::string, double>
      spread;  ///< of each number's rounds, by the number's key: their middle half, as a share
  double spread_of(const std::string& key) const;
  Bytes memory;    ///< of the machine; 0: not known
  Bytes overhead;  ///< of a device's that driver, libraries and kernels take; 0: not known
  std::string device;
  int threads = 0;  ///< of a processor; 0: it is none
};

/// Everything is measured so often, in rounds: what disturbs the machine for a while then shows in few of them.
inline constexpr int rounds = 5;
/// The largest spread of a number of which predictions are made: what `validate` allows them.
inline constexpr double most_spread = band - 1;

/// Hears what is measured next, and the share of the work that is behind.
using Told = std::function<void(const std::string& next, double done)>;

/// The medians of the rounds, with their spread. Throws InputError where they contradict each other.
Calibration calibrated(const Where& where, const Told& told);

/// The median of every number, and its spread.
Calibration median_of(std::span<const Calibration> measured);

/// Throws InputError where a rate is none, with what to do.
void refuse_unless_positive(const Calibration& c);

/// Throws InputError, with what to do, where no machine can be as this says, or the rounds do not agree.
void refuse_contradictions(const Calibration& c);

/// The key of a product's rate.
std::string matmul_key(DType format, const MatmulSize& s);

/// The name of the machine in a calibration: its processor and threads, or its device.
std::string machine_title(const Where& where);

/// Whether a hardware file was measured and has this machine's title, as calibration writes it.
bool calibrated_here(const HardwareCard& card, const Where& where);

/// The beginning of "achieved" in a hardware file that `calibrate` wrote.
inline constexpr std::string_view calibrated_on = "llmcalc calibrate on ";

/// A hardware file: per format the best rate as the peak, and the median over the sizes as the achieved fraction.
json::Value hardware_file(const Calibration& c, const std::string& name, const std::string& date);

}  // namespace llmcalc::validate
