// Compares llama-quantize's mixes with the sizes of published files. A file consists of tensors and a header, which is
// the same for all of a model's types.

#include "presets/formats/gguf_mix.hpp"

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/mix_bytes.hpp"

using namespace llmcalc;

namespace {

Count bytes_under(const char* model, std::string_view mix) { return test::bytes_under(load_model(model), mix); }

struct PublishedFile {
  const char *model, *mix;
  Count bytes, header;
};

}  // namespace

// TheBloke/Llama-2-7B-Chat-GGUF; bartowski/Meta-Llama-3.1-8B-Instruct-GGUF and Llama-3.2-3B-Instruct-GGUF, which also
// have 64 float32 rotary factors; Qwen/Qwen2.5-Coder-7B-Instruct-GGUF; unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF and
// Qwen3-Coder-30B-A3B-Instruct-GGUF; TheBloke/Mistral-7B-Instruct-v0.2-GGUF; bartowski/google_gemma-3-27b-it-GGUF;
// lmstudio-community/Meta-Llama-3-8B-Instruct-GGUF. Two files of a repository share a header, which verifies both;
// other headers are derived from their file and these rules. Header 0: tensor bytes that llama.cpp reports for
// unsloth/gemma-3-27b-it-GGUF and gpt-oss-120b.
TEST_CASE("llama-quantize's mixes match the sizes of published files", "[mix]") {
  constexpr Count rotary = 4 * 64;
  for (const PublishedFile& f : {PublishedFile{"llama-2-7b", "q4_k_m", 4081004224, 741056},
                                 PublishedFile{"llama-2-7b", "q8_0", 7161089728, 741056},
                                 PublishedFile{"llama-3.1-8b", "q4_k_m", 4920739232, 7840928 + rotary},
                                 PublishedFile{"llama-3.1-8b", "q8_0", 8540775840, 7840928 + rotary},
                                 PublishedFile{"llama-3.2-3b", "q4_k_m", 2019377696, 7837984 + rotary},
                                 PublishedFile{"qwen2.5-7b", "q4_k_m", 4683073536, 5953536},
                                 PublishedFile{"qwen2.5-7b", "q5_k_m", 5444831232, 5953536},
                                 PublishedFile{"qwen3-30b-a3b", "q6_k", 25092532640, 5970336},
                                 PublishedFile{"qwen3-30b-a3b", "q8_0", 32483932576, 5970336},
                                 PublishedFile{"qwen3-30b-a3b", "q4_k_m", 18556689568, 5973152},
                                 PublishedFile{"gpt-oss-120b", "mxfp4_moe", 63374323968, 0},
                                 PublishedFile{"gemma-3-27b", "q8_0", 28701409280, 0},
                                 PublishedFile{"gemma-3-27b", "q4_k_m", 16546404992, 6279168},
                                 PublishedFile{"gemma-3-27b", "q6_k", 22166690432, 6279168},
                                 PublishedFile{"mistral-7b-v0.1", "q4_k_s", 4140374304, 735520},
                                 PublishedFile{"llama-3-8b", "q4_k_m", 4920733888, 7835840}}) {
    INFO(f.model << " " << f.mix);
    CHECK(bytes_under(f.model, f.mix) == f.bytes - f.header);
  }
}

// The rules of current llama.cpp for the shape of Llama 2 7B; the file of 2023 (2825940672 bytes) used older rules.
TEST_CASE("the Q2_K mix follows current llama.cpp", "[mix]") { CHECK(bytes_under("llama-2-7b", "q2_k") == 2532122624); }

// unsloth/GLM-4.6V-Flash-GGUF in BF16: 9400279040 parameters in 18802245632 bytes of tensors (llama.cpp).
TEST_CASE("a 16-bit GGUF file has float32 vectors", "[mix]") {
  const json::Value config = {
      {"model_type", "glm4"},       {"num_hidden_layers", 40},     {"hidden_size", 4096},
      {"num_attention_heads", 32},  {"num_key_value_heads", 2},    {"head_dim", 128},
      {"intermediate_size", 13696}, {"vocab_size", 151552},        {"max_position_embeddings", 131072},
      {"attention_bias", true},     {"tie_word_embeddings", false}};
  const Arch a = import_config(config, "c.json").arch;
  CHECK(parameters(a).total == 9400279040);
  Plan p;
  p.weight_precision = gguf_mix(a, "bf16", "glm4");
  CHECK(weights_bytes(a, p) == Bytes(18802245632));
}

// bartowski/microsoft_Phi-4-mini-instruct-GGUF, with q, k and v in one matrix: 2491874688 bytes in Q4_K_M and
// 4084611456 in Q8_0. Its llama.cpp (February 2025) stored that matrix in Q5_K in all 32 layers; the current one uses
// Q6_K in 16 layers and Q4_K in the others.
TEST_CASE("the predicted size of Phi-4-mini differs from its file only by the type of fused projections", "[mix]") {
  constexpr Count header = 8251776, qkv = 3072 * (3072 + 2 * 1024);
  CHECK(bytes_under("phi-4-mini", "q8_0") == 4084611456 - header);
  constexpr Count today = 16 * qkv / 256 * (144 + 210), then = 32 * qkv / 256 * 176;
  CHECK(bytes_under("phi-4-mini", "q4_k_m") - today + then == 2491874688 - header);
}

TEST_CASE("a mix leaves norms, biases and routers in float32, and is named after its most common type", "[mix]") {
  const auto formats = [](const char* model, std::string_view mix) {
    return weight_formats_text(gguf_mix(load_model(model).arch, mix, ""));
  };
  CHECK(formats("llama-2-7b", "q4_k_m") == "fp32 (norm), q6_k (lm_head), q4_k");
  CHECK(formats("qwen3-30b-a3b", "q4_k_m") == "fp32 (router, norm), q6_k (lm_head), q4_k");
  CHECK(formats("gpt-oss-20b", "mxfp4_moe") == "fp32 (router, norm), mxfp4 (experts), q8_0");
}

TEST_CASE("a matrix whose rows do not divide into blocks uses a type with smaller blocks", "[mix]") {
  // 576 columns are not a multiple of 256: q4_k becomes q5_0, q6_k becomes q8_0 (SmolLM2 135M, tied).
  Arch a = load_model("llama-3.2-1b").arch;
  a.hidden = a.embedding_width = 576;
  a.heads = 9;
  a.kv_heads = 3;
  for (const MixedTensor& t : mixed_tensors(a, "q4_k_m", "llama"))
    if (t.columns == 576 && t.rows > 1) CHECK((t.format.name() == "q5_0" || t.format.name() == "q8_0"));
}

TEST_CASE("every llama-quantize mix gives a size for Mixtral 8x7B and DeepSeek-V3", "[mix]") {
  for (const std::string_view mix : gguf_mixes()) {
    CHECK(is_gguf_mix(mix));
    CHECK(bytes_under("mixtral-8x7b", mix) > 0);
    CHECK(bytes_under("deepseek-v3", mix) > 0);
  }
  CHECK_FALSE(is_gguf_mix("q4_k_xl"));
}
