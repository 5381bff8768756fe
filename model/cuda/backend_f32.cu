#include "model/cuda/backend.hpp"
#include "model/cuda/backends.cuh"

namespace llmcalc::model::cuda {

Backend* new_f32(GpuDevice& device, const char* name, bool poison, Instruments* instruments) {
  return new Cuda<float, GpuDevice>(device, name, poison, instruments);
}

}  // namespace llmcalc::model::cuda
