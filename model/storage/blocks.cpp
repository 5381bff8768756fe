#include "model/storage/blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "model/math/numbers.hpp"
#include "model/storage/bit_fields.hpp"

namespace llmcalc::model {
namespace {

/// A value of up to 8 bits, whose low and high bits are stored in separate places.
struct BitField {
  Count low = 0;
  int low_bits = 0;
  Count high = 0;
  int high_bits = 0;

  int read(const std::byte* from) const {
    const std::uint32_t low_part = low_bits > 0 ? read_bits(from, low, low_bits) : 0;
    const std::uint32_t high_part = high_bits > 0 ? read_bits(from, high, high_bits) : 0;
    return static_cast<int>(low_part | high_part << static_cast<unsigned>(low_bits));
  }
  void write(std::byte* to, int value) const {
    const auto bits = static_cast<std::uint32_t>(value);
    if (low_bits > 0) write_bits(to, low, low_bits, bits);
    if (high_bits > 0) write_bits(to, high, high_bits, bits >> static_cast<unsigned>(low_bits));
  }
};
constexpr Count bit(Count byte, Count at = 0) { return 8 * byte + at; }

// ---- location of code i of a block

BitField code_q2(Count i) { return {.low = bit(16 + i / 128 * 32 + i % 32, i % 128 / 32 * 2), .low_bits = 2}; }
BitField code_q3(Count i) { return {bit(32 + i / 128 * 32 + i % 32, i % 128 / 32 * 2), 2, bit(i % 32, i / 32), 1}; }
BitField code_q4(Count i) { return {.low = bit(16 + i / 64 * 32 + i % 32, i % 64 / 32 * 4), .low_bits = 4}; }
BitField code_q5(Count i) { return {bit(48 + i / 64 * 32 + i % 32, i % 64 / 32 * 4), 4, bit(16 + i % 32, i / 32), 1}; }
BitField code_q6(Count i) {
  const Count quarter = i % 128 / 32, at = i / 128;
  return {bit(64 * at + quarter % 2 * 32 + i % 32, quarter / 2 * 4), 4, bit(128 + 32 * at + i % 32, 2 * quarter), 2};
}
BitField code_iq4_nl(Count i) { return {.low = bit(2 + i % 16, i / 16 * 4), .low_bits = 4}; }
BitField code_iq4_xs(Count i) { return {.low = bit(8 + i / 32 * 16 + i % 16, i % 32 / 16 * 4), .low_bits = 4}; }

// ---- locations of the scale and minimum of part k of a block

BitField scale_q2(Count k) { return {.low = bit(k), .low_bits = 4}; }
BitField least_q2(Count k) { return {.low = bit(k, 4), .low_bits = 4}; }
BitField scale_q3(Count k) { return {bit(96 + k % 8, k / 8 * 4), 4, bit(104 + k % 4, k / 4 * 2), 2}; }
BitField scale_q4(Count k) {
  if (k < 4) return {.low = bit(4 + k), .low_bits = 6};
  return {bit(8 + k), 4, bit(k, 6), 2};
}
BitField least_q4(Count k) {
  if (k < 4) return {.low = bit(8 + k), .low_bits = 6};
  return {bit(8 + k, 4), 4, bit(4 + k, 6), 2};
}
BitField scale_q6(Count k) { return {.low = bit(192 + k), .low_bits = 8}; }
BitField scale_iq4_xs(Count k) { return {bit(4 + k / 2, k % 2 * 4), 4, bit(2, 2 * k), 2}; }

using FieldPlace = BitField (*)(Count);

struct BlockLayout {
  std::string_view name;
  Count part;  ///< number of values per part
  int bits;    ///< number of bits per code
  FieldPlace code;
  Count d;  ///< byte offset of the block's scale
  FieldPlace scale = nullptr;
  int scale_zero = 0;  ///< code that represents a scale of zero
  int scale_most = 1;  ///< largest code of a scale, minus scale_zero
  FieldPlace least = nullptr;
  Count dmin = 0;
  bool is_signed = false;  ///< whether scales are 8-bit two's complement
  bool is_uneven = false;  ///< whether codes index 16 fixed values
};

constexpr std::array layouts{
    BlockLayout{.name = "q2_k",
                .part = 16,
                .bits = 2,
                .code = code_q2,
                .d = 80,
                .scale = scale_q2,
                .scale_most = 15,
                .least = least_q2,
                .dmin = 82},
    BlockLayout{.name = "q3_k",
                .part = 16,
                .bits = 3,
                .code = code_q3,
                .d = 108,
                .scale = scale_q3,
                .scale_zero = 32,
                .scale_most = 31},
    BlockLayout{.name = "q4_k",
                .part = 32,
                .bits = 4,
                .code = code_q4,
                .d = 0,
                .scale = scale_q4,
                .scale_most = 63,
                .least = least_q4,
                .dmin = 2},
    BlockLayout{.name = "q5_k",
                .part = 32,
                .bits = 5,
                .code = code_q5,
                .d = 0,
                .scale = scale_q4,
                .scale_most = 63,
                .least = least_q4,
                .dmin = 2},
    BlockLayout{.name = "q6_k",
                .part = 16,
                .bits = 6,
                .code = code_q6,
                .d = 208,
                .scale = scale_q6,
                .scale_most = 127,
                .is_signed = true},
    BlockLayout{.name = "iq4_nl", .part = 32, .bits = 4, .code = code_iq4_nl, .d = 0, .is_uneven = true},
    BlockLayout{.name = "iq4_xs",
                .part = 32,
                .bits = 4,
                .code = code_iq4_xs,
                .d = 0,
                .scale = scale_iq4_xs,
                .scale_zero = 32,
                .scale_most = 31,
                .is_uneven = true},
};
/// kvalues_iq4nl of ggml-common.h.
constexpr std::array<int, 16> uneven{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

const BlockLayout* block_layout(DType t) {
  for (const BlockLayout& l : layouts)
    if (l.name == t.name()) return &l;
  return nullptr;
}

float half_at(const std::byte* from, Count byte) {
  fp16 half;
  half.bits = static_cast<std::uint16_t>(read_bits(from, bit(byte), 16));
  return wide(half);
}
/// Writes the smallest half-precision number not below x >= 0.
float write_half_above(std::byte* to, Count byte, float x) {
  fp16 half(x);
  if (wide(half) < x) ++half.bits;
  write_bits(to, bit(byte), 16, half.bits);
  return wide(half);
}

/// Encoding and decoding of one block.
class Block {
 public:
  explicit Block(DType format) : l_(*block_layout(format)), numbers_(format.format().group) {}

  Count numbers() const { return numbers_; }
  Count parts() const { return numbers_ / l_.part; }
  Count part_of(Count i) const { return i / l_.part; }
  int zero() const { return l_.least != nullptr ? 0 : 1 << (l_.bits - 1); }
  int most() const { return (1 << l_.bits) - 1; }
  /// The largest magnitude that codes reach at scale 1, on both sides if signed.
  float reach() const {
    if (l_.is_uneven) return static_cast<float>(uneven.back());
    return static_cast<float>(l_.least != nullptr ? most() : zero() - 1);
  }
  /// The product of d and a part's scale, multiplied as in ggml.
  float step(const std::byte* from, Count part) const {
    const float d = half_at(from, l_.d);
    return l_.scale == nullptr ? d : d * static_cast<float>(scale_code(from, part));
  }
  float least(const std::byte* from, Count part) const {
    return l_.least == nullptr ? 0 : half_at(from, l_.dmin) * static_cast<float>(l_.least(part).read(from));
  }
  /// `by`: the part's step. `less`: its minimum.
  float value(float by, float less, int number) const {
    if (l_.is_uneven) return by * static_cast<float>(uneven[static_cast<std::size_t>(number)]);
    return by * static_cast<float>(number - zero()) - less;
  }
  int code(const std::byte* from, Count i) const { return l_.code(i).read(from); }

  /// Writes scales that cover all values of every part: first the minima to subtract, then the steps.
  void write_scales(std::span<const float> from, std::byte* to) const {
    std::vector<float> steps, lowest;
    for (Count k = 0; k < parts(); ++k) lowest.push_back(std::max(0.0F, -extreme(from, k, -1)));
    if (l_.least != nullptr) write_all(to, l_.dmin, l_.least, l_.scale_most, 0, lowest);
    for (Count k = 0; k < parts(); ++k)
      steps.push_back((l_.least != nullptr ? std::max(0.0F, extreme(from, k, 1)) + least(to, k)
                                           : std::max(extreme(from, k, 1), lowest[static_cast<std::size_t>(k)])) /
                      reach());
    write_all(to, l_.d, l_.scale, l_.scale_most, l_.scale_zero, steps);
  }
  void write_code(std::byte* to, Count i, float x) const {
    const float by = step(to, part_of(i)), less = least(to, part_of(i));
    l_.code(i).write(to, l_.is_uneven ? nearest_uneven(by, x) : nearest_even(by, x + less));
  }

 private:
  int scale_code(const std::byte* from, Count part) const {
    const int code = l_.scale(part).read(from);
    return l_.is_signed ? static_cast<std::int8_t>(code) : code - l_.scale_zero;
  }
  /// The maximum of a part (sign 1) or its minimum (-1); missing values are zeros.
  float extreme(std::span<const float> from, Count part, float sign) const {
    const auto size = static_cast<Count>(from.size());
    float most = size < (part + 1) * l_.part ? 0 : sign * from[static_cast<std::size_t>(part * l_.part)];
    for (Count i = part * l_.part; i < std::min(size, (part + 1) * l_.part); ++i)
      most = std::max(most, sign * from[static_cast<std::size_t>(i)]);
    return sign * most;
  }
  /// Writes the block's half-precision factor, and for each part a scale code that is rounded up to cover the part's
  /// values.
  static void write_all(std::byte* to, Count byte, FieldPlace place, int most, int zero,
                        const std::vector<float>& needed) {
    const float all = *std::max_element(needed.begin(), needed.end());
    const float d = write_half_above(to, byte, place == nullptr ? all : all / static_cast<float>(most));
    for (std::size_t k = 0; place != nullptr && k < needed.size(); ++k) {
      const int code = d > 0 ? static_cast<int>(std::ceil(needed[k] / d)) : 0;
      place(static_cast<Count>(k)).write(to, std::clamp(code, 0, most) + zero);
    }
  }
  int nearest_even(float by, float x) const {
    const float n = by > 0 ? std::nearbyint(x / by) : 0;
    return static_cast<int>(std::clamp(n, static_cast<float>(-zero()), static_cast<float>(most() - zero()))) + zero();
  }
  static int nearest_uneven(float by, float x) {
    const auto error = [=](std::size_t i) { return std::fabs(by * static_cast<float>(uneven[i]) - x); };
    std::size_t best = 0;
    for (std::size_t i = 1; i < uneven.size(); ++i)
      if (error(i) < error(best)) best = i;
    return static_cast<int>(best);
  }

  const BlockLayout& l_;
  Count numbers_;
};

}  // namespace

bool is_block_format(DType format) { return block_layout(format) != nullptr; }

void encode_block(DType format, std::span<const float> from, std::byte* to) {
  const Block block(format);
  block.write_scales(from, to);
  for (Count i = 0; i < block.numbers(); ++i)
    block.write_code(to, i, i < static_cast<Count>(from.size()) ? from[static_cast<std::size_t>(i)] : 0);
}

void decode_block(DType format, const std::byte* from, std::span<float> to) {
  const Block block(format);
  float step = 0, least = 0;
  for (Count i = 0; i < static_cast<Count>(to.size()); ++i) {
    if (i == 0 || block.part_of(i) != block.part_of(i - 1)) {
      step = block.step(from, block.part_of(i));
      least = block.least(from, block.part_of(i));
    }
    to[static_cast<std::size_t>(i)] = block.value(step, least, block.code(from, i));
  }
}

}  // namespace llmcalc::model
