#pragma once
/// Cross-entropy of the vocabulary's logits, in float32 or the format of the matmuls. One pass reads the logits for the
/// loss; a second pass replaces them by their gradient. Between the passes, only the log-sum-exp of every row is
/// stored.

#include <limits>
#include <memory>
#include <stdexcept>

#include "model/backend.hpp"
#include "model/cuda/kernels/pack.hpp"
#include "model/cuda/kernels/rows.hpp"
#include "model/cuda/workspace.hpp"

namespace llmcalc::model::cuda {

/// Number of packs of N logits that a thread loads before it uses the first one.
template <int N>
inline constexpr int packs_at_once = N > 1 ? 2 : 8;

/// log sum e^x of a row, with online correction of maximum and sum (Milakov, Gimelshein 2018, arXiv:1805.02867), and
/// -log p of its target. N divides the vocabulary. Shared memory: an element per warp.
template <typename X, int N>
struct LossRows {
  static constexpr int steps = packs_at_once<N>, at_once = steps * N;
  Count vocabulary;
  const std::int64_t* targets;
  const X* logits;
  float *log_sums, *losses;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    float* const room = reinterpret_cast<float*>(t.room());
    const X* const x = logits + t.block() * vocabulary;
    float most = -std::numeric_limits<float>::max(), sum = 0;
    for (Count at = t.index(); at * N < vocabulary; at += steps * t.size()) {
      Pack<X, N> p[steps];
      LLMCALC_UNROLL
      for (int u = 0; u < steps; ++u) p[u] = pack((at + u * t.size()) * N, x);
      float v[at_once];
      LLMCALC_UNROLL
      for (int i = 0; i < at_once; ++i) v[i] = wide(p[i / N].x[i % N]);
      float next = most;
      for (const float one : v) next = one > next ? one : next;
      sum = sum * t.exp(most - next);
      for (const float one : v) sum += t.exp(one - next);
      most = next;
    }
    const float all = block_most(t, most, room);
    const float log_sum = all + log_of(block_sum(t, sum * t.exp(most - all), room));
    if (t.index() != 0) return;
    log_sums[t.block()] = log_sum;
    losses[t.block()] = log_sum - wide(x[targets[t.block()]]);
  }
  /// Elements past the end are -infinity, and contribute 0.
  LLMCALC_HD Pack<X, N> pack(Count i, const X* x) const {
    Pack<X, N> p;
    for (X& one : p.x) one = static_cast<X>(-std::numeric_limits<float>::infinity());
    if (i < vocabulary) p = load<N>(x + i);
    return p;
  }
};

/// Writes (softmax - onehot) * scale in format T; each row overwrites its logits from their start.
template <typename X, typename T, int N>
struct LossGradientRows {
  static constexpr int steps = packs_at_once<N>;
  Count vocabulary;
  const std::int64_t* targets;
  X* logits;
  const float* log_sums;
  float scale;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    X* const x = logits + t.block() * vocabulary;
    T* const to = reinterpret_cast<T*>(x);
    const Count target = targets[t.block()];
    const float log_sum = log_sums[t.block()];
    for (Count at = 0; at * N < vocabulary; at += steps * t.size()) {
      Pack<X, N> p[steps];
      LLMCALC_UNROLL
      for (int u = 0; u < steps; ++u) {
        const Count i = (at + u * t.size() + t.index()) * N;
        if (i < vocabulary) p[u] = load<N>(x + i);
      }
      if constexpr (sizeof(T) < sizeof(X)) t.sync();  // now all threads have read the logits that `to` overwrites
      LLMCALC_UNROLL
      for (int u = 0; u < steps; ++u) {
        const Count i = (at + u * t.size() + t.index()) * N;
        if (i < vocabulary) *packs<N>(to + i) = gradient(t, i, p[u], target, log_sum);
      }
    }
  }
  template <typename Thread>
  LLMCALC_HD Pack<T, N> gradient(const Thread& t, Count i, const Pack<X, N>& p, Count target, float log_sum) const {
    Pack<T, N> d;
    for (int k = 0; k < N; ++k)
      d.x[k] = static_cast<T>(t.exp(wide(p.x[k]) - log_sum) * scale - (i + k == target ? scale : 0.0f));
    return d;
  }
};

/// Loss and gradient. For float32 logits, also keeps the log-sum-exps until the gradient is computed or forget() is
/// called.
template <typename T, typename Device>
class Classifier {
 public:
  explicit Classifier(Device& device) : device_(device) {}

  /// Writes the mean loss to device memory, and every row's log-sum-exp. Logits and targets are also in device memory
  /// and stay unchanged.
  template <typename X>
  void loss(const Loss& s, const std::int64_t* targets, const X* logits, float* log_sums, double* mean) {
    constexpr int N = pack_of<X>;
    const DeviceWorkspace<Device, float> losses(device_, s.rows);
    whole_packs(s, logits) ? launch(s.rows, LossRows<X, N>{s.vocabulary, targets, logits, log_sums, losses.data()})
                           : launch(s.rows, LossRows<X, 1>{s.vocabulary, targets, logits, log_sums, losses.data()});
    launch(1, MeanOf{s.rows, losses.data(), mean});
  }
  void loss(const Loss& s, const std::int64_t* targets, const float* logits, double* mean) {
    forget();
    log_sums_ = std::make_unique<DeviceWorkspace<Device, float>>(device_, s.rows);
    of_ = logits;
    loss(s, targets, logits, log_sums_->data(), mean);
  }
  template <typename X>
  void gradient(const Loss& s, const std::int64_t* targets, double scale, X* logits, const float* log_sums) {
    constexpr int N = pack_of<X>;
    const float by = static_cast<float>(scale);
    whole_packs(s, logits) ? launch(s.rows, LossGradientRows<X, T, N>{s.vocabulary, targets, logits, log_sums, by})
                           : launch(s.rows, LossGradientRows<X, T, 1>{s.vocabulary, targets, logits, log_sums, by});
  }
  /// Computes the gradient of the float32 logits of the last loss.
  void gradient(const Loss& s, const std::int64_t* targets, double scale, float* logits) {
    if (of_ != logits) throw std::logic_error("the gradient of a loss was requested before the loss");
    gradient(s, targets, scale, logits, log_sums_->data());
    forget();
  }
  void forget() { log_sums_ = nullptr, of_ = nullptr; }

 private:
  template <typename X>
  static bool whole_packs(const Loss& s, const X* logits) {
    return at_packs<pack_of<X>>(logits) && s.vocabulary % pack_of<X> == 0;
  }
  template <typename Kernel>
  void launch(Count rows, const Kernel& kernel) {
    if (rows > 0) device_.launch(kernel, rows, 256, warp * static_cast<Count>(sizeof(double)));
  }

  Device& device_;
  std::unique_ptr<DeviceWorkspace<Device, float>> log_sums_;
  const float* of_ = nullptr;  ///< the logits from which log_sums_ were computed
};

}  // namespace llmcalc::model::cuda
