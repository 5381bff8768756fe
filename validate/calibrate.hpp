#pragma once
/// What this machine really delivers, as a hardware file: matmul rates by size and format, copy bandwidth, time that an
/// operator takes with nothing to do.

#include <functional>
#include <string>
#include <vector>

#include "calc/dtype.hpp"
#include "calc/units.hpp"
#include "presets/json.hpp"

namespace llmcalc::validate {

struct MatmulRate {
  DType format;
  Count m = 0, n = 0, k = 0;
  FlopsPerSecond rate;  ///< the best of the repeats
};

struct Calibration {
  std::vector<MatmulRate> matmuls;
  BytesPerSecond copy;  ///< bytes read and written, arrays larger than the caches
  Seconds launch;       ///< of one operator on a few numbers
  Bytes memory, cache;  ///< of the machine; 0: not known
  std::string processor;
  int threads = 1;
};

/// `progress` is told what is measured next.
Calibration calibrated(const std::function<void(const std::string&)>& progress);

/// A hardware file: per format the best rate as the peak, and the median over the sizes as the achieved fraction.
json::Value hardware_file(const Calibration& c, const std::string& name, const std::string& date);

}  // namespace llmcalc::validate
