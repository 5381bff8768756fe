#include "tests/standin/test_kernels.hpp"

namespace llmcalc::standin {
namespace {

struct Parameter {
  int number;
  const float* pointer;
};
__global__ void small(const Parameter p) {
  if (p.number < 0) *const_cast<float*>(p.pointer) = 1;
}
/// Keeps 128 values live at the same time.
__global__ void large(const Parameter p) {
  auto* const x = const_cast<volatile float*>(p.pointer);
  float all[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) all[i] = x[i];
#pragma unroll
  for (int i = 0; i < 128; ++i) x[i] = all[127 - i];
}

cudaError_t launched(void (*kernel)(Parameter), const Launch& l) {
  if (l.asked_shared > 0) {
    const cudaError_t e =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(l.asked_shared));
    if (e != cudaSuccess) return e;
  }
  kernel<<<l.blocks, l.threads, l.shared, l.stream>>>({7, static_cast<const float*>(l.pointer)});
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_small(const Launch& l) { return launched(&small, l); }
cudaError_t launch_large(const Launch& l) { return launched(&large, l); }

}  // namespace llmcalc::standin
