#include "model/cuda/instruments/cupti.hpp"

namespace llmcalc::model::cuda {

Cupti::Cupti(const std::vector<std::string>& names) : library_(names) {
  if (!library_.open())
    throw std::runtime_error("NVIDIA's profiling library CUPTI was not found (" + library_.missing() + ")");
}

std::string Cupti::sentence(CUptiResult r, const std::string& doing) const {
  switch (r) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "reading hardware counters is not permitted; load the driver with NVreg_RestrictProfilingToAdminUsers=0, "
             "or run as root or with CAP_SYS_ADMIN";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "the device is virtual and does not expose counters";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return "the device is in confidential computing mode and does not expose counters";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return "the device is a MIG instance, whose counters cannot be read";
    default:
      break;
  }
  const char* name = nullptr;
  if (auto* const text = library_.find<CUptiResult(CUptiResult, const char**)>("cuptiGetResultString")) text(r, &name);
  return "CUPTI error while " + doing + ": " + (name != nullptr ? name : "error " + std::to_string(r));
}

std::string Cupti::version() const {
  auto* const f = library_.find<CUptiResult(std::uint32_t*)>("cuptiGetVersion");
  std::uint32_t version = 0;
  return f != nullptr && f(&version) == CUPTI_SUCCESS ? std::to_string(version) : "";
}

MetricSet::MetricSet(const Cupti& cupti, const std::string& chip, std::vector<const char*> names)
    : cupti_(cupti), names_(std::move(names)) {
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize_Params, host);
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = chip.c_str();
  cupti.call("cuptiProfilerHostInitialize", host, "finding the counters of chip " + chip);
  host_ = host.pHostObject;
  for (const char* name : names_) {
    LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetMetricProperties_Params, known);
    known.pHostObject = host_;
    known.pMetricName = name;
    cupti.call("cuptiProfilerHostGetMetricProperties", known, "finding " + std::string(name) + " on chip " + chip);
  }
  // Adds all metrics in one call: metrics added one by one get a pass each.
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
  add.pHostObject = host_;
  add.ppMetricNames = names_.data();
  add.numMetrics = names_.size();
  cupti.call("cuptiProfilerHostConfigAddMetrics", add, "selecting counters of chip " + chip);
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = host_;
  cupti.call("cuptiProfilerHostGetConfigImageSize", size, "building the counter configuration");
  image_.resize(size.configImageSize);
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params, image);
  image.pHostObject = host_;
  image.configImageSize = image_.size();
  image.pConfigImage = image_.data();
  cupti.call("cuptiProfilerHostGetConfigImage", image, "building the counter configuration");
}

MetricSet::~MetricSet() {
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params, end);
  end.pHostObject = host_;
  cupti_.close("cuptiProfilerHostDeinitialize", end);
}

int MetricSet::passes() const {
  std::vector<std::uint8_t> image = image_;
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
  passes.configImageSize = image.size();
  passes.pConfigImage = image.data();
  cupti_.call("cuptiProfilerHostGetNumOfPasses", passes, "planning the counter passes");
  return static_cast<int>(passes.numOfPasses);
}

std::vector<double> MetricSet::values(const std::vector<std::uint8_t>& counted, std::size_t range) {
  std::vector<double> values(names_.size());
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, v);
  v.pHostObject = host_;
  v.pCounterDataImage = counted.data();
  v.counterDataImageSize = counted.size();
  v.rangeIndex = range;
  v.ppMetricNames = names_.data();
  v.numMetrics = names_.size();
  v.pMetricValues = values.data();
  cupti_.call("cuptiProfilerHostEvaluateToGpuValues", v, "reading the counters");
  return values;
}

}  // namespace llmcalc::model::cuda
