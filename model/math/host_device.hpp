#pragma once
/// Mathematics that the processor and a GPU share.

/// Before a function that both run; before a lambda of a kernel. Without a CUDA compiler they are nothing.
#ifdef __CUDACC__
#define LLMCALC_HD __host__ __device__
#define LLMCALC_DEVICE __device__
#else
#define LLMCALC_HD
#define LLMCALC_DEVICE
#endif

/// For arrays that must lie in a GPU's registers: functions that get them are inlined, loops over them unrolled.
#ifdef __CUDACC__
#define LLMCALC_FORCE_INLINE __host__ __device__ __forceinline__
#else
#define LLMCALC_FORCE_INLINE inline
#endif
#ifdef __CUDA_ARCH__
#define LLMCALC_UNROLL _Pragma("unroll")
#else
#define LLMCALC_UNROLL
#endif
