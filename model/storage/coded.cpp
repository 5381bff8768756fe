#include "model/storage/coded.hpp"

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "model/math/minifloat.hpp"
#include "model/math/numbers.hpp"
#include "model/storage/bit_fields.hpp"
#include "model/storage/blocks.hpp"

namespace llmcalc::model {
namespace {

/// How a value is encoded; CodedGroup does the arithmetic.
enum class Code : std::uint8_t { f32, f16, b16, minifloat, integer, shifted, raised, nf4 };
/// How a group's scale is stored. `shared`: 8 bits, times the outer group's scale.
enum class Scale : std::uint8_t { none, f32, f16, e8m0, e4m3, shared };

struct Coding {
  std::string_view name;
  Code code;
  int bits;
  Scale scale = Scale::none;
  Minifloat minifloat = e4m3;
};

// clang-format off
constexpr std::array codings{
    Coding{"fp32", Code::f32, 32}, Coding{"tf32", Code::f32, 32},
    Coding{"fp16", Code::f16, 16}, Coding{"bf16", Code::b16, 16},
    Coding{"fp8",         Code::minifloat, 8},
    Coding{"fp8-block",   Code::minifloat, 8, Scale::f32},
    Coding{"fp8-row",     Code::minifloat, 8, Scale::f16},
    Coding{"fp8-row32",   Code::minifloat, 8, Scale::f32},
    Coding{"fp8-tensor",  Code::minifloat, 8, Scale::none},
    Coding{"int8",        Code::integer,   8, Scale::f32},
    Coding{"int8-row",    Code::integer,   8, Scale::f16},
    Coding{"int8-g128",   Code::integer,   8, Scale::f16},
    Coding{"nf4",         Code::nf4,       4, Scale::f32},
    Coding{"nf4-dq",      Code::nf4,       4, Scale::shared},
    Coding{"gptq",        Code::shifted,   4, Scale::f16},
    Coding{"awq",         Code::shifted,   4, Scale::f16},
    Coding{"gptq-g32",    Code::shifted,   4, Scale::f16},
    Coding{"gptq-g64",    Code::shifted,   4, Scale::f16},
    Coding{"gptq-2bit",   Code::shifted,   2, Scale::f16},
    Coding{"gptq-3bit",   Code::shifted,   3, Scale::f16},
    Coding{"gptq-8bit",   Code::shifted,   8, Scale::f16},
    Coding{"awq-g32",     Code::shifted,   4, Scale::f16},
    Coding{"awq-g64",     Code::shifted,   4, Scale::f16},
    Coding{"int4-row",    Code::integer,   4, Scale::f16},
    Coding{"int4-g32",    Code::integer,   4, Scale::f16},
    Coding{"int4-g64",    Code::integer,   4, Scale::f16},
    Coding{"int4-g128",   Code::integer,   4, Scale::f16},
    Coding{"mxfp4",       Code::minifloat, 4, Scale::e8m0, e2m1},
    Coding{"mxfp6",       Code::minifloat, 6, Scale::e8m0, e3m2},
    Coding{"mxfp8",       Code::minifloat, 8, Scale::e8m0, e4m3},
    Coding{"nvfp4",       Code::minifloat, 4, Scale::e4m3, e2m1},
    Coding{"nvfp4-input", Code::minifloat, 4, Scale::e4m3, e2m1},
    Coding{"q4_0",        Code::integer,   4, Scale::f16},
    Coding{"q4_1",        Code::raised,    4, Scale::f16},
    Coding{"q5_0",        Code::integer,   5, Scale::f16},
    Coding{"q5_1",        Code::raised,    5, Scale::f16},
    Coding{"q8_0",        Code::integer,   8, Scale::f16},
};
/// QLoRA (arXiv:2305.14314), appendix E.
constexpr std::array nf4_values{-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
                                -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
                                0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F, 0.33791524171829224F,
                                0.44070982933044434F, 0.5626170039176941F, 0.7229568362236023F, 1.0F};
// clang-format on

const Coding* coding(DType t) {
  for (const Coding& c : codings)
    if (c.name == t.name()) return &c;
  return nullptr;
}

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
float half_of(std::uint32_t bits) {
  fp16 half;
  half.bits = static_cast<std::uint16_t>(bits);
  return wide(half);
}

/// Bit offsets of a tensor's quantized values and scales.
struct Places {
  const Coding& coding;
  Format f;
  Count rows, width;

