#pragma once
/// CUPTI's functions, found when they are called, and its failures as sentences; nothing where its headers are not.

#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <cstdint>
#include <stdexcept>

#include "model/cuda/shared_library.hpp"

namespace llmcalc::model::cuda {

/// Each of CUPTI's calls takes a structure that begins with its own size, up to the last member that the headers know.
#define LLMCALC_CUPTI_PARAMETERS(type, name) \
  type name{};                               \
  (name).structSize = type##_STRUCT_SIZE

class Cupti {
 public:
  /// Throws std::runtime_error where there is none.
  explicit Cupti(const std::vector<std::string>& names);

  /// function(parameters); `doing` stands in the sentence of what went wrong. Throws std::runtime_error.
  template <typename P>
  void call(const char* function, P& parameters, const std::string& doing) const {
    auto* const f = library_.find<CUptiResult(P*)>(function);
    if (f == nullptr) throw std::runtime_error("this CUPTI is too old: it has no " + std::string(function));
    if (const CUptiResult r = f(&parameters); r != CUPTI_SUCCESS) throw std::runtime_error(sentence(r, doing));
  }
  /// Calls a function and ignores its failure, for destructors.
  template <typename P>
  void close(const char* function, P& parameters) const {
    if (auto* const f = library_.find<CUptiResult(P*)>(function)) f(&parameters);
  }
  std::string version() const;  ///< of its interface, "130001"

 private:
  std::string sentence(CUptiResult r, const std::string& doing) const;
  SharedLibrary library_;
};

/// A chip's metrics, as a description of what to collect, and from what was collected their values.
class MetricSet {
 public:
  /// Throws std::runtime_error for a chip or a metric that CUPTI does not know.
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
