#pragma once
/// A list of at most N elements stored in place, without allocation.

#include <array>
#include <cassert>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace llmcalc {

template <typename T, std::size_t N>
class InplaceVector {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  static constexpr std::size_t capacity = N;

  constexpr InplaceVector() {}
  constexpr InplaceVector(const InplaceVector& o) { *this = o; }
  constexpr InplaceVector& operator=(const InplaceVector& o) {
    size_ = o.size_;
    for (std::size_t i = 0; i < size_; ++i) std::construct_at(&slots_[i].value, o[i]);
    return *this;
  }

  T& push(const T& t) {
    assert(size_ < N);
    return *std::construct_at(&slots_[size_++].value, t);
  }
  friend constexpr bool operator==(const InplaceVector& a, const InplaceVector& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }
  constexpr std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  constexpr const T& operator[](std::size_t i) const { return slots_[i].value; }
  T& operator[](std::size_t i) { return slots_[i].value; }
  const T* begin() const { return &slots_[0].value; }
  const T* end() const { return begin() + size_; }
  T* begin() { return &slots_[0].value; }
  T* end() { return begin() + size_; }

 private:
  union Slot {
    constexpr Slot() {}
    T value;
  };
  static_assert(sizeof(Slot) == sizeof(T));
  std::array<Slot, N> slots_;
  std::size_t size_ = 0;
};

}  // namespace llmcalc
