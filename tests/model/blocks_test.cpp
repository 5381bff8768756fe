// GGUF's K blocks: bytes, values of hand-made blocks, and rounding errors.

#include "model/storage/blocks.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "model/math/numbers.hpp"
#include "model/random.hpp"
#include "model/storage/coded.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

using Bytes8 = std::vector<std::uint8_t>;

/// A random block. Its half-precision values are in [1, 2), so that no product overflows.
Bytes8 any_block(const char* format, std::uint64_t seed, std::initializer_list<std::size_t> halves) {
  Bytes8 b(static_cast<std::size_t>(dtype(format)->format().group_bits / 8));
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<std::uint8_t>(256 * uniform<double>(random_key(seed), random_counter(i)));
  for (const std::size_t at : halves) b[at + 1] = static_cast<std::uint8_t>(0x3c | (b[at + 1] & 7U));
  return b;
}

float half(const Bytes8& b, std::size_t at) {
  fp16 h;
  h.bits = static_cast<std::uint16_t>(b[at] | b[at + 1] << 8);
  return wide(h);
}

std::vector<float> decoded(const char* format, const Bytes8& b) {
  std::vector<float> y(static_cast<std::size_t>(dtype(format)->format().group));
  std::vector<std::byte> bytes;
  for (const std::uint8_t x : b) bytes.push_back(static_cast<std::byte>(x));
  decode_block(*dtype(format), bytes.data(), y);
  return y;
}

// ---- loops as in ggml (ggml-quants.c, dequantize_row_*): a pointer moves through the quantized values

std::vector<float> loop_q2(const Bytes8& b) {
  const float d = half(b, 80), least = half(b, 82);
  std::vector<float> y;
  std::size_t is = 0;
  for (std::size_t q = 16; q < 80; q += 32)
    for (unsigned shift = 0; shift < 8; shift += 2)
      for (std::size_t from = q; from < q + 32; from += 16) {
        const unsigned sc = b[is++];
        const float dl = d * static_cast<float>(sc & 15U), ml = least * static_cast<float>(sc >> 4U);
        for (std::size_t l = 0; l < 16; ++l) y.push_back(dl * static_cast<float>(b[from + l] >> shift & 3) - ml);
      }
  return y;
}

std::vector<float> loop_q3(const Bytes8& b) {
  std::array<int, 16> scales{};
  for (std::size_t k = 0; k < 4; ++k) {  // aux[0] to aux[3], byte by byte
    const unsigned x = b[96 + k], z = b[100 + k], high = b[104 + k];
    scales[k] = static_cast<int>((x & 15U) | (high & 3U) << 4U) - 32;
    scales[4 + k] = static_cast<int>((z & 15U) | (high >> 2U & 3U) << 4U) - 32;
    scales[8 + k] = static_cast<int>((x >> 4U) | (high >> 4U & 3U) << 4U) - 32;
    scales[12 + k] = static_cast<int>((z >> 4U) | (high >> 6U & 3U) << 4U) - 32;
  }
  const float d = half(b, 108);
  std::vector<float> y;
  std::size_t is = 0;
  unsigned m = 1;
  for (std::size_t q = 32; q < 96; q += 32)
    for (unsigned shift = 0; shift < 8; shift += 2, m <<= 1U)
      for (std::size_t from = 0; from < 32; from += 16) {
        const float dl = d * static_cast<float>(scales[is++]);
        for (std::size_t l = from; l < from + 16; ++l)
          y.push_back(dl * static_cast<float>((b[q + l] >> shift & 3) - ((b[l] & m) != 0 ? 0 : 4)));
      }
  return y;
}

/// get_scale_min_k4; q: the 12 bytes.
std::array<float, 2> scale_and_least(std::size_t j, const std::uint8_t* q) {
  const unsigned d = j < 4 ? q[j] & 63U : (q[j + 4] & 15U) | static_cast<unsigned>(q[j - 4] >> 6) << 4U;
  const unsigned m =
      j < 4 ? q[j + 4] & 63U : static_cast<unsigned>(q[j + 4] >> 4) | static_cast<unsigned>(q[j] >> 6) << 4U;
  return {static_cast<float>(d), static_cast<float>(m)};
}

