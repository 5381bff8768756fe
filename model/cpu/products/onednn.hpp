#pragma once
/// Matmuls by oneDNN (https://github.com/oneapi-src/oneDNN), if it is installed.

#include "model/cpu/make.hpp"
#include "model/cpu/products/matmul_shape.hpp"

namespace llmcalc::model {

/// Whether oneDNN and AVX-512 are available. Without AVX-512, our own matmul is as fast. Also, oneDNN's matmul then
/// lacks bfloat16 and chooses its blocks by the number of rows, so a row's bits depend on that number.
bool onednn_there();

/// Multiplies A and B in format `from`; C is in format `to`. Returns false if oneDNN is missing or does not support the
/// matmul. The first call loads the library (1.3 ms), a cost that commands must not incur unless they run a model.
/// oneDNN keeps a scratchpad per thread, sized for the largest matmul so far (up to about 3 MiB, for blocks of a
/// transposed A).
bool onednn_matmul(const MatmulShape& shape, Number from, Number to, const void* a, const void* b, void* c);

/// onednn_matmul in float32 through the BLAS interface, which does not compile per shape and is faster if B is not
/// transposed: 275 GFLOP/s, against 110 for matmul (256 x 3072 x 768, two AVX-512 cores, oneDNN 2.6).
bool onednn_sgemm(const MatmulShape& shape, const float* a, const float* b, float* c);

}  // namespace llmcalc::model
