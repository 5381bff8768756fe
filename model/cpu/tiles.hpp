#pragma once
/// Inner loops on rows, compiled once per instruction set (tiles.cpp). The operators around them are compiled once
/// for every CPU, and call the tiles of the instruction set in use. Results are wide, so 16-bit formats share the
/// tiles of float. Only conversions, and matmuls that convert as they read, have tiles for each 16-bit format.

#include <atomic>

#include "calc/operator/op.hpp"
#include "model/backend.hpp"
#include "model/cpu/products/matmul_shape.hpp"
#include "model/math/numbers.hpp"

namespace llmcalc::model {

/// Number of elements of a row that are converted together.
inline constexpr Count row_block = 128;

/// An activation f on rows: f(x), dy f'(x), f(a) b and dy b f'(a).
template <typename W>
struct ActivationRows {
  void (*value)(Count n, const W* x, W* y);
  void (*slope)(Count n, const W* x, const W* dy, W* dx);
  void (*gate)(Count n, const W* a, const W* b, W* y);
  void (*gate_slope)(Count n, const W* a, const W* b, const W* dy, W* da);
};

/// y = (x - mean) inverse; mean is 0 in RMSNorm.
template <typename W>
struct RowStatistics {
  W mean, inverse;
};

/// Gradients of a set of weights, summed over rows.
template <typename W>
struct WeightSums {
  W *weight = nullptr, *bias = nullptr;
};

/// A sum of exponentials, in row_block partial sums, each scaled by e^-most.
template <typename W>
struct OnlineSum {
  W sums[row_block] = {}, most;
};

/// Constants of a step of AdamW (Loshchilov, Hutter 2017, arXiv:1711.05101) with bias correction.
template <typename W>
struct AdamNumbers {
  W b1, b2, c1, c2, epsilon, rate, shrink, bias1, bias2;
};
/// Constants of a step of gradient descent.
template <typename W>
struct DescentNumbers {
  W rate, keep, shrink;
};

/// A row in two separate parts; the second may be empty.
template <typename X>
struct SplitRow {
  const X* first;
  Count width;
  const X* second = nullptr;
  Count rest = 0;
};

/// Tile operations on wide elements: see the functions with these names in rows.hpp.
template <typename W>
struct WideTiles {
  void (*add_rows)(Count, const W*, const W*, W*);
  void (*multiply_rows)(Count, const W*, const W*, W*);
  void (*scale_row)(Count, W, const W*, W*);
  ActivationRows<W> (*activation_rows)(Activation);
  RowStatistics<W> (*row_statistics)(const Norm&, const W*, double);
  void (*normalize)(Count, const W*, RowStatistics<W>, const W*, const W*, W*);
  void (*norm_row_gradient)(const Norm&, const W*, const W*, const W*, RowStatistics<W>, W*, bool, WeightSums<W>);
  void (*turn_rows)(Count, const W*, const W*, const W*, const W*, W, W*, W*);
  void (*add_exponentials)(Count, const W*, OnlineSum<W>&);
  W (*logarithm)(Count, const OnlineSum<W>&);
  void (*exponential_row)(Count, const W*, W, W, W*);
  W (*softmax)(Count, W*, const W*);
  void (*score_gradients)(Count, const W*, const W*, W, W*, W*);
  void (*adam_row)(const AdamNumbers<W>&, Count, const W*, W*, W*, W*);
  void (*descent_row)(const DescentNumbers<W>&, Count, const W*, W*, W*);
  double (*sum_of_squares)(Count, const W*);
  void (*throw_dice)(const Dropout&, Count, W*);
  void (*add_to_rows)(Count, Count, const W*, const W*, W*);
  void (*add_product)(Count, Count, Count, const W*, Count, Count, const W*, W*);
  void (*product_with_rows)(Count, Count, Count, const W*, const W*, W*);
};

/// Tile operations on elements in their stored format.
template <typename T>
struct Tiles {
  using W = Wide<T>;
  void (*widen)(Count, const T*, W*);
  void (*put_row)(Count, const W*, T*, bool);
  void (*add_row)(Count, const T*, W*);
  void (*add_scaled_row)(Count, W, const T*, W*);
  W (*row_product)(Count, const T*, const T*);
  void (*dot_rows)(Count, const SplitRow<W>&, const T*, Count, const T*, Count, W*);
  void (*add_rows_times)(Count, Count, const W*, const T*, Count, W*);
  void (*multiply_square)(const MatmulShape&, Count, Count, Count, Count, const T*, const T*, W*, Count, bool);
};

/// The tiles of one instruction set.
struct AllTiles {
  WideTiles<float> wide;
  Tiles<float> f32;
  Tiles<bf16> bf;
  Tiles<fp16> half;
};

/// The tiles in use, set by the last backend that was created.
inline std::atomic<const AllTiles*> tiles_in_use;

}  // namespace llmcalc::model
