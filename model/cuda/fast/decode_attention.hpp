#pragma once
/// Gain: reads a token's keys and values at the speed of memory, even with fewer heads than multiprocessors. Measure:
/// the time of attn.core relative to its bytes in gpu-check's decode_8b.
///
/// Attention of one query per sequence at the speed of memory: the keys are split over blocks, and a second kernel
/// combines the partial results (Dao et al. 2023, "Flash-Decoding for long-context inference"). The launch dimensions
/// depend on the cache's capacity, not on the number of keys.

#include <bit>
#include <limits>

#include "model/cuda/kernels/attention.hpp"
#include "model/cuda/kernels/pack.hpp"
#include "model/cuda/workspace.hpp"

namespace llmcalc::model::cuda {

/// A head's partial results over a split of the keys: sum of e^(score - most) v, most, and sum of e^(score - most);
/// (sequences, heads, splits).
struct KeyShares {
  Count splits;
  float *value, *most, *total;
};

/// Computes the partial results of a split for H heads of a KV head, which read the KV head's keys together, in one
/// block. `lanes` neighboring threads, a power of two, share a key and read a pack each; every thread has U keys in
/// flight. Shared memory, in floats: H (lanes N + number of keys in two tiles + 4), plus H lanes N for each warp.
template <typename T, int H>
struct DecodeShare {
  static constexpr int N = pack_of<T>, U = 4;
  Scores<T> c;
  KeyShares to;
  int lanes;

  /// The block's position, its keys, and its memory.
  struct Here {
    Count b, g, head, heads, split, begin, end;
    Count key_slot, value_slot;  ///< slots of the first key and its value
    int lane, group, groups, tile;
    float *q, *scores, *most, *total, *shrink, *slope, *sums;
    float* p;  ///< scores of the tile, in alternating buffers, because the previous tile's may still be read while
               ///< these are written
  };
  static LLMCALC_HD constexpr Count room(int threads, int lanes) {
    return static_cast<Count>(sizeof(float)) * H *
           (lanes * N + 2 * (threads / lanes * U) + 4 + threads / warp * lanes * N);
  }

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    Here at = here(t);
    prepare(t, at);
    float all[H][N] = {};
    Pack<T, N> v[U];
    int turn = 0;
    for (Count tile = at.begin; tile < at.end; tile += at.tile, turn ^= 1) {
      at.p = at.scores + turn * H * at.tile;
      scores(t, at, tile, v);
      t.sync();
      weigh(t, at);
      t.sync();
      LLMCALC_UNROLL
      for (int h = 0; h < H; ++h) {
        const float shrink = at.shrink[h];
        for (int n = 0; n < N; ++n) all[h][n] *= shrink;
        LLMCALC_UNROLL
        for (int u = 0; u < U; ++u) {
          const float p = at.p[h * at.tile + u * at.groups + at.group];
          for (int n = 0; n < N; ++n) all[h][n] += p * wide(v[u].x[n]);
        }
      }
    }
    finish(t, at, all);
  }

