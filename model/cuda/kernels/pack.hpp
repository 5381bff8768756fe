#pragma once
/// Packs of 16 bytes, the size at which a GPU reads memory fastest, and kernels over columns of elements. The kernels
/// use packs if all pointers are aligned to them, and single elements otherwise.

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "model/cuda/thread.hpp"

namespace llmcalc::model::cuda {

/// N adjacent elements, read or written in one access.
template <typename X, int N>
struct alignas(sizeof(X) * N < 16 ? sizeof(X) * N : 16) Pack {
  X x[N];
};
template <typename X>
inline constexpr int pack_of = 16 / static_cast<int>(sizeof(X));

template <int N, typename X>
LLMCALC_HD const Pack<X, N>* packs(const X* at) {
  return reinterpret_cast<const Pack<X, N>*>(at);
}
template <int N, typename X>
LLMCALC_HD Pack<X, N>* packs(X* at) {
  return reinterpret_cast<Pack<X, N>*>(at);
}
template <int N, typename X>
LLMCALC_HD Pack<X, N> load(const X* from) {
  return *packs<N>(from);
}

/// Whether all these pointers are aligned to packs of N; null counts as aligned.
template <int N, typename... X>
bool at_packs(const X*... at) {
  return ((reinterpret_cast<std::uintptr_t>(at) % alignof(Pack<X, N>) == 0) && ...);
}

/// An array that a kernel reads, writes or both; null: unused.
template <typename X>
struct Column {
  X* data;
  bool read, write;

  template <int N>
  LLMCALC_HD void get(Count i, float* v) const {
    Pack<X, N> p{};
    if (read) p = load<N>(data + i);
    for (int k = 0; k < N; ++k) v[k] = static_cast<float>(wide(p.x[k]));
  }
  template <int N>
  LLMCALC_HD void set(Count i, const float* v) const {
    if (!write) return;
    Pack<X, N> p;
    for (int k = 0; k < N; ++k) p.x[k] = static_cast<X>(v[k]);
    *packs<N>(data + i) = p;
  }
};
template <typename X>
Column<X> reads(const X* x) {
  return {const_cast<X*>(x), x != nullptr, false};
}
template <typename X>
Column<X> writes(X* x) {
  return {x, false, x != nullptr};
}
template <typename X>
Column<X> updates(X* x) {
  return {x, x != nullptr, x != nullptr};
}
/// The column that a kernel adds to; it starts from 0 if `add` is false.
template <typename X>
Column<X> sums(X* x, bool add) {
  return {x, add, true};
}

/// Calls f(i, element i of each column as float&...) for every i below n: N at a time for `whole` packs, then one by
/// one.
template <int N, typename F, typename... X>
struct Columns {
  static constexpr bool alone = true;
  Count n, whole;
  F f;
  std::tuple<Column<X>...> columns;

  LLMCALC_HD Count pieces() const { return whole + n - whole * N; }
  LLMCALC_HD void piece(Count p) const {
    if (p < whole)
      stretch<N>(p * N, std::index_sequence_for<X...>());
    else
      stretch<1>(whole * (N - 1) + p, std::index_sequence_for<X...>());
  }
  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    for (Count p = t.block() * t.size() + t.index(); p < pieces(); p += t.blocks() * t.size()) piece(p);
  }
  template <int M, std::size_t... C>
  LLMCALC_HD void stretch(Count i, std::index_sequence<C...>) const {
    float v[sizeof...(X)][M];
    (std::get<C>(columns).template get<M>(i, v[C]), ...);
    LLMCALC_UNROLL
    for (int k = 0; k < M; ++k) f(i + k, v[C][k]...);
    (std::get<C>(columns).template set<M>(i, v[C]), ...);
  }
};

/// Launches enough threads to fill the device, each with a few of n pieces.
template <typename Device, typename Kernel>
void shared_out(Device& device, Count n, const Kernel& kernel) {
  constexpr Count most_blocks = 132 * 16;
  if (n > 0) device.launch(kernel, std::min((n + 255) / 256, most_blocks), 256, 0);
}

/// Calls f(i) for every i below count, on the whole device.
template <typename Device, typename F>
void everywhere(Device& device, Count count, F f) {
  shared_out(device, count, Everywhere<F>{count, f});
}

/// A kernel over columns of elements, which can be divided into pieces.
template <typename F, typename... X>
auto columns_of(Count count, F f, Column<X>... columns) {
  constexpr int N = 16 / static_cast<int>(std::max({sizeof(X)...}));
  const Count whole = at_packs<N>(columns.data...) ? count / N : 0;
  return Columns<N, F, X...>{count, whole, f, {columns...}};
}
/// Runs f on element i of every column. Its arguments are in registers; those of written columns are stored afterward.
template <typename Device, typename F, typename... X>
void over(Device& device, Count count, F f, Column<X>... columns) {
  const auto kernel = columns_of(count, f, columns...);
  shared_out(device, kernel.pieces(), kernel);
}

}  // namespace llmcalc::model::cuda
