// Weight formats in model names.

#include "presets/names/meant_model.hpp"

#include "calc/parameters.hpp"
#include "presets/formats/held_formats.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

std::string meant(std::string_view name) {
  const MeantModel m = meant_model(name);
  return m.preset == nullptr ? "none" : std::string(m.preset->name) + " " + m.format;
}

Count bytes(const ModelCard& card) {
  const ComponentBytes held = held_bytes(card.arch, card.weights.value_or(dtypes::bf16), Owner::model);
  Count all = 0;
  for (std::size_t c = 0; c < component_count; ++c) all += held[static_cast<Component>(c)].value;
  return all;
}

}  // namespace

TEST_CASE("terms in a model name select the format of its weights", "[meant]") {
  CHECK(meant("gpt-oss-20b") == "gpt-oss-20b ");
  CHECK(meant("lmsys/gpt-oss-20b-bf16") == "gpt-oss-20b bf16");
  CHECK(meant("Qwen/Qwen2.5-7B-Instruct-AWQ") == "qwen2.5-7b awq");
  CHECK(meant("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4") == "qwen2.5-7b gptq");
  CHECK(meant("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8") == "qwen2.5-7b gptq-8bit");
  CHECK(meant("unsloth/Llama-3.3-70B-Instruct-bnb-4bit") == "llama-3.3-70b nf4-dq");
  CHECK(meant("llama-3.1-8b-fp16") == "llama-3.1-8b fp16");
  CHECK(meant("llama-3.1-8b-f16") == "llama-3.1-8b gguf:f16");  // llama.cpp's name
  CHECK(meant("llama-3.1-8b-fp8") == "llama-3.1-8b fp8");
  CHECK(meant("llama-3.1-8b-int8") == "llama-3.1-8b int8");
  CHECK(meant("llama-3.1-8b-8bit") == "llama-3.1-8b int8");
  CHECK(meant("llama-3.1-8b-4bit") == "llama-3.1-8b int4");
  CHECK(meant("nvidia/Llama-3.1-8B-Instruct-NVFP4") == "llama-3.1-8b nvfp4-input");
  CHECK(meant("llama-3.1-8b-mxfp4") == "llama-3.1-8b mxfp4");
  CHECK(meant("llama-3.1-8b-instruct-q4_K_M") == "llama-3.1-8b gguf:q4_k_m");
  CHECK(meant("Llama-3.1-8B-GGUF-Q2_K") == "llama-3.1-8b gguf:q2_k");  // the type of the file, not of one tensor
  CHECK(meant("llama-99b-bf16") == "none");
  CHECK(meant("lmstudio-community/gpt2-bf16/gpt2-bf16") == "gpt-2-124m bf16");
  CHECK(meant("./gpt2-bf16") == "none");
}

TEST_CASE("an ambiguous format or two contradictory formats in a name are rejected", "[meant]") {
  CHECK(test::sentence([] { meant_model("Qwen/Qwen3-14B-exl2"); }) ==
        "\"exl2\" in the model name \"Qwen/Qwen3-14B-exl2\" implies another weight format without naming it; pass "
        "'qwen3-14b' with --weight-precision ('llmcalc list dtypes' shows all formats)");
  CHECK(test::sentence([] { meant_model("llama-3.1-8b-bf16-awq"); }) ==
        "the model name \"llama-3.1-8b-bf16-awq\" contains two weight formats, awq and bf16; specify only one");
}

// hub moonshotai/Kimi-K2-Thinking stores its experts in int4; moonshotai/Kimi-K2-Instruct all matrices in fp8.
TEST_CASE("a model name whose checkpoint has a preset's architecture but different formats is rejected", "[meant]") {
  CHECK_THAT(
      test::sentence([] { load_model("moonshotai/Kimi-K2-Thinking"); }),
      Catch::Contains("has the architecture of preset 'kimi-k2', but its checkpoint stores its experts in int4"));
  CHECK(meant("moonshotai/Kimi-K2-Instruct") == "kimi-k2 ");
  CHECK(meant("qwen3-4b-thinking") == "qwen3-4b ");
}

// 20,914,757,184 parameters of 2 bytes are 41,829,514,368; 8,030,261,248 of Llama-3.1-8B are 16,060,522,496.
TEST_CASE("weights have the size of the format that is inferred from the model name", "[meant]") {
  const ModelCard card = load_model("lmsys/gpt-oss-20b-bf16");
  CHECK(parameters(card.arch).total == 20914757184);
  CHECK(bytes(card) == 41829514368);
  CHECK(card.word == "lmsys/gpt-oss-20b-bf16");
  CHECK(card.caveats.back() ==
        "the name \"lmsys/gpt-oss-20b-bf16\" implies weights in bf16, unless --weight-precision is set");
  CHECK(bytes(load_model("llama-3.1-8b-bf16")) == 16060522496);
  CHECK(bytes(load_model("llama-3.1-8b-fp32")) == 2 * 16060522496);
}

TEST_CASE("a format in a model name that equals the preset's format has no effect", "[meant]") {
  CHECK(load_model("deepseek-v3-fp8").weights == load_model("deepseek-v3").weights);
  CHECK(load_model("deepseek-v3-fp8").products == load_model("deepseek-v3").products);
  CHECK(load_model("gpt-oss-120b-mxfp4").weights == load_model("gpt-oss-120b").weights);
  CHECK(load_model("deepseek-v3-bf16").weights == WeightFormats(dtypes::bf16));
  CHECK_FALSE(load_model("deepseek-v3-bf16").products.has_value());
}
