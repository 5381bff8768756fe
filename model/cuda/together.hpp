#pragma once
/// Calls of one kind that are launched as one, where none of them writes what another reads or writes.

#include <array>
#include <cstdint>
#include <span>

#include "model/cuda/pack.hpp"

namespace llmcalc::model::cuda {

/// Bytes of a device's memory.
struct Extent {
  std::uintptr_t first = 0, end = 0;

  bool meets(const Extent& other) const { return first < other.end && other.first < end; }
};
/// `count` numbers from p on.
template <typename X>
Extent extent(const X* p, Count count) {
  const auto first = reinterpret_cast<std::uintptr_t>(p);
  return {first, first + static_cast<std::uintptr_t>(count) * sizeof(X)};
}

/// Up to `most` of them. A Call says what it writes and what it reads, whether it is launched like another, and runs a
/// span of those on a device.
template <typename Call, std::size_t most>
class Together {
 public:
  explicit Together(const Call& call) : calls_{call} {}

  /// True: the other's call is one of these now.
  bool join(const Together& other) {
    const Call& next = other.calls_[0];
    if (count_ == most || !next.like(calls_[0])) return false;
    for (const Call& call : calls())
      if (!apart(call, next)) return false;
    calls_[count_++] = next;
    return true;
  }
  template <typename Device>
  void run(Device& device) const {
    Call::run(device, calls());
  }

  std::span<const Call> calls() const { return {calls_.data(), count_}; }

 private:
  static bool apart(const Call& a, const Call& b) {
    for (const Extent& read : a.reads())
      if (read.meets(b.writes())) return false;
    for (const Extent& read : b.reads())
      if (read.meets(a.writes())) return false;
    return !a.writes().meets(b.writes());
  }

  std::array<Call, most> calls_;
  std::size_t count_ = 1;
};

/// Two functions of i, the second's numbers behind the first's.
template <typename F>
struct InTurn {
  F first, second;
  Count begin;
  LLMCALC_HD void operator()(Count i) const {
    if (i < begin)
      first(i);
    else
      second(i - begin);
  }
};
/// kernel(call), which takes `at_once` pieces, over one call or two, on all of the device.
template <typename Device, typename Call, typename F>
void everywhere(Device& device, std::span<const Call> calls, const F& kernel, int at_once) {
  const Count n = calls[0].pieces() / at_once;
  if (calls.size() == 1) return everywhere(device, n, kernel(calls[0]));
  const InTurn<decltype(kernel(calls[0]))> both{kernel(calls[0]), kernel(calls[1]), n};
  everywhere(device, n + calls[1].pieces() / at_once, both);
}

}  // namespace llmcalc::model::cuda
