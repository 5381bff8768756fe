#pragma once
/// The backends of the two number formats. Each contains all kernels and takes a long time to compile, so each has a
/// separate file.

#include "model/backend.hpp"
#include "model/cuda/device.cuh"

namespace llmcalc::model::cuda {

/// The device and the instruments must outlive the backend. `poison`: whether to fill memory with NaN.
Backend* new_f32(GpuDevice& device, const char* name, bool poison, Instruments* instruments);
Backend* new_bf16(GpuDevice& device, const char* name, bool poison, Instruments* instruments);

}  // namespace llmcalc::model::cuda
