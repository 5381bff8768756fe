#pragma once
/// Rows that go from one place to another: embeddings, tokens to experts, keys and values to their cache.

#include "model/backend.hpp"
#include "model/cuda/pack.hpp"
#include "model/cuda/replay.hpp"
#include "model/cuda/together.hpp"

namespace llmcalc::model::cuda {

/// Row r of width numbers from from + places.from(r) to to + places.to(r), which is negative where it stays away;
/// i counts packs.
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
/// by_packs: all of these places, and the width, are multiples of a pack.
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

/// The row of token t's position.
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

/// Token t of a sequence goes to slot (past + t) mod capacity; the last of those that share a slot stays in it.
struct CachePlaces {
  Count queries, capacity, stride, row;
  Moved<Count> past;
  LLMCALC_HD Count from(Count r) const { return r * stride; }
  LLMCALC_HD Count to(Count r) const {
    const Count t = r % queries;
    return t < queries - capacity ? -1 : (r / queries * capacity + (past.now() + t) % capacity) * row;
  }
};
/// Rows of x that go to a cache, `width` numbers of each.
template <typename T>
struct CachedRows {
  Count sequences, width;
  CachePlaces places;
  const T* x;
  T* cache;

  // ---- a call that may wait: see Together
  bool by_packs() const {
    constexpr int N = pack_of<T>;
    return width % N == 0 && places.stride % N == 0 && places.row % N == 0 &&
           at_packs<N>(x, static_cast<const T*>(cache));
  }
  Count pieces() const { return sequences * places.queries * width; }
  bool like(const CachedRows& other) const { return by_packs() == other.by_packs(); }
  std::array<Extent, 1> reads() const { return {extent(x, (sequences * places.queries - 1) * places.stride + width)}; }
  Extent writes() const { return extent(cache, (sequences * places.capacity - 1) * places.row + width); }
  template <typename Device>
  static void run(Device& device, std::span<const CachedRows> all) {
    all[0].by_packs() ? copy<pack_of<T>>(device, all) : copy<1>(device, all);
  }

 private:
  template <int N, typename Device>
  static void copy(Device& device, std::span<const CachedRows> all) {
    const auto kernel = [](const CachedRows& c) {
      return CopyRows<T, N, CachePlaces>{c.width, c.places, c.x, c.cache};
    };
    everywhere(device, all, kernel, N);
  }
};

}  // namespace llmcalc::model::cuda
