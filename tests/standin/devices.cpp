// Stand-in for the CUDA runtime: devices, versions and errors.

#include <cuda_runtime_api.h>

#include <cstdio>

#include "tests/standin/memory.hpp"
#include "tests/standin/rules.hpp"

using namespace llmcalc::standin;

namespace {

const char* text(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoKernelImageForDevice:
      return "no kernel image is available for execution on the device";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorNotReady:
      return "device not ready";
    default:
      return "an error of the stand-in's plan";
  }
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* n) {
  return call("cudaGetDeviceCount", [&] {
    *n = devices();
    return cudaSuccess;
  });
}
cudaError_t cudaGetDevice(int* device) {
  return call("cudaGetDevice", [&] {
    *device = 0;
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&] { return device < devices() ? cudaSuccess : cudaErrorInvalidDevice; });
}
cudaError_t cudaDeviceGetPCIBusId(char* to, int room, int device) {
  return call("cudaDeviceGetPCIBusId", [&] {
    if (device < 0 || device >= devices()) return cudaErrorInvalidDevice;
    std::snprintf(to, static_cast<std::size_t>(room), "0000:1b:00.0");
    return cudaSuccess;
  });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* to, int device) {
  return call("cudaGetDeviceProperties", [&] {
    if (device < 0 || device >= devices()) return cudaErrorInvalidDevice;
    *to = {};
    std::snprintf(to->name, sizeof to->name, "stand-in");
    to->major = capability() / 10;
    to->minor = capability() % 10;
    to->totalGlobalMem = total_memory();
    return cudaSuccess;
  });
}
cudaError_t cudaDriverGetVersion(int* version) {
  return call("cudaDriverGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  return call("cudaRuntimeGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}
cudaError_t cudaGetLastError() { return forgotten(); }
const char* cudaGetErrorString(cudaError_t e) { return text(e); }
}
