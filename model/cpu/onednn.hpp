#pragma once
/// Matrix products by oneDNN (https://github.com/oneapi-src/oneDNN), where it is found.

#include "model/cpu/make.hpp"
#include "model/cpu/matmul_shape.hpp"

namespace llmcalc::model {

/// Whether there is oneDNN and AVX-512 for it. Without AVX-512 our own product is as fast, and oneDNN's has no bfloat16
/// and picks its blocks by the number of rows, by which the bits of a row then differ.
bool onednn_there();

/// A and B hold numbers of format `from`, C of format `to`. False, and nothing done, where there is no oneDNN or it has
/// no such product. The library is loaded by the first call: it takes 1.3 ms, which a program that only calculates must
/// not pay. Its scratchpad is its own: one per thread, as large as the largest product yet asked for (up to about
/// 3 MiB, for blocks of a transposed A), kept until the program ends.
bool onednn_matmul(const MatmulShape& shape, Number from, Number to, const void* a, const void* b, void* c);

/// onednn_matmul in float32 by its interface of the BLAS, which compiles nothing per shape and is the faster where B is
/// not transposed: the matmul reaches 110 GFLOP/s where this reaches 275 (256 x 3072 x 768, two AVX-512 cores,
/// oneDNN 2.6).
bool onednn_sgemm(const MatmulShape& shape, const float* a, const float* b, float* c);

}  // namespace llmcalc::model
