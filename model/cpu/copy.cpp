#include "model/cpu/copy.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>

#include "model/cpu/workers.hpp"

namespace llmcalc::model {

double copy_bandwidth(Count bytes) {
  constexpr Count block = 1 << 15;
  const std::size_t size = static_cast<std::size_t>(bytes);
  const auto from = std::make_unique<std::byte[]>(size), to = std::make_unique<std::byte[]>(size);
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < 9; ++i) {
    const auto start = std::chrono::steady_clock::now();
    share_out((bytes + block - 1) / block, [&](Count b) {
      const Count at = b * block;
      std::memcpy(to.get() + at, from.get() + at, static_cast<std::size_t>(std::min(block, bytes - at)));
    });
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2 * static_cast<double>(bytes) / best;
}

}  // namespace llmcalc::model
