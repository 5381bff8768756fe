#pragma once
/// Bitwise reproducible sums over rows, for every column: first within groups of rows, then over the groups in order.

#include <algorithm>
#include <array>

#include "model/cuda/kernels/pack.hpp"
#include "model/cuda/workspace.hpp"

namespace llmcalc::model::cuda {

/// partial[group, k, column] = sum k of a column over the rows of a group. f(row, column, sums) adds a row's
/// contribution to sums[k][n], for the N columns starting at `column`. A block per group and 32 N columns; its warps
/// process rows round-robin. Shared memory: K N elements per thread.
template <int K, int N, typename F>
struct ColumnSums {
  Count rows, columns, size;  ///< size: number of rows in a group
  F f;
  float* partial;
  static constexpr Count tile = warp * N;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count tiles = (columns + tile - 1) / tile, group = t.block() / tiles, begin = group * size;
    const Count column = t.block() % tiles * tile + t.index() % warp * N;
    const Count end = begin + size < rows ? begin + size : rows, step = t.size() / warp;
    float all[K][N] = {};
    if (column < columns) {
      LLMCALC_UNROLL_4
      for (Count r = begin + t.index() / warp; r < end; r += step) f(r, column, all);
    }
    float* const room = reinterpret_cast<float*>(t.room());
    LLMCALC_UNROLL
    for (int i = 0; i < K * N; ++i) room[i * t.size() + t.index()] = all[i / N][i % N];
    t.sync();
    if (t.index() >= warp || column >= columns) return;
    for (int i = 0; i < K * N; ++i) {
      float sum = 0;
      for (int from = t.index(); from < t.size(); from += warp) sum += room[i * t.size() + from];
      partial[(group * K + i / N) * columns + column + i % N] = sum;
    }
  }
};

/// to[k] += sum k of the groups. A block per k and 32 columns. Shared memory: an element per thread.
template <int K>
requires(K <= 2) struct GroupSums {
  Count groups, columns;
  const float* partial;
  float* to[K];  ///< destinations to which the sums are added; null: not computed

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count tiles = (columns + warp - 1) / warp, k = t.block() / tiles;
    const Count column = t.block() % tiles * warp + t.index() % warp;
    float* const room = reinterpret_cast<float*>(t.room());
    float sum = 0;
    if (column < columns) {
      LLMCALC_UNROLL_4
      for (Count g = t.index() / warp; g < groups; g += t.size() / warp) sum += partial[(g * K + k) * columns + column];
    }
    room[t.index()] = sum;
    t.sync();
    float* const target = k == 0 ? to[0] : to[K - 1];
    if (t.index() >= warp || column >= columns || target == nullptr) return;
    for (int i = t.index() + warp; i < t.size(); i += warp) sum += room[i];
    target[column] += sum;
  }
};

/// to[k] += sum k of the groups.
template <int K, typename Device>
void add_groups(Device& device, Count groups, Count columns, const float* partial, const std::array<float*, K>& to) {
  constexpr int threads = 128;
  GroupSums<K> all{groups, columns, partial, {}};
  std::copy(to.begin(), to.end(), all.to);
  device.launch(all, K * ((columns + warp - 1) / warp), threads, threads * static_cast<Count>(sizeof(float)));
}

/// to[k] += sum k of f over all rows.
template <int K, int N, typename Device, typename F>
void add_column_sums(Device& device, Count rows, Count columns, const F& f, const std::array<float*, K>& to) {
  constexpr int threads = 128;
  constexpr Count number = sizeof(float);
  if (rows == 0 || columns == 0) return;
  const Count most = std::clamp<Count>(rows / 32, 1, 128), size = (rows + most - 1) / most;
  const Count groups = (rows + size - 1) / size;
  const DeviceWorkspace<Device, float> partial(device, groups * K * columns);
  const ColumnSums<K, N, F> sums{rows, columns, size, f, partial.data()};
  device.launch(sums, groups * ((columns + sums.tile - 1) / sums.tile), threads, K * N * threads * number);
  add_groups<K>(device, groups, columns, partial.data(), to);
}

/// Contribution of a matrix's row to the column sums: the row itself.
template <typename T, int N>
struct PlainRows {
  const T* data;
  Count stride;
  LLMCALC_HD void operator()(Count row, Count column, float (&all)[1][N]) const {
    const Pack<T, N> p = load<N>(data + row * stride + column);
    for (int n = 0; n < N; ++n) all[0][n] += wide(p.x[n]);
  }
};

/// db += the sum of the rows of dy.
template <typename Device, typename T>
void bias_gradient(Device& device, Count rows, Count width, const T* dy, Count stride, float* db) {
  constexpr int N = pack_of<T>;
  if (width % N == 0 && stride % N == 0 && at_packs<N>(dy))
    add_column_sums<1, N>(device, rows, width, PlainRows<T, N>{dy, stride}, {db});
  else
    add_column_sums<1, 1>(device, rows, width, PlainRows<T, 1>{dy, stride}, {db});
}

}  // namespace llmcalc::model::cuda
