#pragma once
/// Allocator of arrays aligned to a cache line, so that no vector load or store straddles two lines.

#include <cstddef>
#include <new>
#include <vector>

namespace llmcalc::model {

template <typename T>
struct OnCacheLine {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  OnCacheLine() = default;
  template <typename U>
  OnCacheLine(const OnCacheLine<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
  bool operator==(const OnCacheLine&) const = default;
};

template <typename T>
using Aligned = std::vector<T, OnCacheLine<T>>;

}  // namespace llmcalc::model
