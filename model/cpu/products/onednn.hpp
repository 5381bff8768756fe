#pragma once
/// Matrix products by oneDNN (https://github.com/oneapi-src/oneDNN), if it is installed.

#include "model/cpu/make.hpp"
#include "model/cpu/products/matmul_shape.hpp"

namespace llmcalc::model {

/// Whether there is oneDNN and AVX-512 for it. Without AVX-512 our own product is as fast, and oneDNN's has no bfloat16
/// and picks its blocks by the number of rows, by which the bits of a row then differ.
bool onednn_there();

/// A product of A and B in format `from`, C in format `to`; false if there is no oneDNN or it has no such product. The
/// first call loads the library (1.3 ms), which a program that only calculates must not pay. oneDNN keeps a scratchpad
/// per thread, as large as the largest product so far (up to about 3 MiB, for blocks of a transposed A).
bool onednn_matmul(const MatmulShape& shape, Number from, Number to, const void* a, const void* b, void* c);

/// onednn_matmul in float32 by the BLAS interface, which compiles nothing per shape and is faster where B is not
/// transposed: 275 GFLOP/s against the matmul's 110 (256 x 3072 x 768, two AVX-512 cores, oneDNN 2.6).
bool onednn_sgemm(const MatmulShape& shape, const float* a, const float* b, float* c);

}  // namespace llmcalc::model
