// Bytes of number formats. Sizes are from ggml-common.h, OCP MX v1.0 and the papers cited in calc/formats/dtype.hpp.

#include "calc/formats/dtype.hpp"

#include <set>
#include <string>

#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

Count bytes(std::string_view format, Count rows, Count cols) { return tensor_bytes(*dtype(format), rows, cols).value; }

struct Block {
  std::string_view format;
  Count weights, bytes;
};
constexpr Block blocks[] = {{"q4_0", 32, 18},   {"q4_1", 32, 20},    {"q5_0", 32, 22},          {"q5_1", 32, 24},
                            {"q8_0", 32, 34},   {"q2_k", 256, 84},   {"q3_k", 256, 110},        {"q4_k", 256, 144},
                            {"q5_k", 256, 176}, {"q6_k", 256, 210},  {"iq4_nl", 32, 18},        {"iq4_xs", 256, 136},
                            {"tq1_0", 256, 54}, {"tq2_0", 256, 66},  {"mxfp4", 32, 17},         {"mxfp6", 32, 25},
                            {"mxfp8", 32, 33},  {"nf4", 64, 32 + 4}, {"int4-g128", 128, 64 + 2}};

}  // namespace

TEST_CASE("a format's block has its stated number of bytes, and a partial block counts in full", "[cost][dtype]") {
  for (const Block& b : blocks) {
    CAPTURE(std::string(b.format));
    CHECK(bytes(b.format, 1, b.weights) == b.bytes);
    CHECK(bytes(b.format, 3, 5 * b.weights) == 15 * b.bytes);
    CHECK(bits_per_weight(*dtype(b.format)) == 8.0 * static_cast<double>(b.bytes) / static_cast<double>(b.weights));
  }
  CHECK(bytes("q4_0", 3, 33) == 3 * 2 * 18);
  CHECK(bytes("q4_k", 3, 1) == 3 * 144);
}

TEST_CASE("a value in a plain format has the format's number of bits", "[cost][dtype]") {
  for (const auto& [name, bits] :
       {std::pair{"fp64", 64}, {"fp32", 32}, {"tf32", 32}, {"fp16", 16}, {"bf16", 16}, {"fp8", 8}, {"int4", 4}}) {
    CHECK(bytes(name, 7, 16) == 7 * 16 * bits / 8);
    CHECK(dtype(name)->plain());
  }
  CHECK(bytes("int4", 1, 3) == 2);  // rounded up to whole bytes
}

TEST_CASE("a format's bytes include scales per row, per group and per tensor", "[cost][dtype]") {
  CHECK(bytes("int8", 7, 100) == 7 * (100 + 4));
  CHECK(bytes("awq", 7, 256) == 7 * 2 * (64 + 2) + 7);  // plus half a byte of zero point for each of 14 groups
  CHECK(bits_per_weight(*dtype("gptq")) == 4.15625);
  CHECK(bytes("nvfp4", 4, 16) == 4 * 9 + 4);
  CHECK(bytes("nf4-dq", 1, 256 * 64) == 256 * 33 + 4);
  CHECK(bytes("fp8-block", 129, 300) == 129 * 300 + 4 * 2 * 3);  // 2 x 3 blocks of 128 x 128, partial ones included
  CHECK(bits_per_weight(*dtype("fp8-block")) == 8 + 32.0 / (128 * 128));
  CHECK(bytes("fp8-row", 7, 100) == 7 * (100 + 2));
  CHECK(bytes("fp8-tensor", 7, 100) == 700 + 2 * 4);
  CHECK(bytes("gptq-act", 7, 256) == bytes("gptq", 7, 256) + 2 * 7 + 4 * 256);  // a bias per row, an index per column
  CHECK(bytes("nvfp4-input", 4, 16) == 4 * 9 + 2 * 4);
  CHECK_FALSE(dtype("fp8-tensor")->plain());
}

TEST_CASE("format names are unique and resolve to their formats", "[contract][dtype]") {
  std::set<std::string_view> seen;
  for (const Format& f : formats) {
    CHECK(seen.insert(f.name).second);
    REQUIRE(dtype(f.name).has_value());
    CHECK(dtype(f.name)->name() == f.name);
  }
  CHECK_FALSE(dtype("q9_9").has_value());
  CHECK_FALSE(dtype("").has_value());
}

TEST_CASE("a tensor beyond 2^63 bits throws Overflow", "[contract][dtype]") {
  CHECK_THROWS_AS(tensor_bytes(dtypes::bf16, Count{1} << 40, Count{1} << 40), Overflow);
}
