#include "tests/standin/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "tests/standin/rules.hpp"

namespace llmcalc::standin {
namespace {

constexpr std::size_t room = std::size_t{1} << 43, alignment = 512, page = 4096;
/// The context's size and the pool's growth step are arbitrary.
constexpr std::uint64_t context = std::uint64_t{512} << 20, step = std::uint64_t{2} << 20;

std::size_t up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }
std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

std::uintptr_t mapped(int protection) {
  void* const p = ::mmap(nullptr, room, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(p != MAP_FAILED, "no address space is left for the device");
  return number(p);
}

const char* name(Owner o) {
  if (o == Owner::runtime) return "cudaMalloc";
  return o == Owner::pool ? "cudaMallocAsync" : "a recording";
}

}  // namespace

Memory& memory() {
  static Memory& one = *new Memory;  // never destroyed: the program's last calls need it
  return one;
}
Budget& budget() {
  static Budget& one = *new Budget;
  return one;
}

Memory::Memory() : first_(mapped(PROT_NONE)), next_(first_ + page) {
  to_contents_ = static_cast<std::ptrdiff_t>(mapped(PROT_READ | PROT_WRITE) - first_);
}

void* Memory::place(std::size_t bytes) {
  void* const p = reinterpret_cast<void*>(next_);
  next_ += up(bytes, alignment) + alignment;  // with a gap that catches writes past the end
  require(next_ < first_ + room, "the device's addresses are used up");
  return p;
}

void Memory::take(void* p, std::size_t bytes, Owner owner) { live_[number(p)] = {bytes, owner}; }

std::size_t Memory::give_back(void* p, Owner owner, const char* call) {
  const auto at = live_.find(number(p));
  require(at != live_.end(), std::string(call) + " is given memory that is not allocated, or no longer");
  const auto [bytes, actual] = at->second;
  require(actual == owner, std::string(call) + " is given memory of " + name(actual));
  live_.erase(at);
  // Releases whole pages only. They read as zeros when a recording allocates them later.
  const std::uintptr_t from = up(number(contents(p)), page), to = (number(contents(p)) + bytes) / page * page;
  if (to > from) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  return bytes;
}

Memory::Allocations::const_iterator Memory::holder(const Allocations& all, const void* p) {
  auto after = all.upper_bound(number(p));
  if (after == all.begin()) return all.end();
  --after;
  return number(p) < after->first + after->second.bytes ? after : all.end();
}

void Memory::require_live(const void* p, std::size_t bytes, const std::string& what) const {
  const auto at = holder(live_, p);
  require(at != live_.end(), what + " is not in live device memory");
  require(number(p) + bytes <= at->first + at->second.bytes,
          what + " ends " + std::to_string(number(p) + bytes - at->first - at->second.bytes) +
              " bytes past its allocation");
}
bool Memory::is_device(const void* p) const { return number(p) >= first_ && number(p) < first_ + room; }
bool Memory::is_live(const void* p) const { return holder(live_, p) != live_.end(); }
void* Memory::contents(const void* p) const {
  return reinterpret_cast<void*>(is_device(p) ? number(p) + static_cast<std::uintptr_t>(to_contents_) : number(p));
}

void* Memory::pin(std::size_t bytes) {
  void* const p = std::aligned_alloc(page, up(std::max<std::size_t>(bytes, 1), page));
  pinned_[number(p)] = {bytes, Owner::runtime};
  return p;
}
void Memory::unpin(void* p) {
  require(pinned_.erase(number(p)) == 1, "cudaFreeHost is given memory that is not pinned, or no longer");
  std::free(p);
}
bool Memory::is_pinned(const void* p) const { return holder(pinned_, p) != pinned_.end(); }

std::string Memory::leak() const {
  if (!live_.empty())
    return std::to_string(live_.size()) + " allocations of device memory are never released, the first of " +
           std::to_string(live_.begin()->second.bytes) + " bytes by " + name(live_.begin()->second.owner);
  return pinned_.empty() ? "" : std::to_string(pinned_.size()) + " allocations of pinned memory are never released";
}

std::uint64_t Budget::free() const {
  const std::uint64_t used = context + driver_ + pool_reserved_ + graphs_;
  return used < total_memory() ? total_memory() - used : 0;
}
bool Budget::take_driver(std::size_t bytes) {
  if (bytes > free()) return false;
  driver_ += bytes;
  return true;
}
bool Budget::take_pool(std::size_t bytes) {
  const std::uint64_t needed = up(pool_used_ + bytes, step);
  if (needed > pool_reserved_ && needed - pool_reserved_ > free()) return false;
  pool_reserved_ = std::max(pool_reserved_, needed);
  pool_used_ += bytes;
  pool_most_ = std::max(pool_most_, pool_used_);
  return true;
}
void Budget::trim_pool() { pool_reserved_ = up(pool_used_, step); }
bool Budget::reserve_graph(std::size_t bytes) {
  const std::uint64_t needed = up(bytes, step);
  if (needed > graphs_ && needed - graphs_ > free()) return false;
  graphs_ = std::max(graphs_, needed);
  return true;
}

}  // namespace llmcalc::standin