  explicit Places(const CodedShape& s)
      : coding(*model::coding(s.format)), f(s.format.format()), rows(s.rows), width(s.width) {}
  bool in_blocks() const { return f.element_bits == 0; }
  Count across() const { return f.group > 0 ? ceil_div(width, f.group) : 1; }
  Count group_width() const { return f.group > 0 ? f.group : width; }
  Count groups() const { return f.group == 0 ? 1 : mul(ceil_div(rows, f.group_rows), across()); }
  Count group_of(Count row, Count column) const {
    return f.group == 0 ? 0 : row / f.group_rows * across() + column / group_width();
  }
  Count scale(Count group) const { return group * f.group_bits + (in_blocks() ? 0 : rows * width * f.element_bits); }
  /// A group's minimum or zero point, stored after its scale.
  Count second(Count group) const { return scale(group) + 16; }
  Count code(Count row, Count column) const {
    if (!in_blocks()) return (row * width + column) * f.element_bits;
    const Count g = group_of(row, column);
    return scale(g) + f.group_bits - f.group * coding.bits + column % f.group * coding.bits;
  }
  Count outer(Count group) const { return scale(groups()) + group / f.outer * f.outer_bits; }
  /// Bit offset of the tensor-wide scale.
  Count tensor_scale(Bytes all) const { return 8 * (all.value - f.tensor_bytes); }
};

/// A group's scale, minimum and zero point.
struct CodedGroup {
  float scale = 1, least = 0;
  int zero = 0;

