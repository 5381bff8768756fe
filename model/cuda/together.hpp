#pragma once
/// Calls of one kind that are launched as one, where none of them writes what another reads or writes.

#include <array>
#include <cstdint>
#include <span>

#include "calc/units.hpp"

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

 private:
  static bool apart(const Call& a, const Call& b) {
    for (const Extent& read : a.reads())
      if (read.meets(b.writes())) return false;
    for (const Extent& read : b.reads())
      if (read.meets(a.writes())) return false;
    return !a.writes().meets(b.writes());
  }
  std::span<const Call> calls() const { return {calls_.data(), count_}; }

  std::array<Call, most> calls_;
  std::size_t count_ = 1;
};

}  // namespace llmcalc::model::cuda
