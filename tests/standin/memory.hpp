#pragma once
/// Device memory and pinned host memory, with an owner for every byte. Device addresses are reserved and never reused.
/// The host cannot access them: the stand-in stores their contents at other addresses.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace llmcalc::standin {

enum class Owner { runtime, pool, graph };

class Memory {
 public:
  Memory();

  /// An unused address range of this size, not yet allocated.
  void* place(std::size_t bytes);
  /// Makes [p, p + bytes) an allocation filled with zeros.
  void take(void* p, std::size_t bytes, Owner owner);
  /// Ends an allocation of this owner; breaks a rule if it does not exist. Returns its bytes.
  std::size_t give_back(void* p, Owner owner, const char* call);

  /// Requires that [p, p + bytes) lies in one allocation.
  void require_live(const void* p, std::size_t bytes, const std::string& what) const;
  bool is_device(const void* p) const;
  bool is_live(const void* p) const;
  /// The address at which the stand-in stores a device address's contents; other addresses are unchanged.
  void* contents(const void* p) const;

  /// Allocates pinned host memory.
  void* pin(std::size_t bytes);
  void unpin(void* p);
  bool is_pinned(const void* p) const;

  /// Describes an allocation that was never released; empty if there is no such allocation.
  std::string leak() const;

 private:
  struct Allocation {
    std::size_t bytes;
    Owner owner;
  };
  using Allocations = std::map<std::uintptr_t, Allocation>;
  /// The allocation that contains this address, or end().
  static Allocations::const_iterator holder(const Allocations& all, const void* p);

  std::uintptr_t first_, next_;
  std::ptrdiff_t to_contents_;
  Allocations live_, pinned_;
};

/// Bytes of device memory by use. Reservations fail if memory is exhausted.
class Budget {
 public:
  bool take_driver(std::size_t bytes);
  void give_driver(std::size_t bytes) { driver_ -= bytes; }
  bool take_pool(std::size_t bytes);
  void give_pool(std::size_t bytes) { pool_used_ -= bytes; }
  void trim_pool();
  /// Reserves a graph's memory for its execution.
  bool reserve_graph(std::size_t bytes);
  void trim_graphs() { graphs_ = 0; }

  std::uint64_t free() const;
  std::uint64_t pool_used() const { return pool_used_; }
  std::uint64_t pool_reserved() const { return pool_reserved_; }
  std::uint64_t pool_most() const { return pool_most_; }
  void forget_pool_most() { pool_most_ = pool_used_; }
  std::uint64_t graphs() const { return graphs_; }

 private:
  std::uint64_t driver_ = 0, pool_used_ = 0, pool_reserved_ = 0, pool_most_ = 0, graphs_ = 0;
};

Memory& memory();
Budget& budget();

}  // namespace llmcalc::standin
