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
