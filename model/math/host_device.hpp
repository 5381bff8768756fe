#pragma once
/// Mathematics that the processor and a GPU share.

/// Before a function that both run. Without a CUDA compiler it is nothing.
#ifdef __CUDACC__
#define LLMCALC_HD __host__ __device__
#else
#define LLMCALC_HD
#endif
