#pragma once
/// CUPTI's functions, looked up when they are called; failures are reported as sentences. This file is empty if CUPTI's
/// headers are missing.

#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <cstdint>
#include <stdexcept>

#include "model/cuda/shared_library.hpp"

namespace llmcalc::model::cuda {

/// CUPTI's functions take a structure that begins with its size, counted up to the last member in the headers.
#define LLMCALC_CUPTI_PARAMETERS(type, name) \
  type name{};                               \
  (name).structSize = type##_STRUCT_SIZE

class Cupti {
 public:
  /// Throws std::runtime_error if CUPTI is missing.
  explicit Cupti(const std::vector<std::string>& names);

  /// Calls function(parameters); `doing` names the action in the error sentence. Throws std::runtime_error.
  template <typename P>
  void call(const char* function, P& parameters, const std::string& doing) const {
    auto* const f = library_.find<CUptiResult(P*)>(function);
    if (f == nullptr) throw std::runtime_error("this CUPTI is too old: it has no " + std::string(function));
    if (const CUptiResult r = f(&parameters); r != CUPTI_SUCCESS) throw std::runtime_error(sentence(r, doing));
  }
  /// Calls a function and ignores failure, for destructors.
  template <typename P>
  void close(const char* function, P& parameters) const {
    if (auto* const f = library_.find<CUptiResult(P*)>(function)) f(&parameters);
  }
  std::string version() const;  ///< version of CUPTI's interface, such as "130001"

 private:
  std::string sentence(CUptiResult r, const std::string& doing) const;
  SharedLibrary library_;
};

/// A chip's metrics: the description of the data to collect, and the metrics' values in collected data.
class MetricSet {
 public:
  /// Throws std::runtime_error for a chip or a metric that CUPTI does not support.
  MetricSet(const Cupti& cupti, const std::string& chip, std::vector<const char*> names);
  ~MetricSet();
  MetricSet(const MetricSet&) = delete;
  MetricSet& operator=(const MetricSet&) = delete;

  int passes() const;
  std::vector<const char*>& names() { return names_; }
  const std::vector<std::uint8_t>& image() const { return image_; }
  std::vector<double> values(const std::vector<std::uint8_t>& counted, std::size_t range);

 private:
  const Cupti& cupti_;
  std::vector<const char*> names_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<std::uint8_t> image_;
};

}  // namespace llmcalc::model::cuda
#endif
