// Stand-in for CUPTI and the driver: a GH100 with fixed counts, and CUPTI's protocol. Every call must have the right
// structure size and is logged in order. `cupti_refuse` names a call that fails, and its error.

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

std::vector<std::string> ranges;
std::string steps, refused;
int with = 0;
int object = 0;  // target of all handles

/// Logs the call and returns CUPTI's result.
CUptiResult turn(const char* name, bool right_size) {
  steps += std::string(name) + " ";
  if (refused == name) return static_cast<CUptiResult>(with);
  return right_size ? CUPTI_SUCCESS : CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
}

template <typename T>
T* handle() {
  return reinterpret_cast<T*>(&object);
}

}  // namespace

#define CALL(type, name) turn(name, p->structSize == type##_STRUCT_SIZE)

extern "C" {

/// Names of the calls since the last query.
const char* cupti_calls() {
  static std::string told;
  told.swap(steps);
  steps.clear();
  return told.c_str();
}
void cupti_refuse(const char* name, int how) { refused = name, with = how; }

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = handle<CUctx_st>();
  return CUDA_SUCCESS;
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* p) {
  return CALL(CUpti_Profiler_Initialize_Params, "initialize");
}
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* p) {
  p->isSupported = p->vGpu = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  if (refused == "vgpu") {
    p->isSupported = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
    p->vGpu = CUPTI_PROFILER_CONFIGURATION_DISABLED;
  }
  return CALL(CUpti_Profiler_DeviceSupported_Params, "supported");
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* p) {
  if (p->pCounterAvailabilityImage == nullptr) p->counterAvailabilityImageSize = 4;
  return CALL(CUpti_Profiler_GetCounterAvailability_Params, "availability");
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  p->pChipName = "GH100";
  return CALL(CUpti_Device_GetChipName_Params, "chip");
}
CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  p->pHostObject = handle<CUpti_Profiler_Host_Object>();
  return CALL(CUpti_Profiler_Host_Initialize_Params, "host");
}
CUptiResult cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params*) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  return CALL(CUpti_Profiler_Host_ConfigAddMetrics_Params, "metrics");
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  p->configImageSize = 8;
  return CALL(CUpti_Profiler_Host_GetConfigImageSize_Params, "image-size");
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  std::memset(p->pConfigImage, 7, p->configImageSize);
  return CALL(CUpti_Profiler_Host_GetConfigImage_Params, "image");
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  p->numOfPasses = refused == "passes" ? 3 : 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  return CALL(CUpti_Profiler_Host_Deinitialize_Params, "host-end");
}
CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  p->pRangeProfilerObject = handle<CUpti_RangeProfiler_Object>();
  return p->ctx == nullptr ? CUPTI_ERROR_INVALID_CONTEXT : CALL(CUpti_RangeProfiler_Enable_Params, "enable");
}
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  p->counterDataSize = 16;
  return CALL(CUpti_RangeProfiler_GetCounterDataSize_Params, "data-size");
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) {
  return CALL(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, "data");
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  const bool right = p->pConfig[0] == 7 && p->configSize == 8 && p->counterDataImageSize == 16 &&
                     p->range == CUPTI_UserRange && p->replayMode == CUPTI_UserReplay;
  return right ? CALL(CUpti_RangeProfiler_SetConfig_Params, "config") : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* p) {
  ranges.clear();
  return CALL(CUpti_RangeProfiler_Start_Params, "start");
}
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* p) {
  ranges.emplace_back(p->pRangeName);
  return CALL(CUpti_RangeProfiler_PushRange_Params, "push");
}
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* p) {
  return CALL(CUpti_RangeProfiler_PopRange_Params, "pop");
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  p->isAllPassSubmitted = 1;
  return CALL(CUpti_RangeProfiler_Stop_Params, "stop");
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  p->numOfRangeDropped = refused == "ranges" ? 1 : 0;
  return CALL(CUpti_RangeProfiler_DecodeData_Params, "decode");
}
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
  p->numTotalRanges = ranges.size();
  return CALL(CUpti_RangeProfiler_GetCounterDataInfo_Params, "info");
}
CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* p) {
  p->rangeName = ranges[p->rangeIndex].c_str();
  return CALL(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, "name");
}
/// Metric i of range r is 1000 r + i.
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  for (std::size_t i = 0; i < p->numMetrics; ++i)
    p->pMetricValues[i] = 1000 * static_cast<double>(p->rangeIndex) + static_cast<double>(i);
  return CALL(CUpti_Profiler_Host_EvaluateToGpuValues_Params, "values");
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* p) {
  return CALL(CUpti_RangeProfiler_Disable_Params, "disable");
}
}
