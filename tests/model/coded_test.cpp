// Quantized tensors: their size as the engine counts it, and their rounding errors.

#include "model/storage/coded.hpp"

#include <cmath>

#include "model/cpu/make.hpp"
#include "model/math/minifloat.hpp"
#include "model/random.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::difference;
using test::identical;
using test::Numbers;
using test::Variant;

namespace {

std::vector<float> drawn(Count n, float spread) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = spread * (2 * uniform<float>(random_key(3), random_counter(i)) - 1);
  return x;
}

std::vector<float> there_and_back(const CodedShape& s, const std::vector<float>& x) {
  std::vector<std::byte> codes(static_cast<std::size_t>(s.bytes().value) + 1, std::byte{0xa5});
  encode(s, x, codes.data());
  CHECK(codes.back() == std::byte{0xa5});  // no write past the end
  std::vector<float> y(x.size());
  decode_rows(s, codes.data(), 0, s.rows, y.data());
  return y;
}

/// Half of the widest gap between neighbors, relative to a group's largest value: the bound of the rounding error,
/// including the rounded scale.
double widest_half_gap(std::string_view format) {
  if (format == "fp32" || format == "tf32") return 0;
  if (format == "fp16") return 0x1p-12;
  if (format == "bf16") return 0x1p-9;
  if (format.starts_with("mxfp8")) return 64.0 / 512;  // values up to 512 are clipped to 448
  if (format.starts_with("fp8")) return 1.0 / 28 * 1.01;
  if (format.starts_with("mxfp6")) return 2.0 / 16;  // values up to 32 are clipped to 28
  if (format.starts_with("mxfp4")) return 2.0 / 8;
  if (format.starts_with("nvfp4")) return 1.0 / 6 + 0.08;
  if (format.starts_with("nf4")) return 0.17;
  if (format == "q5_0") return 0.5 / 15 * 1.01;
  if (format == "q5_1") return 1.0 / 31 * 1.02;
  if (format == "q4_1" || format.starts_with("awq") || format == "gptq" || format == "gptq-g32" || format == "gptq-g64")
    return 1.5 / 15;
  if (format == "gptq-8bit") return 1.5 / 255;
  if (format == "gptq-3bit") return 1.5 / 7;
  if (format == "gptq-2bit") return 1.5 / 3;
  // Blocks with two scales: the range and one step of the subtracted minimum, over the largest quantized value, plus
  // one step of the scale.
  if (format == "q2_k") return 0.5 * (2 + 1.0 / 15) / 3 * 16 / 15 * 1.01;
  if (format == "q4_k") return 0.5 * (2 + 1.0 / 63) / 15 * 64 / 63 * 1.01;
  if (format == "q5_k") return 0.5 * (2 + 1.0 / 63) / 31 * 64 / 63 * 1.01;
  if (format == "q3_k") return 0.5 / 3 * 32 / 31 * 1.01;
  if (format == "q6_k") return 0.5 / 31 * 128 / 127 * 1.01;
  if (format.starts_with("iq4")) return 12.0 / 113 * 32 / 31 * 1.01;
  if (format.starts_with("int8") || format == "q8_0") return 0.5 / 127 * 1.01;
  return 0.5 / 7 * 1.01;
}

}  // namespace

TEST_CASE("every code of a small float decodes to a value that encodes to it", "[coded]") {
  for (const Minifloat f : {e4m3, e3m2, e2m1}) {
    float before = -1;
    for (std::uint32_t code = 0; code < 1U << (f.bits() - 1); ++code) {
      const float x = f.value(code);
      if (x > f.largest) continue;  // e4m3's last code is NaN
      CHECK(x > before);
      CHECK(f.code(x) == code);
      if (code > 0) CHECK(f.code(-x) == (code | 1U << (f.bits() - 1)));
      // A value halfway between neighbors rounds to the even code.
      if (code > 0) CHECK(f.code((before + x) / 2) == (code % 2 == 0 ? code : code - 1));
      before = x;
    }
    CHECK(before == f.largest);
    CHECK(f.value(f.code(1e6F)) == f.largest);
    CHECK(f.value(f.code(-1e6F)) == -f.largest);
  }
  CHECK(e4m3.value(1) == 0x1p-9F);
  CHECK(e2m1.value(7) == 6);
}

