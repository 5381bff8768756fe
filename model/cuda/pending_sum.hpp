#pragma once
/// A sum that waits for its reader. A residual's sum is read next by a norm, which can make it on its way: one kernel
/// that reads both terms and writes sum and norm, where two would write the sum and read it again.

#include <optional>
#include <utility>
#include <vector>

#include "model/cpu/matmul_shape.hpp"
#include "model/cuda/core_choice.hpp"
#include "model/cuda/pointwise.hpp"
#include "model/cuda/sdpa.hpp"

namespace llmcalc::model::cuda {

/// y = a + b, n numbers.
template <typename T>
struct PendingSum {
  Count n;
  const T *a, *b;
  T* y;
};

/// A device on which one sum may wait. Whatever else it is asked for, it does the sum first; but for memory, which is
/// given out meanwhile, and taken back when the sum is done.
template <typename T, typename Device>
class SummingDevice {
 public:
  explicit SummingDevice(Device& device) : device_(device) {}
  ~SummingDevice() { drop(); }
  SummingDevice(const SummingDevice&) = delete;
  SummingDevice& operator=(const SummingDevice&) = delete;

  /// From now on the sum waits.
  void put_off(const PendingSum<T>& sum) { settle(), sum_ = sum; }
  /// True: y is the sum of n numbers that waits, and f(device, sum) makes it.
  template <typename F>
  bool made_by(const void* y, Count n, const F& f) {
    if (!sum_ || sum_->y != y || sum_->n != n) return false;
    f(device_, *sum_);
    drop();
    return true;
  }
  /// Does the sum that waits, if one does.
  void settle() {
    if (!sum_) return;
    sum(device_, sum_->n, sum_->a, sum_->b, sum_->y);
    drop();
  }
  /// Nobody wants it any more.
  void drop() {
    sum_.reset();
    for (const auto& [p, bytes] : released_) device_.release(p, bytes);
    released_.clear();
  }

  /// With `byte` in every byte of it.
  void* allocate(Count bytes, std::optional<int> byte = {}) {
    void* const p = device_.allocate(bytes);
    if (byte) device_.fill(p, *byte, bytes);
    return p;
  }
  /// A sum that is released unread is not done.
  void release(void* p, Count bytes) {
    if (sum_ && sum_->y == p) drop();
    if (!sum_) return device_.release(p, bytes);
    released_.emplace_back(p, bytes);
  }
  void fill(void* p, int byte, Count bytes) { now().fill(p, byte, bytes); }
  void upload(void* to, const void* from, Count bytes) { now().upload(to, from, bytes); }
  void download(void* to, const void* from, Count bytes) { now().download(to, from, bytes); }
  void copy(void* to, const void* from, Count bytes) { now().copy(to, from, bytes); }
  void wait() { now().wait(); }
  Count capacity() const { return device_.capacity(); }

  template <typename Kernel>
  void launch(const Kernel& kernel, Count blocks, int threads, Count room) {
    now().launch(kernel, blocks, threads, room);
  }
  template <typename... X>
  bool matmul(const MatmulShape& s, const X&... x) {
    return now().matmul(s, x...);
  }
  CoreAnswer sdpa(const Sdpa& call) requires requires(Device& d) { d.sdpa(call); }
  { return now().sdpa(call); }

 private:
  Device& now() { return settle(), device_; }

  Device& device_;
  std::optional<PendingSum<T>> sum_;
  std::vector<std::pair<void*, Count>> released_;  ///< while it waits
};

}  // namespace llmcalc::model::cuda
