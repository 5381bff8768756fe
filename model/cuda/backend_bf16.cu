#include "model/cuda/backend.hpp"
#include "model/cuda/backends.cuh"

namespace llmcalc::model::cuda {

Backend* new_bf16(GpuDevice& device, const char* name, bool poison, Instruments* instruments) {
  return new Cuda<bf16, GpuDevice>(device, name, poison, instruments);
}

}  // namespace llmcalc::model::cuda