TEST_CASE("quantized tensors have the size that the engine counts, and decode to the nearest values", "[coded]") {
  std::size_t coded = 0;
  for (std::size_t row = 0; row < formats.size(); ++row) {
    const DType t(row);
    if (!can_code(t)) continue;
    ++coded;
    for (const auto& [rows, width] : {std::pair{1, 1}, {3, 7}, {5, 128}, {130, 33}, {2, 257}, {129, 300}})
      for (const bool alone : {false, true}) {
        if (alone && rows > 1) continue;
        INFO(t.name() << ", " << rows << " x " << width);
        const CodedShape s{t, rows, width, alone};
        const std::vector<float> x = drawn(rows * width, 0.8F), y = there_and_back(s, x);
        double worst = 0, most = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          worst = std::max(worst, std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
          most = std::max(most, std::fabs(static_cast<double>(x[i])));
        }
        CHECK(worst <= widest_half_gap(t.name()) * (t.plain() ? 1 : most));
        // Decoding only the last row gives the same values.
        std::vector<float> some(static_cast<std::size_t>(width));
        std::vector<std::byte> codes(static_cast<std::size_t>(s.bytes().value));
        encode(s, x, codes.data());
        decode_rows(s, codes.data(), rows - 1, 1, some.data());
        CHECK(std::equal(some.begin(), some.end(), y.end() - width));
      }
  }
  CHECK(coded == 44);
}

TEST_CASE("zeros and exactly representable values are preserved by quantization", "[coded]") {
  for (std::size_t row = 0; row < formats.size(); ++row) {
    const DType t(row);
    if (!can_code(t)) continue;
    INFO(t.name());
    const CodedShape s{t, 2, 70};
    CHECK(there_and_back(s, std::vector<float>(140, 0.0F)) == std::vector<float>(140, 0.0F));
  }
  // int8: multiples of 1/127 of the maximum; q4_0: multiples of 1/7; mxfp4: e2m1 values times a power of two.
  std::vector<float> whole, few, tiny;
  for (int i = -127; i <= 127; ++i) whole.push_back(0.25F * static_cast<float>(i));
  for (int i = -7; i <= 7; ++i) few.push_back(0.5F * static_cast<float>(i));
  for (const float x : {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F})
    tiny.push_back(x / 64), tiny.push_back(-x / 64);
  CHECK(there_and_back({*dtype("int8"), 1, 255}, whole) == whole);
  CHECK(there_and_back({*dtype("q4_0"), 1, 15}, few) == few);
  CHECK(there_and_back({*dtype("mxfp4"), 1, 16}, tiny) == tiny);
}

TEST_CASE("formats without a scale or with values from a lookup table cannot be encoded", "[coded]") {
  for (const char* name : {"int4", "gptq-act", "iq1_s", "iq2_xs", "iq3_s", "tq1_0", "q2_0", "fp64"})
    CHECK_FALSE(can_code(*dtype(name)));
}

TEST_CASE("a backend encodes rows independently and decodes them to its own number type", "[coded]") {
  for (const Number number : {Number::f32, Number::bf16, Number::f16, Number::f64}) {
    const std::unique_ptr<Backend> cpu = make_cpu(number, true);
    constexpr Count rows = 300, width = 70;
    const CodedShape s{*dtype("int8"), 1, width, true};
    std::vector<double> x(rows * width), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i)) * static_cast<double>(i / width);
    void *from = cpu->allocate(rows * width * cpu->number()), *to = cpu->allocate(rows * width * cpu->number());
    void* codes = cpu->allocate(rows * s.bytes());
    cpu->write(from, x, false);
    cpu->read(x, from, false);
    cpu->encode(s, rows, from, codes);
    cpu->decode(s, 0, rows, codes, to);
    cpu->read(y, to, false);
    const double rounding = number == Number::bf16 ? 0x1p-8 : number == Number::f16 ? 0x1p-11 : 1e-6;
    for (std::size_t i = 0; i < x.size(); ++i)
      CHECK(std::fabs(x[i] - y[i]) <= (0.5 / 127 + rounding) * static_cast<double>(i / width));
    cpu->decode(s, 7, 1, codes, to);
    std::vector<double> one(width);
    cpu->read(one, to, false);
    CHECK(std::equal(one.begin(), one.end(), y.begin() + 7 * width));
    cpu->release(from, rows * width * cpu->number());
    cpu->release(to, rows * width * cpu->number());
    cpu->release(codes, rows * s.bytes());
  }
}