  float value(const Coding& c, std::uint32_t code) const {
    const auto number = static_cast<float>(code);
    switch (c.code) {
      case Code::f32:
        return float_of(code);
      case Code::f16:
        return half_of(code);
      case Code::b16:
        return float_of(code << 16U);
      case Code::minifloat:
        return scale * c.minifloat.value(code);
      case Code::nf4:
        return scale * nf4_values[code];
      case Code::integer:
      case Code::shifted:
        return scale * static_cast<float>(static_cast<int>(code) - zero);
      case Code::raised:
        return least + scale * number;
    }
    return 0;
  }
  std::uint32_t code(const Coding& c, float x) const {
    const float inverse = scale > 0 ? 1 / scale : 0;
    const auto whole = [&](float n, float lowest) {
      return static_cast<std::uint32_t>(std::clamp(std::nearbyint(n), lowest, static_cast<float>((1 << c.bits) - 1)));
    };
    switch (c.code) {
      case Code::f32:
        return bits_of(x);
      case Code::f16:
        return fp16(x).bits;
      case Code::b16:
        return bf16(x).bits;
      case Code::minifloat:
        return c.minifloat.code(x * inverse);
      case Code::nf4:
        return nearest(x * inverse);
      case Code::integer:  // excludes the lowest code, so that both signs have the same range
        return whole(x * inverse + static_cast<float>(zero), 1);
      case Code::shifted:
        return whole(x * inverse + static_cast<float>(zero), 0);
      case Code::raised:
        return whole((x - least) * inverse, 0);
    }
    return 0;
  }
  static std::uint32_t nearest(float x) {
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < nf4_values.size(); ++i)
      if (std::fabs(nf4_values[i] - x) < std::fabs(nf4_values[best] - x)) best = i;
    return best;
  }
};

/// The largest magnitude that codes reach at scale 1.
float reach(const Coding& c) {
  if (c.code == Code::minifloat) return c.minifloat.largest;
  if (c.code == Code::integer) return std::ldexp(1.0F, c.bits - 1) - 1;
  return c.code == Code::nf4 ? 1 : std::ldexp(1.0F, c.bits) - 1;
}

/// If a half-precision or 8-bit scale has underflowed to 0, all values of the group are decoded as 0, the nearest
/// available value.
float read_scale(const Places& p, const std::byte* from, Count group, float tensor) {
  const Count at = p.scale(group);
  switch (p.coding.scale) {
    case Scale::none:
      return tensor;
    case Scale::f32:
      return float_of(read_bits(from, at, 32));
    case Scale::f16:
      return half_of(read_bits(from, at, 16));
    case Scale::e8m0:
      return std::ldexp(1.0F, static_cast<int>(read_bits(from, at, 8)) - 127);
    case Scale::e4m3:
      return tensor * e4m3.value(read_bits(from, at, 8));
    case Scale::shared:
      return float_of(read_bits(from, p.outer(group), 32)) * static_cast<float>(read_bits(from, at, 8)) / 255;
  }
  return 1;
}
void write_scale(const Places& p, std::byte* to, Count group, float scale, float tensor) {
  const Count at = p.scale(group);
  switch (p.coding.scale) {
    case Scale::none:
      return;
    case Scale::f32:
      return write_bits(to, at, 32, bits_of(scale));
    case Scale::f16:
      return write_bits(to, at, 16, fp16(scale).bits);
    case Scale::e8m0: {  // exponent of the largest value, minus the largest code's exponent (OCP MX v1.0, 6.3)
      const int power = scale > 0 ? std::ilogb(scale * reach(p.coding)) - std::ilogb(reach(p.coding)) : -127;
      return write_bits(to, at, 8, static_cast<std::uint32_t>(std::clamp(power, -127, 127) + 127));
    }
    case Scale::e4m3:
      return write_bits(to, at, 8, e4m3.code(tensor > 0 ? scale / tensor : 0));
    case Scale::shared: {
      const float most = float_of(read_bits(to, p.outer(group), 32));
      return write_bits(to, at, 8, static_cast<std::uint32_t>(most > 0 ? std::nearbyint(scale / most * 255) : 0));
    }
  }
}

CodedGroup read_group(const Places& p, const std::byte* from, Count group, float tensor) {
  const Coding& c = p.coding;
  CodedGroup g{.scale = read_scale(p, from, group, tensor)};
  if (c.code == Code::integer) g.zero = 1 << (c.bits - 1);
  if (c.code == Code::shifted) g.zero = static_cast<int>(read_bits(from, p.second(group), c.bits));
  if (c.code == Code::raised) g.least = half_of(read_bits(from, p.second(group), 16));
  return g;
}

/// The minimum, maximum and largest magnitude of a group.
struct Extent {
  float least = std::numeric_limits<float>::infinity(), most = -least, size = 0;
  void see(float x) {
    least = std::min(least, x);
    most = std::max(most, x);
    size = std::max(size, std::fabs(x));
  }
};

std::vector<Extent> extents(const Places& p, std::span<const float> from) {
  std::vector<Extent> all(static_cast<std::size_t>(p.groups()));
  for (Count r = 0; r < p.rows; ++r)
    for (Count c = 0; c < p.width; ++c)
      all[static_cast<std::size_t>(p.group_of(r, c))].see(from[static_cast<std::size_t>(r * p.width + c)]);
  return all;
}

/// The tensor-wide scale; for nvfp4 chosen so that every group's scale fits e4m3.
float tensor_scale(const Places& p, const std::vector<Extent>& all) {
  if (p.f.tensor_bytes == 0) return 1;
  float size = 0;
  for (const Extent& e : all) size = std::max(size, e.size);
  return size / reach(p.coding) / (p.coding.scale == Scale::e4m3 ? e4m3.largest : 1);
}

/// Writes the scale, minimum and zero point of a group. A range with a zero point includes 0, because zeros must
/// round exactly.
void write_group(const Places& p, std::byte* to, Count group, Extent e, float tensor) {
  const Coding& c = p.coding;
  if (c.code == Code::shifted) e.see(0);
  const float least = half_of(fp16(e.least).bits);
  const bool by_range = c.code == Code::shifted || c.code == Code::raised;
  write_scale(p, to, group, (by_range ? e.most - (c.code == Code::raised ? least : e.least) : e.size) / reach(c),
              tensor);
  const float scale = read_scale(p, to, group, tensor);
  if (c.code == Code::raised) write_bits(to, p.second(group), 16, fp16(e.least).bits);
  if (c.code == Code::shifted)
    write_bits(
        to, p.second(group), c.bits,
        static_cast<std::uint32_t>(scale > 0 ? std::clamp(std::nearbyint(-e.least / scale), 0.0F, reach(c)) : 0));
}

void write_outer(const Places& p, std::byte* to, const std::vector<Extent>& all) {
  for (Count first = 0; p.f.outer > 0 && first < p.groups(); first += p.f.outer) {
    float most = 0;
    for (Count g = first; g < std::min(p.groups(), first + p.f.outer); ++g)
      most = std::max(most, all[static_cast<std::size_t>(g)].size);
    write_bits(to, p.outer(first), 32, bits_of(most));
  }
}

float read_tensor_scale(const Places& p, const CodedShape& s, const std::byte* from) {
  if (p.f.tensor_bytes == 0 || s.row_alone) return 1;
  return float_of(read_bits(from, p.tensor_scale(s.bytes()), 32));
}

/// Calls f(row, first column, values, byte offset) for every block of the given rows.
template <typename F>
void for_each_block(const CodedShape& s, Count first, Count n, const F& f) {
  const Format& format = s.format.format();
  const Count across = ceil_div(s.width, format.group);
  for (Count r = first; r < first + n; ++r)
    for (Count b = 0; b < across; ++b)
      f(r, b * format.group, std::min(format.group, s.width - b * format.group),
        (r * across + b) * format.group_bits / 8);
}

}  // namespace

