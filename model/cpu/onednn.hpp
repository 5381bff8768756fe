#pragma once
/// Matrix products by oneDNN (https://github.com/oneapi-src/oneDNN), where it is found.

#include "model/cpu/make.hpp"
#include "model/cpu/matmul_shape.hpp"

namespace llmcalc::model {

/// A and B hold numbers of format `from`, C of format `to`. False, and nothing done, where there is no oneDNN or it has
/// no such product. The library is loaded by the first call: it takes 1.3 ms, which a program that only calculates must
/// not pay. Its scratchpad is its own: one per thread, as large as the largest product yet asked for (up to about
/// 3 MiB, for blocks of a transposed A), kept until the program ends.
bool onednn_matmul(const MatmulShape& shape, Number from, Number to, const void* a, const void* b, void* c);

/// Whether a row of its matmul has the same bits however many rows there are: with AVX-512, where brgemm computes every
/// row in the same order. On other processors the matmul is a gemm that picks its blocks by the number of rows.
bool onednn_rows_alike();

/// onednn_matmul in float32 by its interface of the BLAS, which compiles nothing per shape and is the faster where B is
/// not transposed: the matmul reaches 110 GFLOP/s where this reaches 275 (256 x 3072 x 768, two AVX-512 cores,
/// oneDNN 2.6).
bool onednn_sgemm(const MatmulShape& shape, const float* a, const float* b, float* c);

}  // namespace llmcalc::model
