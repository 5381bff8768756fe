// Members of GpuDevice that launch kernels.

#include "model/cuda/device.cuh"
#include "model/cuda/pointwise.hpp"

namespace llmcalc::model::cuda {

void GpuDevice::add_bias_to(const MatmulShape& s, bool is_f32, const void* bias, void* c) {
  if (is_f32)
    add_bias(*this, s.m, s.n, static_cast<const float*>(bias), static_cast<float*>(c));
  else
    add_bias(*this, s.m, s.n, static_cast<const bf16*>(bias), static_cast<bf16*>(c));
}

}  // namespace llmcalc::model::cuda
