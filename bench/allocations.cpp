#include "bench/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

std::int64_t count = 0;  // not atomic: these programs are single-threaded

void* counted(void* p) {
  ++count;
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* aligned(std::size_t n, std::align_val_t a) {
  const std::size_t step = static_cast<std::size_t>(a);
  return std::aligned_alloc(step, (n + step - 1) / step * step);
}

}  // namespace

namespace llmcalc::bench {
std::int64_t allocations() { return count; }
}  // namespace llmcalc::bench

// The array and nothrow forms call these two.
void* operator new(std::size_t n) { return counted(std::malloc(n)); }
void* operator new(std::size_t n, std::align_val_t a) { return counted(aligned(n, a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
