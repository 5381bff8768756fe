#pragma once
/// Positions on a GPU: sinusoids and rotations from one table of angles.

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "model/cuda/fast/replay.hpp"
#include "model/cuda/kernels/pointwise.hpp"

namespace llmcalc::model::cuda {

/// Scaled cos and sin of every frequency at every position of a pass: two rows of `pairs` elements per position. Kept
/// while positions stay the same, or until forget().
template <typename Device>
class Turns {
 public:
  explicit Turns(Device& device) : device_(device) {}
  ~Turns() { forget(); }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  void forget() {
    if (data_ != nullptr) device_.release(std::exchange(data_, nullptr), bytes_);
  }

  template <typename Past>
  const float* of(const Positions& p, Count width, const Past& moved) {
    const std::tuple key(p.queries, p.past, p.rotary != nullptr ? *p.rotary : rotary({}, width, 0));
    if (data_ != nullptr && key == key_) return data_;
    forget();
    const Count pairs = (width + 1) / 2;
    key_ = key;
    bytes_ = 2 * p.queries * pairs * static_cast<Count>(sizeof(float));
    data_ = static_cast<float*>(device_.allocate(bytes_));
    fill(p.queries, moved(p.past), pairs, std::get<Rotary>(key_));
    return data_;
  }

  void fill(Count queries, const Moved<Count>& past, Count pairs, const Rotary& turns) {
    const DeviceWorkspace<Device, double> room(device_, turns.frequency);
    const double scale = turns.scale;
    const double* const f = room.data();
    float* const to = data_;
    everywhere(device_, queries * pairs, [=] LLMCALC_DEVICE(Count i) {
      const Count q = i / pairs, k = i % pairs;
      const CosSin t = cos_sin(static_cast<double>(past.now() + q) * f[k]);
      to[2 * q * pairs + k] = static_cast<float>(t.cosine * scale);
      to[(2 * q + 1) * pairs + k] = static_cast<float>(t.sine * scale);
    });
  }

 private:
  Device& device_;
  float* data_ = nullptr;
  Count bytes_ = 0;
  std::tuple<Count, Count, Rotary> key_;
};

/// Element 2i of a row += sin of frequency i at its position, element 2i + 1 += its cosine.
template <typename Device, typename T>
void add_sinusoid(Device& device, const Lookup& s, const Positions& p, const float* turn, T* x) {
  const Count width = s.width, pairs = (s.width + 1) / 2, queries = p.queries;
  everywhere(device, mul(s.tokens, s.width), [=] LLMCALC_DEVICE(Count i) {
    const Count q = i / width % queries, c = i % width;
    x[i] = static_cast<T>(wide(x[i]) + turn[(2 * q + (c % 2 == 0 ? 1 : 0)) * pairs + c / 2]);
  });
}

/// Rotates the heads of x, each of `half` pairs, in place by their position, or back if `direction` is -1. A pair
/// consists of elements k and k + half of a head; i is the index of a pack of N pairs.
template <typename T, int N>
struct Rotation {
  T* x;
  const float* turn;
  Count row, heads, head, half, pairs, queries;
  float direction;

  LLMCALC_HD void operator()(Count i) const {
    const Count steps = half / N, r = i / steps / heads, h = i / steps % heads, k = i % steps * N, q = r % queries;
    T* const at = x + r * row + h * head + k;
    Pack<T, N> a = load<N>(at), b = load<N>(at + half);
    const Pack<float, N> cosine = load<N>(turn + 2 * q * pairs + k), sine = load<N>(turn + (2 * q + 1) * pairs + k);
    for (int n = 0; n < N; ++n) {
      const float left = wide(a.x[n]), right = wide(b.x[n]), s = sine.x[n] * direction;
      a.x[n] = static_cast<T>(left * cosine.x[n] - right * s);
      b.x[n] = static_cast<T>(right * cosine.x[n] + left * s);
    }
    *packs<N>(at) = a, *packs<N>(at + half) = b;
  }
};
/// Rotates the first `width` elements of every head of every row; `inverse`: whether to rotate back.
template <typename Device, typename T>
void rotate(Device& device, Count rows, const Positions& p, const float* turn, T* x, Count row, Count heads, Count head,
            Count width, bool inverse) {
  constexpr int N = pack_of<T>;
  const Count half = width / 2, pairs = (width + 1) / 2, all = rows * heads * half;
  const float direction = inverse ? -1.0f : 1.0f;
  const bool by_packs = half % N == 0 && head % N == 0 && row % N == 0 && pairs == half && at_packs<N>(x);
  by_packs ? everywhere(device, all / N, Rotation<T, N>{x, turn, row, heads, head, half, pairs, p.queries, direction})
           : everywhere(device, all, Rotation<T, 1>{x, turn, row, heads, head, half, pairs, p.queries, direction});
}

}  // namespace llmcalc::model::cuda
