#pragma once
/// Mathematics that the processor and a GPU share.

/// Attributes of a function that both run, and of a kernel's lambda; empty without a CUDA compiler.
#ifdef __CUDACC__
#define LLMCALC_HD __host__ __device__
#define LLMCALC_DEVICE __device__
#else
#define LLMCALC_HD
#define LLMCALC_DEVICE
#endif

/// For arrays that must lie in a GPU's registers: functions that get them are inlined, and loops over them unrolled, or
/// loops of which four rounds should be under way.
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
