#include "model/cuda/instruments/counters.hpp"

#include "model/cuda/instruments/cupti.hpp"

namespace llmcalc::model::cuda {
namespace {

constexpr std::size_t most_ranges = 64;

/// The context that this thread's CUDA calls use.
CUcontext current_context(const std::string& driver) {
  const SharedLibrary library({driver});
  auto* const get = library.find<CUresult(CUcontext*)>("cuCtxGetCurrent");
  CUcontext context = nullptr;
  if (get == nullptr || get(&context) != CUDA_SUCCESS || context == nullptr)
    throw std::runtime_error("no GPU context is available to read counters from");
  return context;
}

void refuse_unsupported(const Cupti& cupti) {
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_DeviceSupported_Params, supported);
  supported.api = CUPTI_PROFILER_RANGE_PROFILING;
  cupti.call("cuptiProfilerDeviceSupported", supported, "querying counter support");
  if (supported.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
  if (supported.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED)
    throw std::runtime_error("the device is virtual and its host does not permit reading counters");
  if (supported.vGpu == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED)
    throw std::runtime_error("the device is virtual and does not expose counters");
  throw std::runtime_error("CUPTI does not support this device's counters");
}

/// Requests the list and not only its size, because a missing permission is reported only then.
void refuse_not_permitted(const Cupti& cupti, CUcontext context) {
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability_Params, list);
  list.ctx = context;
  cupti.call("cuptiProfilerGetCounterAvailability", list, "listing the counters");
  std::vector<std::uint8_t> image(list.counterAvailabilityImageSize);
  list.pCounterAvailabilityImage = image.data();
  cupti.call("cuptiProfilerGetCounterAvailability", list, "listing the counters");
}

/// The calls are in this order because, without a working driver, querying the chip would terminate the program.
std::string chip_of_device(const Cupti& cupti, CUcontext context) {
  LLMCALC_CUPTI_PARAMETERS(CUpti_Profiler_Initialize_Params, begin);
  cupti.call("cuptiProfilerInitialize", begin, "starting");
  refuse_unsupported(cupti);
  refuse_not_permitted(cupti, context);
  LLMCALC_CUPTI_PARAMETERS(CUpti_Device_GetChipName_Params, chip);
  cupti.call("cuptiDeviceGetChipName", chip, "querying the chip name");
  return chip.pChipName;
}

/// The largest set of metrics that the chip counts in one pass. More passes are impossible, because a step runs only
/// once.
std::vector<const char*> chosen(const Cupti& cupti, const std::string& chip, bool bf16_numbers) {
  const auto choices = metric_choices(bf16_numbers);
  for (const std::vector<const char*>& names : choices) {
    try {
      if (MetricSet(cupti, chip, names).passes() == 1) return names;
    } catch (const std::runtime_error&) {
      if (&names == &choices.back()) throw;
    }
  }
  throw std::runtime_error("chip " + chip + " needs several passes to count tensor-core FLOPs, but a step runs once");
}

}  // namespace

std::vector<std::vector<const char*>> metric_choices(bool bf16_numbers) {
  const char* const flops =
      bf16_numbers ? "sm__ops_path_tensor_src_bf16_dst_fp32.sum" : "sm__ops_path_tensor_src_tf32_dst_fp32.sum";
  const char* const time = "gpu__time_duration.sum";
  return {{flops, time, "dram__bytes_read.sum", "dram__bytes_write.sum"},
          {flops, time, "dram__bytes_op_read.sum", "dram__bytes_op_write.sum"},
          {flops, time}};
}

