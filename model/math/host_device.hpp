#pragma once
/// Mathematics shared by CPU and GPU.

/// Attributes of functions that run on both, and of kernel lambdas; empty without a CUDA compiler.
#ifdef __CUDACC__
#define LLMCALC_HD __host__ __device__
#define LLMCALC_DEVICE __device__
#else
#define LLMCALC_HD
#define LLMCALC_DEVICE
#endif

/// For arrays that must stay in GPU registers: functions that take them are inlined, and loops over them unrolled.
/// LLMCALC_UNROLL_4 keeps four iterations of a loop in flight.
#ifdef __CUDACC__
#define LLMCALC_FORCE_INLINE __host__ __device__ __forceinline__
#else
#define LLMCALC_FORCE_INLINE inline
#endif
#ifdef __CUDA_ARCH__
#define LLMCALC_UNROLL _Pragma("unroll")
#define LLMCALC_UNROLL_4 _Pragma("unroll 4")
#else
#define LLMCALC_UNROLL
#define LLMCALC_UNROLL_4
#endif