  template <typename Thread>
  LLMCALC_HD Here here(const Thread& t) const {
    Here at;
    const Count per_kv = c.s.heads / c.s.kv_heads, tiles = (per_kv + H - 1) / H, rest = t.block() / to.splits;
    at.split = t.block() % to.splits;
    at.g = rest / tiles % c.s.kv_heads;
    at.b = rest / tiles / c.s.kv_heads;
    at.head = at.g * per_kv + rest % tiles * H;
    at.heads = per_kv - rest % tiles * H < H ? per_kv - rest % tiles * H : H;
    const Count first = c.first(0), keys = c.last(0) - first, each = (keys + to.splits - 1) / to.splits;
    at.begin = first + at.split * each;
    at.end = at.begin + each < c.last(0) ? at.begin + each : c.last(0);
    at.key_slot = c.in.k.capacity > 0 ? at.begin % c.in.k.capacity : at.begin;
    at.value_slot = c.in.v.capacity > 0 ? at.begin % c.in.v.capacity : at.begin;
    at.lane = t.index() % lanes;
    at.group = t.index() / lanes;
    at.groups = t.size() / lanes;
    at.tile = at.groups * U;
    at.q = reinterpret_cast<float*>(t.room());
    at.p = at.scores = at.q + H * lanes * N;
    at.most = at.scores + 2 * H * at.tile;
    at.total = at.most + H;
    at.shrink = at.total + H;
    at.slope = at.shrink + H;
    at.sums = at.slope + H;
    return at;
  }
  /// Loads the scaled queries; elements beyond the head width, and missing heads, are zero.
  template <typename Thread>
  LLMCALC_HD void prepare(const Thread& t, const Here& at) const {
    in_block(t, H * lanes * N, [&](Count i) {
      const Count h = i / (lanes * N), d = i % (lanes * N);
      const bool there = h < at.heads && d < c.s.qk_dim;
      at.q[i] = there ? wide(c.at(c.in.q, at.b, 0, at.head + h)[d]) * static_cast<float>(c.in.scale) : 0.0f;
    });
    in_block(t, H, [&](Count h) {
      at.most[h] = -std::numeric_limits<float>::infinity();
      at.total[h] = 0;
      at.slope[h] = c.in.alibi ? static_cast<float>(alibi_slope(c.s.heads, at.head + h)) : 0.0f;
    });
    t.sync();
  }
  /// Writes the scores of the tile's keys to p, with -infinity past the last key, and loads the keys' values at the
  /// same time.
  template <typename Thread>
  LLMCALC_HD void scores(const Thread& t, const Here& at, Count tile, Pack<T, N> (&v)[U]) const {
    Pack<T, N> k[U];
    const Count d = static_cast<Count>(at.lane) * N;
    LLMCALC_UNROLL
    for (int u = 0; u < U; ++u) {
      const Count j = tile + u * at.groups + at.group;
      k[u] = v[u] = Pack<T, N>{};
      if (j < at.end && d < c.s.qk_dim) k[u] = load<N>(row(c.in.k, at, at.key_slot + j - at.begin) + d);
      if (j < at.end && d < c.s.v_dim) v[u] = load<N>(row(c.in.v, at, at.value_slot + j - at.begin) + d);
    }
    LLMCALC_UNROLL
    for (int h = 0; h < H; ++h) {
      const Pack<float, N> q = load<N>(at.q + h * lanes * N + d);
      float sum[U] = {};
      LLMCALC_UNROLL
      for (int u = 0; u < U; ++u)
        for (int n = 0; n < N; ++n) sum[u] += q.x[n] * wide(k[u].x[n]);
      const int which = lane_sums<U>(t, sum, lanes);
      if (at.lane % (lanes / U) != 0) continue;
      const Count j = tile + which * at.groups + at.group;
      const float x = sum[0] - at.slope[h] * static_cast<float>(c.past() - j);
      at.p[h * at.tile + which * at.groups + at.group] = j < at.end ? x : -std::numeric_limits<float>::infinity();
    }
  }
  /// A row of the cache, whose slots wrap around.
  LLMCALC_HD static const T* row(const HeadView& x, const Here& at, Count slot) {
    const Count wrapped = x.capacity > 0 && slot >= x.capacity ? slot - x.capacity : slot;
    return static_cast<const T*>(x.data) + at.b * x.sequence + wrapped * x.token + at.g * x.head;
  }
  /// Replaces scores by e^(score - most), and updates most and total with this tile; a warp per head, in lockstep.
  template <typename Thread>
  LLMCALC_HD void weigh(const Thread& t, const Here& at) const {
    const int lane = t.index() % warp;
    for (int first = 0; first < H; first += t.size() / warp) {
      const int h = first + t.index() / warp, end = h < H ? at.tile : 0;
      float* const p = at.p + h * at.tile;
      const float before = h < H ? at.most[h] : 0.0f;
      float most = before, total = 0;
      for (int i = lane; i < end; i += warp) most = p[i] > most ? p[i] : most;
      for (int bits = warp / 2; bits > 0; bits /= 2) most = Greater()(most, t.across(most, bits));
      for (int i = lane; i < end; i += warp) total += p[i] = t.exp(p[i] - most);
      for (int bits = warp / 2; bits > 0; bits /= 2) total = total + t.across(total, bits);
      if (lane != 0 || h >= H) continue;
      const float shrink = t.exp(before - most);
      at.shrink[h] = shrink;
      at.most[h] = most;
      at.total[h] = at.total[h] * shrink + total;
    }
  }
  /// Sums the values over groups of a warp, then over warps in order.
  template <typename Thread>
  LLMCALC_HD void finish(const Thread& t, const Here& at, float (&all)[H][N]) const {
    const Count width = static_cast<Count>(lanes) * N;
    LLMCALC_UNROLL
    for (int h = 0; h < H; ++h)
      for (int n = 0; n < N; ++n) {
        for (int bits = lanes; bits < warp; bits *= 2) all[h][n] = all[h][n] + t.across(all[h][n], bits);
        if (t.index() % warp < lanes) at.sums[(t.index() / warp * H + h) * width + at.lane * N + n] = all[h][n];
      }
    t.sync();
    in_block(t, at.heads * c.s.v_dim, [&](Count i) {
      const Count h = i / c.s.v_dim, d = i % c.s.v_dim;
      float sum = 0;
      for (int w = 0; w < t.size() / warp; ++w) sum += at.sums[(w * H + h) * width + d];
      to.value[place(at, h) * c.s.v_dim + d] = sum;
    });
    in_block(t, at.heads, [&](Count h) { to.most[place(at, h)] = at.most[h], to.total[place(at, h)] = at.total[h]; });
  }
  LLMCALC_HD Count place(const Here& at, Count h) const {
    return (at.b * c.s.heads + at.head + h) * to.splits + at.split;
  }
};

