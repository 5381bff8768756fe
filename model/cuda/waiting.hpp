#pragma once
/// Deferred calls, which may be fused with the call after them.

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "model/cpu/matmul_shape.hpp"
#include "model/cuda/copy.hpp"
#include "model/cuda/matvec.hpp"
#include "model/cuda/pointwise.hpp"
#include "model/cuda/position.hpp"
#include "model/cuda/together.hpp"

namespace llmcalc::model::cuda {

/// y = a + b, n numbers. A residual's sum is read next by a norm, which can make it on its way: one kernel that reads
/// both terms and writes sum and norm, where two would write the sum and read it again.
template <typename T>
struct PendingSum {
  Count n;
  const T *a, *b;
  T* y;

  bool join(const PendingSum&) const { return false; }
  template <typename Device>
  void run(Device& device) const {
    sum(device, n, a, b, y);
  }
};

/// Products of the same few rows: queries, keys and values, or a gate and what it opens.
template <typename T>
using PendingProducts = Together<FewRows<T>, FewRows<T>::most>;
/// Of queries and of keys.
template <typename T>
using PendingRotations = Together<Rotation<T>, 2>;
/// Keys and values that go to their caches.
template <typename T>
using PendingCopies = Together<CachedRows<T>, 2>;

/// A device on which calls of one kind may wait. Whatever else it is asked for, it does them first; but for memory,
/// which is given out meanwhile, and taken back when they are done.
template <typename T, typename Device>
class WaitingDevice {
 public:
  explicit WaitingDevice(Device& device) : device_(device) {}
  ~WaitingDevice() { drop(); }
  WaitingDevice(const WaitingDevice&) = delete;
  WaitingDevice& operator=(const WaitingDevice&) = delete;

  /// From now on the call waits: beside what waits already, or after that is done.
  template <typename Call>
  void put_off(const Call& call) {
    if (Call* const before = std::get_if<Call>(&waiting_); before != nullptr && before->join(call)) return;
    settle();
    waiting_ = call;
  }
  /// True: such a call waits, and f(device, call) has made it on its way, which it says.
  template <typename Call, typename F>
  bool taken(const F& f) {
    const auto* const call = std::get_if<Call>(&waiting_);
    if (call == nullptr || !f(device_, *call)) return false;
    drop();
    return true;
  }
  /// Runs the deferred calls.
  void settle() {
    std::visit([this](const auto& call) { call.run(device_); }, waiting_);
    drop();
  }
  /// Nobody wants it any more.
  void drop() {
    waiting_ = Nothing();
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
    if (const auto* const sum = std::get_if<PendingSum<T>>(&waiting_); sum != nullptr && sum->y == p) drop();
    if (std::holds_alternative<Nothing>(waiting_)) return device_.release(p, bytes);
    released_.emplace_back(p, bytes);
  }
  void fill(void* p, int byte, Count bytes) { now().fill(p, byte, bytes); }
  void upload(void* to, const void* from, Count bytes) { now().upload(to, from, bytes); }
  void download(void* to, const void* from, Count bytes) { now().download(to, from, bytes); }
  void copy(void* to, const void* from, Count bytes) { now().copy(to, from, bytes); }
  void wait() { now().wait(); }
  Count capacity() const { return device_.capacity(); }
  Count available() const { return device_.available(); }

  template <typename Kernel>
  void launch(const Kernel& kernel, Count blocks, int threads, Count room) {
    now().launch(kernel, blocks, threads, room);
  }
  template <typename... X>
  bool matmul(const MatmulShape& s, const X&... x) {
    return now().matmul(s, x...);
  }

 private:
  struct Nothing {
    void run(Device&) const {}
  };
  Device& now() { return settle(), device_; }

  Device& device_;
  std::variant<Nothing, PendingSum<T>, PendingProducts<T>, PendingRotations<T>, PendingCopies<T>> waiting_;
  std::vector<std::pair<void*, Count>> released_;  ///< while it waits
};

}  // namespace llmcalc::model::cuda
