// Number formats of weights, matmuls and caches, as worded by inference sources.

#include "evidence/names/format_name.hpp"

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/rows/inference_case.hpp"
#include "presets/formats/gguf_mix.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

TEST_CASE("weight formats are recognized by all their names", "[inference-reading]") {
  const auto format = [](const char* weights) { return formats_of(weights, "bf16", "bf16", dtypes::bf16); };
  for (const auto& [said, name] : {std::pair{"bfloat16", "bf16"},
                                   {"float16", "fp16"},
                                   {"half", "fp16"},
                                   {"none", "bf16"},
                                   {"unquantized", "bf16"},
                                   {"16-bit", "bf16"},
                                   {"q4f16_1", "int4-g32"},
                                   {"FP4", "nvfp4"},
                                   {"Q8", "q8_0"},
                                   {"Q4-K-M", "q4_1"},
                                   {"W4A8 (fp8 act)", "int4"},
                                   {"W8A8 (fp8)", "fp8"},
                                   {"W8A16", "int8-row"},
                                   {"e4m3", "fp8"},
                                   {"IQ3_M", "iq3_s"},
                                   {"int3", "gptq-3bit"},
                                   {"bitsandbytes", "nf4"}}) {
    INFO(said);
    const FormatsSaid f = format(said);
    REQUIRE(f.skip == "");
    CHECK(f.weights[Component::mlp].name() == name);
    CHECK_FALSE(f.weighty);
  }
  for (const char* open : {"auto", "not stated", "n/a", "", "default"}) {
    INFO(open);
    CHECK(format(open).skip == "");
    CHECK(format(open).weighty);
    CHECK(leaves_format_open(open));
  }
}

TEST_CASE("activation and cache formats are recognized by all their names", "[inference-reading]") {
  const auto products = [](const char* weights, const char* said) {
    return std::string(formats_of(weights, "", said, dtypes::bf16).precision.name());
  };
  CHECK(products("bf16", "bfloat16") == "bf16");
  CHECK(products("fp16", "float16") == "fp16");
  CHECK(products("nvfp4", "FP4") == "nvfp4");
  CHECK(products("W8A8", "") == "int8");
  CHECK(products("bf16", "8-bit") == "int8");
  CHECK(products("W4A8 (fp8 act)", "not stated") == "fp8");
  CHECK(products("bf16", "auto") == "bf16");
  for (const char* said : {"f32", "fp32", "float32", "F32"}) {
    INFO(said);
    CHECK(products("q8_0", said) == "fp32");
    CHECK_FALSE(formats_of("q8_0", "f32", said, dtypes::bf16).weighty);
    CHECK(formats_of(said, "f32", said, dtypes::bf16).weights[Component::mlp] == dtypes::fp32);
  }
  const auto cache = [](const char* said) {
    const FormatsSaid f = formats_of("bf16", said, "bf16", dtypes::bf16);
    CHECK_FALSE(f.weighty);
    return std::string(f.cache.name());
  };
  CHECK(cache("auto") == "bf16");
  CHECK(cache("fp8_e4m3") == "fp8");
  CHECK(cache("e5m2") == "fp8");
  CHECK(cache("8-bit") == "int8");
  CHECK(cache("KV8") == "int8");
}

TEST_CASE("a description of weights can also give the formats of the cache, the matmuls and the experts",
          "[inference-reading]") {
  const auto of = [](const char* weights) { return formats_of(weights, "", "", dtypes::bf16); };
  CHECK(of("bf16 (int8 KV)").weights[Component::mlp] == dtypes::bf16);
  CHECK(of("bf16 (int8 KV)").cache.name() == "int8");
  CHECK(of("bf16, kv cache in fp8").weights[Component::mlp] == dtypes::bf16);
  CHECK(of("bf16, kv cache in fp8").cache.name() == "fp8");
  CHECK(of("W8A8KV4").cache.name() == "int4");
  CHECK(of("W8A8KV4").precision.name() == "int8");
  CHECK(of("W4A8KV4").precision.name() == "int8");
  CHECK(of("gptq 3-bit").weights[Component::mlp].name() == "gptq-3bit");
  const auto parts = [&](const char* said, const char* experts, const char* others, bool weighty = false) {
    INFO(said);
    const FormatsSaid f = of(said);
    CHECK(f.weights[Component::experts].name() == experts);
    CHECK(f.weights[Component::attention].name() == others);
    CHECK(f.weights[Component::mlp].name() == others);
    CHECK(f.weighty == weighty);
  };
  parts("W4AFP8", "int4-g128", "fp8-block");
  CHECK(of("W4AFP8").precision.name() == "fp8");
  parts("nvfp4 (MoE) + fp8", "nvfp4", "fp8");
  parts("nvfp4 (experts) + bf16", "nvfp4", "bf16");
  parts("mxfp4 experts + bf16 attention", "mxfp4", "bf16");
  parts("fp4 (experts), fp8 rest", "nvfp4", "fp8");
  parts("mxfp4 (MoE) + bf16", "mxfp4", "bf16");
  parts("nvfp4 (experts) + a secret format", "nvfp4", "bf16", true);
  parts("mixed nvfp4/fp8", "nvfp4", "nvfp4", true);
  parts("fp8 (block 128), MoE", "fp8-block", "fp8-block");
}

TEST_CASE("4-bit libraries store scales of 0.5 bits per weight", "[inference-reading]") {
  for (const char* said : {"MLX 4-bit", "bitsandbytes 4bit", "HQQ 4-bit", "bnb 4-bit"}) {
    INFO(said);
    const DType t = formats_of(said, "", "", dtypes::bf16).weights[Component::mlp];
    CHECK(bits_per_weight(t) == Approx(4.5));
  }
  CHECK(formats_of("bitsandbytes 8-bit", "", "", dtypes::bf16).weights[Component::mlp].name() == "int8-row");
}

TEST_CASE("the bytes of a llama-quantize mix are those of its tensors", "[inference-reading]") {
  InferenceRow row = llama_row();
  const auto read_as = [&](const char* weights) {
    row.weights = weights;
    const InferenceCase c = read(row);
    REQUIRE(c.skip == "");
    return c;
  };
  for (const auto& [said, mix] : {std::pair{"Q3_K_S", "q3_k_s"},
                                  {"Q3_K_M (3.9 bpw)", "q3_k_m"},
                                  {"Q3_K", "q3_k_m"},
                                  {"q3-k-l", "q3_k_l"},
                                  {"IQ3_M", "iq3_m"},
                                  {"Q2_K", "q2_k"},
                                  {"Q5_K_S", "q5_k_s"}}) {
    INFO(said);
    const InferenceCase c = read_as(said);
    CHECK(c.plan.weight_precision == gguf_mix(c.arch, mix, ""));
    CHECK(c.weights_name == mix);
  }
  CHECK(read_as("UD-Q2_K_XL").input_assumed);
}