bool can_code(DType format) { return coding(format) != nullptr || is_block_format(format); }

void encode(const CodedShape& s, std::span<const float> from, std::byte* to) {
  std::fill_n(to, s.bytes().value, std::byte{0});
  if (is_block_format(s.format))
    return for_each_block(s, 0, s.rows, [&](Count row, Count column, Count n, Count byte) {
      encode_block(s.format,
                   from.subspan(static_cast<std::size_t>(row * s.width + column), static_cast<std::size_t>(n)),
                   to + byte);
    });
  const Places p(s);
  const std::vector<Extent> all = extents(p, from);
  if (p.f.tensor_bytes > 0 && !s.row_alone)
    write_bits(to, p.tensor_scale(s.bytes()), 32, bits_of(tensor_scale(p, all)));
  const float tensor = read_tensor_scale(p, s, to);
  write_outer(p, to, all);
  std::vector<CodedGroup> groups;
  for (Count g = 0; g < p.groups(); ++g) {
    write_group(p, to, g, all[static_cast<std::size_t>(g)], tensor);
    groups.push_back(read_group(p, to, g, tensor));
  }
  for (Count r = 0; r < p.rows; ++r)
    for (Count c = 0; c < p.width; ++c)
      write_bits(to, p.code(r, c), p.coding.bits,
                 groups[static_cast<std::size_t>(p.group_of(r, c))].code(
                     p.coding, from[static_cast<std::size_t>(r * p.width + c)]));
}

void decode_rows(const CodedShape& s, const std::byte* from, Count first, Count n, float* to) {
  if (is_block_format(s.format))
    return for_each_block(s, first, n, [&](Count row, Count column, Count numbers, Count byte) {
      decode_block(s.format, from + byte, {to + (row - first) * s.width + column, static_cast<std::size_t>(numbers)});
    });
  const Places p(s);
  const float tensor = read_tensor_scale(p, s, from);
  for (Count r = first; r < first + n; ++r)
    for (Count begin = 0; begin < p.width; begin += p.group_width()) {
      const CodedGroup g = read_group(p, from, p.group_of(r, begin), tensor);
      for (Count c = begin; c < std::min(p.width, begin + p.group_width()); ++c)
        *to++ = g.value(p.coding, read_bits(from, p.code(r, c), p.coding.bits));
    }
}

}  // namespace llmcalc::model