/// Combines a head's partial results and its sink, in one block per query and head. Shared memory: an element per warp
/// and per split.
template <typename T>
struct DecodeWhole {
  Scores<T> c;
  KeyShares from;
  float* log_sum_exp;
  T* o;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count row = t.block(), first = row * from.splits, width = c.s.v_dim;
    float *const room = reinterpret_cast<float*>(t.room()), *const weight = room + warp;
    const bool sinks = c.in.sinks != nullptr;
    const float sink = sinks ? c.sink(row % c.s.heads) : -std::numeric_limits<float>::infinity();
    float most = sink, total = 0;
    in_block(t, from.splits, [&](Count i) { most = Greater()(most, from.most[first + i]); });
    most = block_most(t, most, room);
    in_block(t, from.splits, [&](Count i) {
      weight[i] = t.exp(from.most[first + i] - most);
      total += from.total[first + i] * weight[i];
    });
    total = block_sum(t, total, room) + (sinks ? t.exp(sink - most) : 0.0f);
    in_block(t, width, [&](Count d) {
      float sum = 0;
      LLMCALC_UNROLL_4
      for (Count i = 0; i < from.splits; ++i) sum += from.value[(first + i) * width + d] * weight[i];
      o[row * width + d] = static_cast<T>(sum / total);
    });
    if (log_sum_exp != nullptr && t.index() == 0) log_sum_exp[row] = most + log_of(total);
  }
};

/// Flash attention with one query per sequence.
template <typename T>
class DecodeAttention {
  static constexpr int N = pack_of<T>;
  static constexpr int threads = 128;
  Scores<T> c_;

  static bool at_packs(const HeadView& v) {
    return v.sequence % N == 0 && v.token % N == 0 && v.head % N == 0 &&
           cuda::at_packs<N>(static_cast<const T*>(v.data));
  }
  /// At least U lanes, so that each of a lane group's U scores is written by a different lane.
  int lanes() const {
    const auto widest = static_cast<unsigned>(std::max(c_.s.qk_dim, c_.s.v_dim) / N);
    return static_cast<int>(std::max(4U, std::bit_ceil(widest)));
  }
  /// Enough splits to fill the device four times over, each of at least 64 keys when the cache is full.
  Count splits(Count blocks) const {
    constexpr Count wanted = 132 * 4, least = 64, most = 128;
    const Count held = c_.in.k.capacity > 0 ? c_.in.k.capacity : c_.s.past() + 1;
    const Count seen = c_.s.reach.held(held);
    return std::clamp<Count>((wanted + blocks - 1) / blocks, 1, std::min(most, (seen + least - 1) / least));
  }
  template <int H, typename Device>
  void launch(Device& device, float* log_sum_exp, T* o) const {
    const Attention& s = c_.s;
    const Count per_kv = s.heads / s.kv_heads, blocks = s.sequences * s.kv_heads * ((per_kv + H - 1) / H);
    const Count parts = splits(blocks), shares = s.sequences * s.heads * parts;
    const DeviceWorkspace<Device, float> room(device, shares * (s.v_dim + 2));
    float* const value = room.data();
    const KeyShares to{parts, value, value + shares * s.v_dim, value + shares * (s.v_dim + 1)};
    using Share = DecodeShare<T, H>;
    device.launch(Share{c_, to, lanes()}, blocks * parts, threads, Share::room(threads, lanes()));
    device.launch(DecodeWhole<T>{c_, to, log_sum_exp, o}, s.sequences * s.heads, threads,
                  (warp + parts) * static_cast<Count>(sizeof(float)));
  }

 public:
  explicit DecodeAttention(const Scores<T>& c) : c_(c) {}

  /// Whether this kernel applies: it requires heads of whole packs, at most one pack per thread of a warp.
  bool can() const {
    const Attention& s = c_.s;
    return s.queries == 1 && c_.drop.p <= 0 && c_.in.rope_dim == 0 && s.qk_dim % N == 0 && s.v_dim % N == 0 &&
           std::max(s.qk_dim, s.v_dim) <= warp * N && at_packs(c_.in.k) && at_packs(c_.in.v);
  }
  template <typename Device>
  void run(Device& device, float* log_sum_exp, T* o) const {
    const Count per_kv = c_.s.heads / c_.s.kv_heads;
    if (per_kv == 1) return launch<1>(device, log_sum_exp, o);
    if (per_kv == 2) return launch<2>(device, log_sum_exp, o);
    per_kv <= 4 ? launch<4>(device, log_sum_exp, o) : launch<8>(device, log_sum_exp, o);
  }
};

}  // namespace llmcalc::model::cuda