/// q4_k, or q5_k if `high`.
std::vector<float> loop_q45(const Bytes8& b, bool high) {
  const float d = half(b, 0), least = half(b, 2);
  std::vector<float> y;
  std::size_t ql = high ? 48 : 16;
  for (std::size_t is = 0; is < 8; is += 2, ql += 32)
    for (const std::size_t upper : {0U, 1U}) {
      const auto [sc, m] = scale_and_least(is + upper, b.data() + 4);
      const float d1 = d * sc, m1 = least * m;
      for (std::size_t l = 0; l < 32; ++l) {
        const int more = high && (b[16 + l] >> (is + upper) & 1) != 0 ? 16 : 0;
        const int low = upper != 0 ? b[ql + l] >> 4 : b[ql + l] & 15;
        y.push_back(d1 * static_cast<float>(low + more) - m1);
      }
    }
  return y;
}

std::vector<float> loop_q6(const Bytes8& b) {
  const float d = half(b, 208);
  std::vector<float> y(256);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t l = 0; l < 32; ++l) {
      const std::uint8_t *ql = b.data() + 64 * n, *qh = b.data() + 128 + 32 * n, *sc = b.data() + 192 + 8 * n;
      const std::array q{(ql[l] & 15) | (qh[l] & 3) << 4, (ql[l + 32] & 15) | (qh[l] >> 2 & 3) << 4,
                         (ql[l] >> 4) | (qh[l] >> 4 & 3) << 4, (ql[l + 32] >> 4) | (qh[l] >> 6 & 3) << 4};
      for (std::size_t k = 0; k < 4; ++k)
        y[128 * n + 32 * k + l] =
            d * static_cast<float>(static_cast<std::int8_t>(sc[l / 16 + 2 * k])) * static_cast<float>(q[k] - 32);
    }
  return y;
}

constexpr std::array uneven_values{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

std::vector<float> loop_iq4(const Bytes8& b) {
  const float d = half(b, 0);
  std::vector<float> y;
  for (std::size_t part = 0; part < 8; ++part) {
    const int low = b[4 + part / 2] >> 4 * (part % 2) & 15, high = (b[2] | b[3] << 8) >> 2 * part & 3;
    const float dl = d * static_cast<float>((low | high << 4) - 32);
    for (const int shift : {0, 4})
      for (std::size_t j = 0; j < 16; ++j)
        y.push_back(dl * static_cast<float>(uneven_values[b[8 + 16 * part + j] >> shift & 15U]));
  }
  return y;
}

}  // namespace

TEST_CASE("decoding blocks of random bytes matches ggml's loops bitwise", "[blocks]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Bytes8 q2 = any_block("q2_k", seed, {80, 82}), q3 = any_block("q3_k", seed, {108}),
                 q4 = any_block("q4_k", seed, {0, 2}), q5 = any_block("q5_k", seed, {0, 2}),
                 q6 = any_block("q6_k", seed, {208}), iq4 = any_block("iq4_xs", seed, {0});
    CHECK(decoded("q2_k", q2) == loop_q2(q2));
    CHECK(decoded("q3_k", q3) == loop_q3(q3));
    CHECK(decoded("q4_k", q4) == loop_q45(q4, false));
    CHECK(decoded("q5_k", q5) == loop_q45(q5, true));
    CHECK(decoded("q6_k", q6) == loop_q6(q6));
    CHECK(decoded("iq4_xs", iq4) == loop_iq4(iq4));
  }
}

