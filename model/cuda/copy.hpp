#pragma once
/// Copies rows: embeddings, tokens to experts, keys and values to the KV cache.

#include "model/backend.hpp"
#include "model/cuda/fast/replay.hpp"
#include "model/cuda/kernels/pack.hpp"

namespace llmcalc::model::cuda {

/// Copies row r of `width` elements to to[places.to(r)] from from[places.from(r)]; skips it if places.to(r) is
/// negative. i is the index of a pack.
template <typename T, int N, typename Places>
struct CopyRows {
  Count width;
  Places places;
  const T* from;
  T* to;
  LLMCALC_HD void operator()(Count i) const {
    const Count r = i * N / width, at = i * N % width, target = places.to(r);
    if (target >= 0) *packs<N>(to + target + at) = load<N>(from + places.from(r) + at);
  }
};
/// `by_packs`: whether all offsets of `places`, and the width, are multiples of a pack.
template <typename Device, typename T, typename Places>
void copy_rows(Device& device, Count rows, Count width, const Places& places, bool by_packs, const T* from, T* to) {
  constexpr int N = pack_of<T>;
  by_packs&& width % N == 0 && at_packs<N>(from, static_cast<const T*>(to))
      ? everywhere(device, rows * width / N, CopyRows<T, N, Places>{width, places, from, to})
      : everywhere(device, rows * width, CopyRows<T, 1, Places>{width, places, from, to});
}

struct TablePlaces {
  const Count* row;
  Count width;
  LLMCALC_HD Count from(Count r) const { return row[r] * width; }
  LLMCALC_HD Count to(Count r) const { return r * width; }
};
/// Row i of y is row row[i] of the table.
template <typename Device, typename T>
void rows_of_table(Device& device, Count rows, Count width, const Count* row, const T* table, T* y) {
  copy_rows(device, rows, width, TablePlaces{row, width}, true, table, y);
}

/// Copies to row t of the result the table row of token t's position.
struct PositionPlaces {
  Count queries, width;
  Moved<Count> past;
  LLMCALC_HD Count from(Count t) const { return (past.now() + t % queries) * width; }
  LLMCALC_HD Count to(Count t) const { return t * width; }
};
template <typename Device, typename T>
void rows_of_positions(Device& device, const Lookup& s, Count queries, const Moved<Count>& past, const T* table, T* y) {
  copy_rows(device, s.tokens, s.width, PositionPlaces{queries, s.width, past}, true, table, y);
}

/// Token t of a sequence goes to slot (past + t) mod capacity; if several tokens share a slot, the last one remains.
struct CachePlaces {
  Count queries, capacity, stride, row;
  Moved<Count> past;
  LLMCALC_HD Count from(Count r) const { return r * stride; }
  LLMCALC_HD Count to(Count r) const {
    const Count t = r % queries;
    return t < queries - capacity ? -1 : (r / queries * capacity + (past.now() + t) % capacity) * row;
  }
};
template <typename Device, typename T>
void rows_to_cache(Device& device, Count sequences, Count width, const CachePlaces& places, const T* x, T* cache) {
  const bool by_packs = places.stride % pack_of<T> == 0 && places.row % pack_of<T> == 0;
  copy_rows(device, sequences * places.queries, width, places, by_packs, x, cache);
}

}  // namespace llmcalc::model::cuda
