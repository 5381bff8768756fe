#pragma once
/// Launches of attention: flash by plain multiply-adds or on tensor cores, and naive.

#include <optional>
#include <type_traits>

#include "model/cuda/fast/mma_attention.hpp"
#include "model/cuda/kernels/attention.hpp"
#include "model/cuda/workspace.hpp"

namespace llmcalc::model::cuda {

/// Launches the kernels of one operator. Exists only while the operator runs.
template <typename T, typename Device>
class AttentionLaunches {
 public:
  AttentionLaunches(Device& device, const Scores<T>& c, const AttentionSaved& saved)
      : device_(device),
        c_(c),
        saved_(saved),
        log_sum_exp_(static_cast<float*>(saved.log_sum_exp)),
        rows_(c.s.rows() * c.s.heads) {}

  /// The reason why tensor cores cannot compute this attention of several queries; absent if they can.
  std::optional<CoreObstacle> obstacle() const {
    if (!on_bf16) return CoreObstacle::float32;
    return mma_obstacle(c_.s, c_.in, c_.drop);
  }
  std::optional<CoreObstacle> obstacle(const AttentionGradients& to) const {
    const std::optional<CoreObstacle> forward = obstacle();
    return !forward && !mma_reads(c_.s, to) ? CoreObstacle::layout : forward;
  }

  void flash(T* o) { launch(rows_, forward_room(), FlashForward<T>{c_, log_sum_exp_, o}); }
  void naive(T* o) { launch(rows_, forward_room(), NaiveForward<T>{c_, NaiveSaved<T>(saved_), o}); }
  void on_tensor_cores(T* o) {
    if constexpr (on_bf16) mma_attention(device_, c_, log_sum_exp_, o);
  }

  void flash_gradient(const T* o, const T* d_o, const AttentionGradients& to) {
    around(o, d_o, to, [&](const auto& pairs) { pair_gradients(pairs, d_o, to); });
  }
  void gradient_on_tensor_cores(const T* o, const T* d_o, const AttentionGradients& to) {
    if constexpr (on_bf16) around(o, d_o, to, [&](const auto& pairs) { mma_attention_gradient(device_, pairs, to); });
  }
  void naive_gradient(const T* d_o, T* scratch, const AttentionGradients& to) {
    const DeviceWorkspace<Device, float> sinks(device_, rows_);
    const NaiveSaved<T> saved(saved_);
    launch(rows_, line, NaiveScores<T>{c_, saved, d_o, scratch, sinks.data()});
    const T* const value = saved.dropped != nullptr ? saved.dropped : saved.probabilities;
    pair_gradients(NaivePairs<T>{c_, value, scratch}, d_o, to);
    add_sinks(sinks.data(), to);
  }

 private:
  static constexpr bool on_bf16 = std::is_same_v<T, bf16>;
  static constexpr int threads = 128;
  static constexpr Count line = warp * static_cast<Count>(sizeof(double)), number = sizeof(float);

  Count forward_room() const { return line + (threads + c_.s.v_dim) * number; }

  template <typename Kernel>
  void launch(Count blocks, Count room, const Kernel& kernel) {
    if (blocks > 0) device_.launch(kernel, blocks, threads, room);
  }
  /// Calls f(pairs) between the two steps that both cores share: computing o . do of each row, and adding the gradients
  /// of the sinks.
  template <typename F>
  void around(const T* o, const T* d_o, const AttentionGradients& to, const F& f) {
    const DeviceWorkspace<Device, float> delta(device_, rows_), sinks(device_, rows_);
    launch(rows_, line, FlashDelta<T>{c_, log_sum_exp_, o, d_o, delta.data(), sinks.data()});
    f(FlashPairs<T>{c_, log_sum_exp_, delta.data(), d_o});
    add_sinks(sinks.data(), to);
  }
  void add_sinks(const float* rows, const AttentionGradients& to) {
    if (c_.in.sinks != nullptr)
      launch(c_.s.heads, line, SinkSums{c_.s.rows(), c_.s.heads, rows, static_cast<float*>(to.sinks)});
  }
  template <typename Pairs>
  void pair_gradients(const Pairs& pairs, const T* d_o, const AttentionGradients& to) {
    const Attention& s = c_.s;
    const Count room = (2 * threads + s.qk_dim + s.v_dim) * number, keys = s.sequences * (s.keys);
    launch(rows_, room, QueryGradient<T, Pairs>{pairs, to});
    launch(keys * s.kv_heads, room, KeyGradient<T, Pairs>{pairs, d_o, to, false});
    if (c_.in.rope_dim > 0) launch(keys, room, KeyGradient<T, Pairs>{pairs, d_o, to, true});
  }

  Device& device_;
  const Scores<T> c_;
  const AttentionSaved saved_;
  float* const log_sum_exp_;
  const Count rows_;
};

}  // namespace llmcalc::model::cuda
