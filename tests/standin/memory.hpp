#pragma once
/// Memory of the device and the host's pinned memory, with an owner for every byte. A device's addresses are reserved
/// and never used twice; the host cannot reach what lies there, and the stand-in has it at another place.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace llmcalc::standin {

enum class Owner { runtime, pool, graph };

class Memory {
 public:
  Memory();

  /// An address for a number of bytes, which are nobody's yet.
  void* place(std::size_t bytes);
  /// Makes [p, p + bytes) an allocation, filled with zeros.
  void take(void* p, std::size_t bytes, Owner owner);
  /// Ends an allocation of this owner; breaks a rule if there is none. Returns its bytes.
  std::size_t give_back(void* p, Owner owner, const char* call);

  /// Requires that [p, p + bytes) lies in one allocation.
  void require_live(const void* p, std::size_t bytes, const std::string& what) const;
  bool is_device(const void* p) const;
  bool is_live(const void* p) const;
  /// Where the stand-in finds the bytes of a device's address; other addresses are as they are.
  void* contents(const void* p) const;

  /// Pinned memory of the host.
  void* pin(std::size_t bytes);
  void unpin(void* p);
  bool is_pinned(const void* p) const;

  /// Describes an allocation that nobody gave back; empty: there is none.
  std::string leak() const;

 private:
  struct Allocation {
    std::size_t bytes;
    Owner owner;
  };
  using Allocations = std::map<std::uintptr_t, Allocation>;
  /// The allocation that holds this address; end() if there is none.
  static Allocations::const_iterator holder(const Allocations& all, const void* p);

  std::uintptr_t first_, next_;
  std::ptrdiff_t to_contents_;
  Allocations live_, pinned_;
};

/// Bytes of the device's memory by use; each use may be refused.
class Budget {
 public:
  bool take_driver(std::size_t bytes);
  void give_driver(std::size_t bytes) { driver_ -= bytes; }
  bool take_pool(std::size_t bytes);
  void give_pool(std::size_t bytes) { pool_used_ -= bytes; }
  void trim_pool();
  /// Reserves what a graph needs while it runs.
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
