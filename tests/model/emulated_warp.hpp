#pragma once
/// Warp operations of the GPU emulator: tensor core products, ldmatrix, asynchronous copies.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <span>
#include <vector>

#include "tests/model/emulated.hpp"

namespace llmcalc::test {

inline constexpr unsigned lanes_of_warp = 32;

/// Source location of a call in a kernel.
using Place = std::source_location;

/// Values that lanes exchange. Two instances alternate, so that no value is overwritten before it is read.
struct CollectiveCall {
  float a[16][16], b[8][16];  ///< operands of a product, b transposed
  std::byte value[lanes_of_warp][16];
  unsigned row[lanes_of_warp];
};

/// One lane. `wait(place)` lets the warp's other lanes reach the same place.
template <typename Wait>
class WarpLane {
 public:
  WarpLane(unsigned lane, std::span<CollectiveCall, 2> collective_call, std::span<std::byte> room, WarpCounts& counts,
           Wait wait)
      : lane_(lane), collective_call_(collective_call), room_(room), counts_(counts), wait_(wait) {}

  template <typename W>
  W across(W v, unsigned bits, const Place& at) {
    CollectiveCall& x = next();
    std::memcpy(x.value[lane_], &v, sizeof v);
    wait_(at);
    std::memcpy(&v, x.value[lane_ ^ bits], sizeof v);
    return v;
  }

  /// Fragment layout as in model/cuda/fast/mma_tile.hpp, from the PTX ISA.
  void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, const Place& at) {
    const auto number = [](unsigned word, unsigned i) {
      return std::bit_cast<float>(i == 0 ? word << 16U : word & 0xffff0000U);
    };
    CollectiveCall& x = next();
    const unsigned g = lane_ / 4, t = lane_ % 4;
    for (unsigned i = 0; i < 2; ++i) {
      for (unsigned word = 0; word < 4; ++word) x.a[g + word % 2 * 8][2 * t + word / 2 * 8 + i] = number(a[word], i);
      x.b[g][2 * t + i] = number(b0, i);
      x.b[g][2 * t + 8 + i] = number(b1, i);
    }
    wait_(at);
    for (unsigned e = 0; e < 4; ++e) {
      const float *const row = x.a[g + e / 2 * 8], *const column = x.b[2 * t + e % 2];
      float sum = 0;
      for (unsigned k = 0; k < 16; ++k) sum += row[k] * column[k];
      c[e] += sum;
    }
    if (lane_ == 0) ++counts_.products;
  }

  void ldmatrix(unsigned (&r)[4], unsigned from, bool transposed, const Place& at) {
    CollectiveCall& x = next();
    x.row[lane_] = checked(from, 16, 16) ? from : 0;
    wait_(at);
    const unsigned g = lane_ / 4, t = lane_ % 4;
    for (unsigned m = 0; m < 4; ++m) {
      std::uint16_t two[2];
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned row = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
        std::memcpy(&two[i], room_.data() + x.row[8 * m + row] + 2 * column, 2);
      }
      r[m] = two[0] | static_cast<unsigned>(two[1]) << 16U;
      if (lane_ == 0) counts_.conflicts += conflicts(&x.row[8 * m]);
    }
  }

  /// The copied data arrive only when the lane waits for them; until then the target is NaN.
  void cp_async(unsigned at, const void* from, bool there, unsigned bytes) {
    if (there && reinterpret_cast<std::uintptr_t>(from) % bytes != 0) ++counts_.faults;
    if (!checked(at, bytes, bytes)) return;
    std::memset(room_.data() + at, 0xff, bytes);
    copies_.push_back({at, bytes, there ? from : nullptr, groups_});
  }
  void cp_async_commit() { ++groups_; }
  void cp_async_wait(int left) {
    const auto arrived = [&](const Copy& c) { return c.group < groups_ - left; };
    for (const Copy& c : copies_) {
      if (!arrived(c)) continue;
      if (c.from != nullptr)
        std::memcpy(room_.data() + c.at, c.from, c.bytes);
      else
        std::memset(room_.data() + c.at, 0, c.bytes);
    }
    std::erase_if(copies_, arrived);
  }

 private:
  struct Copy {
    unsigned at, bytes;
    const void* from;
    int group;
  };

  CollectiveCall& next() { return collective_call_[turn_ ^= 1U]; }
  bool checked(unsigned at, unsigned bytes, unsigned alignment) {
    const bool good = at % alignment == 0 && at + bytes <= room_.size();
    if (!good) ++counts_.faults;
    return good;
  }
  /// Bank conflicts between the eight 16-byte rows of one matrix. Each row covers 4 of 32 banks of 4 bytes.
  static std::int64_t conflicts(const unsigned* rows) {
    std::int64_t most = 0;
    for (unsigned bank = 0; bank < 8; ++bank) {
      std::int64_t there = 0;
      for (unsigned i = 0; i < 8; ++i)
        there += rows[i] / 16 % 8 == bank && std::find(rows, rows + i, rows[i]) == rows + i ? 1 : 0;
      most = std::max(most, there);
    }
    return most - 1;
  }

  unsigned lane_, turn_ = 0;
  std::span<CollectiveCall, 2> collective_call_;
  std::span<std::byte> room_;
  WarpCounts& counts_;
  Wait wait_;
  std::vector<Copy> copies_;
  int groups_ = 0;
};

}  // namespace llmcalc::test