std::vector<std::string> cupti_names() {
  return {"libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000), "libcupti.so", LLMCALC_CUPTI_LIBRARY};
}

std::vector<const char*> metrics_of(const std::string& chip, bool bf16_numbers,
                                    const std::vector<std::string>& libraries) {
  return chosen(Cupti(libraries), chip, bf16_numbers);
}

int passes(const std::string& chip, const std::vector<const char*>& names, const std::vector<std::string>& libraries) {
  const Cupti cupti(libraries);
  return MetricSet(cupti, chip, names).passes();
}

std::string cupti_version(const std::vector<std::string>& libraries) {
  try {
    return Cupti(libraries).version();
  } catch (const std::runtime_error&) {
    return "";
  }
}

/// One use of the range profiler, with the counter data of its ranges.
struct Counters::Session {
  Session(bool bf16_numbers, const std::vector<std::string>& libraries, const std::string& driver)
      : cupti(libraries),
        context(current_context(driver)),
        chip(chip_of_device(cupti, context)),
        metric_set(cupti, chip, chosen(cupti, chip, bf16_numbers)) {}
  ~Session() { disable(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start();
  void begin(const std::string& range);
  void end();
  std::vector<RangeCount> stop();

 private:
  void make_room();
  void configure();
  void disable();
  RangeCount counted(std::size_t range);

  Cupti cupti;
  CUcontext context;
  std::string chip;
  MetricSet metric_set;
  CUpti_RangeProfiler_Object* profiler = nullptr;
  std::vector<std::uint8_t> data;
};

void Counters::Session::start() {
  disable();  // in case an error ended the previous session
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable_Params, enable);
  enable.ctx = context;
  cupti.call("cuptiRangeProfilerEnable", enable, "enabling the counters");
  profiler = enable.pRangeProfilerObject;
  make_room();
  configure();
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_Start_Params, begin_all);
  begin_all.pRangeProfilerObject = profiler;
  cupti.call("cuptiRangeProfilerStart", begin_all, "starting the counters");
}

void Counters::Session::make_room() {
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = profiler;
  size.pMetricNames = metric_set.names().data();
  size.numMetrics = metric_set.names().size();
  size.maxNumOfRanges = most_ranges;
  size.maxNumRangeTreeNodes = most_ranges;
  cupti.call("cuptiRangeProfilerGetCounterDataSize", size, "allocating counter data");
  data.assign(size.counterDataSize, 0);
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
  image.pRangeProfilerObject = profiler;
  image.counterDataSize = data.size();
  image.pCounterData = data.data();
  cupti.call("cuptiRangeProfilerCounterDataImageInitialize", image, "allocating counter data");
}

/// Configures consecutive named ranges; the caller runs all passes (there is only one).
void Counters::Session::configure() {
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_SetConfig_Params, c);
  c.pRangeProfilerObject = profiler;
  c.configSize = metric_set.image().size();
  c.pConfig = metric_set.image().data();
  c.counterDataImageSize = data.size();
  c.pCounterDataImage = data.data();
  c.range = CUPTI_UserRange;
  c.replayMode = CUPTI_UserReplay;
  c.maxRangesPerPass = most_ranges;
  c.numNestingLevels = 1;
  c.minNestingLevel = 1;
  c.passIndex = 0;
  c.targetNestingLevel = 1;
  cupti.call("cuptiRangeProfilerSetConfig", c, "configuring the counters");
}

void Counters::Session::begin(const std::string& range) {
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_PushRange_Params, push);
  push.pRangeProfilerObject = profiler;
  push.pRangeName = range.c_str();
  cupti.call("cuptiRangeProfilerPushRange", push, "starting range " + range);
}

void Counters::Session::end() {
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_PopRange_Params, pop);
  pop.pRangeProfilerObject = profiler;
  cupti.call("cuptiRangeProfilerPopRange", pop, "ending a range");
}

std::vector<RangeCount> Counters::Session::stop() {
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop_Params, stop_all);
  stop_all.pRangeProfilerObject = profiler;
  cupti.call("cuptiRangeProfilerStop", stop_all, "stopping the counters");
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_DecodeData_Params, decode);
  decode.pRangeProfilerObject = profiler;
  cupti.call("cuptiRangeProfilerDecodeData", decode, "reading the counters");
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = data.data();
  info.counterDataImageSize = data.size();
  cupti.call("cuptiRangeProfilerGetCounterDataInfo", info, "reading the counters");
  if (stop_all.isAllPassSubmitted == 0 || decode.numOfRangeDropped != 0)
    throw std::runtime_error("CUPTI did not count every range");
  std::vector<RangeCount> all;
  for (std::size_t i = 0; i < info.numTotalRanges; ++i) all.push_back(counted(i));
  disable();
  return all;
}

RangeCount Counters::Session::counted(std::size_t range) {
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, name);
  name.pCounterDataImage = data.data();
  name.counterDataImageSize = data.size();
  name.rangeIndex = range;
  name.rangeDelimiter = "/";
  cupti.call("cuptiRangeProfilerCounterDataGetRangeInfo", name, "reading a range name");
  const std::vector<double> v = metric_set.values(data, range);
  RangeCount c{.range = name.rangeName, .tensor_flops = v[0], .read = {}, .written = {}, .time = Seconds(v[1] * 1e-9)};
  if (v.size() == 4) {
    c.read = v[2];
    c.written = v[3];
  }
  return c;
}

void Counters::Session::disable() {
  if (profiler == nullptr) return;
  LLMCALC_CUPTI_PARAMETERS(CUpti_RangeProfiler_Disable_Params, off);
  off.pRangeProfilerObject = profiler;
  cupti.close("cuptiRangeProfilerDisable", off);
  profiler = nullptr;
}

Counters::Counters(bool bf16_numbers, const std::vector<std::string>& libraries, const std::string& driver) {
  try {
    session_ = std::make_unique<Session>(bf16_numbers, libraries, driver);
  } catch (const std::runtime_error& e) {
    missing_ = e.what();
  }
}
Counters::~Counters() = default;

void Counters::start() { session_->start(); }
void Counters::begin(const std::string& range) { session_->begin(range); }
void Counters::end() { session_->end(); }
std::vector<RangeCount> Counters::stop() { return session_->stop(); }

}  // namespace llmcalc::model::cuda
