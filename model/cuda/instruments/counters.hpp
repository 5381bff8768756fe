#pragma once
/// Hardware counters from CUPTI's range profiler: work of the tensor cores and memory traffic, in one pass, so that
/// each range runs once.

#include <memory>
#include <stdexcept>

#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

/// Names and paths under which CUPTI's library is searched for.
std::vector<std::string> cupti_names();

/// Sets of CUPTI's metrics, the largest first: FLOPs of the tensor cores, nanoseconds, and bytes read from and written
/// to DRAM. A set counts tensor-core FLOPs in one format only, because GH100 cannot count two formats in one pass.
/// GeForce's RTX 50 series uses other names for the bytes, and some chips do not count them.
std::vector<std::vector<const char*>> metric_choices(bool bf16_numbers);

/// The largest of these sets that a chip counts in one pass. Needs no device. Throws as passes() does.
std::vector<const char*> metrics_of(const std::string& chip, bool bf16_numbers,
                                    const std::vector<std::string>& libraries = cupti_names());

/// Number of passes in which a chip, such as "GH100", counts these metrics. Does not need a device. Throws
/// std::runtime_error with a sentence if CUPTI is missing, or does not support the chip or a metric.
int passes(const std::string& chip, const std::vector<const char*>& names,
           const std::vector<std::string>& libraries = cupti_names());

/// CUPTI's version; empty if CUPTI is missing.
std::string cupti_version(const std::vector<std::string>& libraries = cupti_names());

/// The counters of the device whose context is current in `driver`.
class Counters {
 public:
  explicit Counters(bool bf16_numbers, const std::vector<std::string>& libraries = cupti_names(),
                    const std::string& driver = "libcuda.so.1");
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// Why counting is impossible, in a sentence; empty if it is possible.
  const std::string& missing() const { return missing_; }
  /// See Instruments: consecutive ranges with different names. All of these throw std::runtime_error on failure.
  void start();
  void begin(const std::string& range);
  void end();
  std::vector<RangeCount> stop();

 private:
  struct Session;
  std::unique_ptr<Session> session_;
  std::string missing_;
};

}  // namespace llmcalc::model::cuda