namespace {

Variant in_float32(Variant v) {
  v.plan.kv_precision = v.plan.precision = dtypes::fp32;
  v.plan.weight_precision = dtypes::fp32;
  return v;
}

/// A model with scrambled weights, quantized to these formats.
struct Coded {
  std::unique_ptr<Backend> cpu = make_cpu(Number::f32, true);
  Transformer t;
  explicit Coded(const Variant& v) : t(v.arch, *cpu, {.plan = v.plan, .coded = true}, 11) { test::scramble(t, 11); }
};

/// Logits of a prompt of 4 tokens and of 4 more decode steps with a cache.
std::vector<Numbers> generated(Transformer& t) {
  std::vector<Numbers> all;
  Cache cache = t.make_cache(1, 8);
  const Batch batch = test::tiny_batch(t.arch(), t.settings().plan, 3);
  const std::span<const std::int64_t> ids(batch.ids);
  all.push_back(t.logits(ids.first(4), 1, 0, &cache));
  for (std::size_t i = 4; i < 8; ++i) all.push_back(t.logits(ids.subspan(i, 1), 1, static_cast<Count>(i), &cache));
  return all;
}

}  // namespace

TEST_CASE("logits with quantized weights are bitwise equal to logits with the dequantized weights", "[coded]") {
  std::size_t models = 0;
  for (const Variant& given : test::generating_variants()) {
    if (given.arch.is_encoder_decoder()) continue;
    for (const char* format : {"int8", "mxfp4", "gptq-g32", "fp8", "q4_k"}) {
      Variant v = in_float32(given);
      v.plan.batch = 1;
      v.plan.weight_precision = *dtype(format);
      INFO(v.name << ", " << format);
      Coded coded(v);
      Transformer plain(v.arch, *coded.cpu, {.plan = in_float32(v).plan}, 11);
      std::size_t in_codes = 0;
      for (const Parameter& p : coded.t.weights().all()) {
        Numbers x(static_cast<std::size_t>(p.elements()));
        coded.cpu->read(x, coded.t.weights().numbers(&p), false);
        plain.weights().set(*plain.weights().find(-1, p.shape.name), x);
        in_codes += p.format.has_value();
      }
      CHECK(in_codes > 0);
      const std::vector<Numbers> a = generated(coded.t), b = generated(plain);
      for (std::size_t i = 0; i < a.size(); ++i) CHECK(identical(a[i], b[i]));
      ++models;
    }
  }
  CHECK(models > 100);
}

TEST_CASE("quantized weights and KV caches change logits only within their rounding errors", "[coded]") {
  for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama()}) {
    Variant v = in_float32({"", arch, test::tiny_plan()});
    Coded exact(v);
    const std::vector<Numbers> right = generated(exact.t);
    for (const auto& [format, most] :
         {std::pair{"bf16", 0.02}, {"int8", 0.03}, {"fp8-row32", 0.15}, {"q4_0", 0.4}, {"q6_k", 0.15}}) {
      INFO(format);
      Variant weights = v, keys = v;
      weights.plan.weight_precision = *dtype(format);
      keys.plan.kv_precision = *dtype(format);
      Coded a(weights), b(keys);
      const std::vector<Numbers> by_weights = generated(a.t), by_keys = generated(b.t);
      CHECK(identical(by_keys[0], right[0]));  // a prompt does not read the cache
      for (std::size_t i = 0; i < right.size(); ++i) {
        CHECK(difference(by_weights[i], right[i]) < most);
        CHECK(difference(by_weights[i], right[i]) > 0);
        if (i == 0) continue;
        CHECK(difference(by_keys[i], right[i]) < most);
        CHECK(difference(by_keys[i], right[i]) > 0);
      }
    }
  }
}