TEST_CASE("a hand-written quantization block decodes to the values computed by hand", "[blocks]") {
  // q4_k: d is 1 and dmin 0.5 (0x3c00, 0x3800). Part 0: scale 3, least 2. Part 5: scale 0x2a = 42, least 0x15 = 21.
  // Their low four bits, 10 and 5, are in byte 4 + 9, and their high two bits, 2 and 1, at the top of bytes 4 + 1 and 4
  // + 5.
  Bytes8 b(144, 0);
  b[1] = 0x3c, b[3] = 0x38;
  b[4] = 3, b[8] = 2;
  b[13] = 0x5a, b[5] = 2U << 6U, b[9] = 1U << 6U;
  b[16] = 0x07;           // value 0 is 7
  b[16 + 64 + 1] = 0xb0;  // value 161, the second of part 5, is 11
  const std::vector<float> y = decoded("q4_k", b);
  CHECK(y[0] == 3 * 7 - 0.5F * 2);
  CHECK(y[1] == -0.5F * 2);
  CHECK(y[161] == 42 * 11 - 0.5F * 21);
  CHECK(y[160] == -0.5F * 21);
  CHECK(y[255] == 0);
  // iq4_nl: d is 2; quantized values 0 and 15 in byte 2 belong to elements 0 and 16.
  Bytes8 nl(18, 0x88);
  nl[0] = 0, nl[1] = 0x40, nl[2] = 0xf0;
  const std::vector<float> z = decoded("iq4_nl", nl);
  CHECK(z[0] == 2 * -127);
  CHECK(z[16] == 2 * 113);
  CHECK(z[1] == 2 * 1);
}

namespace {

/// Properties of a format: size of a part, largest positive quantized value, largest quantized scale (0: no such
/// scale), and half of the widest gap between quantized values.
struct RunParts {
  const char* format;
  std::size_t size;
  double code, scale, half_gap;
  bool has_least;
};

/// Smallest step of a part, and the value subtracted from all of its elements.
struct Need {
  double step = 0, least = 0;
};

/// Steps that keep all values in range if both scales of a block are rounded up.
std::vector<Need> needs(const RunParts& p, const std::vector<float>& x) {
  std::vector<Need> all((x.size() + p.size - 1) / p.size);
  double lowest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) lowest = std::max(lowest, -static_cast<double>(x[i]));
  for (std::size_t i = 0; i < x.size(); ++i) {
    Need& n = all[i / p.size];
    n.least = std::max(n.least, -static_cast<double>(x[i]));
    n.step = std::max(n.step, static_cast<double>(p.has_least ? x[i] : std::fabs(x[i])));
  }
  for (Need& n : all) n.step = (n.step + (p.has_least ? n.least + lowest / p.scale : 0)) / p.code;
  return all;
}

}  // namespace

TEST_CASE("block quantization changes every value by at most half a step", "[blocks]") {
  for (const RunParts& p : {RunParts{"q2_k", 16, 3, 15, 0.5, true}, RunParts{"q3_k", 16, 3, 31, 0.5, false},
                            RunParts{"q4_k", 32, 15, 63, 0.5, true}, RunParts{"q5_k", 32, 31, 63, 0.5, true},
                            RunParts{"q6_k", 16, 31, 127, 0.5, false}, RunParts{"iq4_nl", 32, 113, 0, 12, false},
                            RunParts{"iq4_xs", 32, 113, 31, 12, false}}) {
    const DType t = *dtype(p.format);
    const auto n = static_cast<std::size_t>(t.format().group);
    for (const std::size_t some : {n, n - 19, std::size_t{1}}) {
      INFO(p.format << ", " << some << " numbers");
      std::vector<float> x(some), y(some);
      for (std::size_t i = 0; i < some; ++i)
        x[i] = (2 * uniform<float>(random_key(5), random_counter(i)) - 0.7F) * static_cast<float>(1 + i / 16 % 5);
      std::vector<std::byte> block(static_cast<std::size_t>(t.format().group_bits / 8), std::byte{0});
      encode_block(t, x, block.data());
      decode_block(t, block.data(), y);
      const std::vector<Need> all = needs(p, x);
      double most = 0;
      for (const Need& need : all) most = std::max(most, need.step);
      const double rounded = p.scale > 0 ? most / p.scale : 0;
      for (std::size_t i = 0; i < some; ++i)  // rounding to half precision enlarges a block's scales by less than 0.1 %
        CHECK(std::fabs(static_cast<double>(x[i] - y[i])) <= p.half_gap * (all[i / p.size].step + rounded) * 1.002);
    }
  }
}
