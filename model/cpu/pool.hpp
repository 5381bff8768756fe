#pragma once
/// A pool of reused memory blocks, so that the system does not map fresh pages for every operator.

#include <cstdlib>
#include <map>
#include <new>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() { clear(); }

  void* take(Bytes bytes) {
    std::vector<void*>& free = free_[bytes.value];
    if (free.empty()) return fresh(bytes);
    void* data = free.back();
    free.pop_back();
    return data;
  }
  void give(void* data, Bytes bytes) { free_[bytes.value].push_back(data); }
  void clear() {
    for (auto& [size, blocks] : free_)
      for (void* b : blocks) std::free(b);
    free_.clear();
  }

 private:
  /// A new block aligned to a cache line. Frees unused blocks first if memory runs out.
  void* fresh(Bytes bytes) {
    const std::size_t size = (static_cast<std::size_t>(bytes.value) + 127) / 64 * 64;
    if (void* data = std::aligned_alloc(64, size)) return data;
    clear();
    if (void* data = std::aligned_alloc(64, size)) return data;
    throw std::bad_alloc();
  }
  std::map<Count, std::vector<void*>> free_;
};

}  // namespace llmcalc::model
