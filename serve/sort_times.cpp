#include "serve/sort_times.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

namespace llmcalc {
namespace {

/// Swaps each time into the bucket of its leading bits, counted from the highest bit of the range, and sorts the
/// buckets.
class TimeSort {
 public:
  explicit TimeSort(std::span<Seconds> all) : all_(all) {
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    least_ = bits(*least);
    shift_ = std::max(0, static_cast<int>(std::bit_width(bits(*most) - least_)) - bucket_bits);
  }
  void sort() {
    count();
    for (std::size_t b = 0; b < buckets; ++b)
      for (; next_[b] < end_[b]; ++next_[b]) place(b);
    for (std::size_t b = 0; b < buckets; ++b) std::sort(all_.begin() + begin(b), all_.begin() + begin(b + 1));
  }

 private:
  static constexpr int bucket_bits = 12;
  static constexpr std::size_t buckets = std::size_t{1} << bucket_bits;

  /// An integer for a time, in the same order, because the bits of positive doubles are ordered like integers.
  static std::uint64_t bits(Seconds t) { return std::bit_cast<std::uint64_t>(t.value + 0.0); }
  std::size_t bucket(Seconds t) const { return (bits(t) - least_) >> shift_; }
  std::ptrdiff_t begin(std::size_t b) const { return b == 0 ? 0 : static_cast<std::ptrdiff_t>(end_[b - 1]); }
  void count() {
    for (const Seconds t : all_) ++end_[bucket(t)];
    for (std::size_t b = 1; b < buckets; ++b) {
      next_[b] = end_[b - 1];
      end_[b] += end_[b - 1];
    }
  }
  /// Swaps times until the next place of bucket b has a time of this bucket.
  void place(std::size_t b) {
    Seconds& here = all_[next_[b]];
    for (std::size_t to = bucket(here); to != b; to = bucket(here)) std::swap(here, all_[next_[to]++]);
  }

  std::span<Seconds> all_;
  std::uint64_t least_ = 0;
  int shift_ = 0;
  std::array<std::size_t, buckets> next_{}, end_{};
};

}  // namespace

void sort_times(std::span<Seconds> all) {
  constexpr std::size_t few = 1 << 15;
  if (all.size() < few) return std::sort(all.begin(), all.end());
  std::make_unique<TimeSort>(all)->sort();
}

}  // namespace llmcalc
