#pragma once
/// Hardware counters by CUPTI's range profiler: work of the tensor cores and traffic of the memory, in one pass, so
/// that whatever runs in a range runs once.

#include <memory>
#include <stdexcept>

#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

/// Search paths of CUPTI.
std::vector<std::string> cupti_names();

/// Sets of CUPTI's metrics, the largest first: FLOPs of the tensor cores, nanoseconds, and bytes read from and written
/// to DRAM. One set counts one format, because GH100 cannot count two in one pass. GeForce's RTX 50 series names the
/// bytes differently, and some chips do not count them.
std::vector<std::vector<const char*>> metric_choices(bool bf16_numbers);

/// The largest of these sets that a chip counts in one pass; no device is asked. Throws as passes() does.
std::vector<const char*> metrics_of(const std::string& chip, bool bf16_numbers,
                                    const std::vector<std::string>& libraries = cupti_names());

/// Passes that the metrics of a chip ("GH100") need; no device is asked. Throws std::runtime_error: no CUPTI, a chip or
/// a metric that it does not know, each in a sentence.
int passes(const std::string& chip, const std::vector<const char*>& names,
           const std::vector<std::string>& libraries = cupti_names());

/// Empty: there is none.
std::string cupti_version(const std::vector<std::string>& libraries = cupti_names());

/// The counters of the device whose context is current, which `driver` knows.
class Counters {
 public:
  explicit Counters(bool bf16_numbers, const std::vector<std::string>& libraries = cupti_names(),
                    const std::string& driver = "libcuda.so.1");
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// Why nothing can be counted, in a sentence; empty: it can.
  const std::string& missing() const { return missing_; }
  /// As Instruments: ranges of different names, one after the other. Throw std::runtime_error.
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
